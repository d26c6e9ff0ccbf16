"""Children and the worker: its messages, what it must not carry, and what it counts."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.machine import build
from bench.sides import leftovers, worker
from bench.sides.process import Child, ProcessError, WorkerProcess, deferred, interruptible
from bench.sides.protocol import (
    GO,
    Command,
    Result,
    Schedule,
    chosen,
    decode,
    encode,
    obey,
    own_times,
    poisson,
    shared_times,
)
from bench.sides.servers import Server
from bench.sides.sides import AT_ONCE, Progress
from crawlers import callbacks
from crawlers.job import CrawlReport, Job
from crawlers.recorder import (
    DueRecorder,
    LockedProgressRecorder,
    ProgressRecorder,
    Recorder,
    TimesRecorder,
)
from crawlers.stop import Stop
from tests.programs import python

SOON_S = 30


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("tree:30:4:1024", seed=1, cores=[]) as running:
        yield running


COMMAND = Command(backend="callbacks", prefix="http://x", urls=None, slots=2, timeout_s=10)


def command(server: Server, out: Path, backend: str = "callbacks") -> Command:
    where, times = server.prefix, str(out / "times")
    return replace(COMMAND, backend=backend, prefix=where, warmup_prefix=where, out=times)


def crawl(server: Server, told: Command) -> Result:
    with WorkerProcess() as worker:
        worker.command(told)
        worker.ready(SOON_S)
        server.reset()
        worker.go()
        return worker.result(time.monotonic() + SOON_S)


def test_windows_of_a_crawl_have_their_context_switches(tmp_path: Path) -> None:
    with Server("list:1200:1024", seed=1, cores=[]) as server:
        told = replace(command(server, tmp_path, "threads"), urls=1200, slots=8, recorder="windows")
        result = crawl(server, told)
    assert result.kept["windows"] == 3 * 4  # after exchanges 0, 500 and 1000
    assert result.voluntary + result.involuntary > 0
    rows = array("d")
    with open(tmp_path / "times.windows", "rb") as file:
        rows.fromfile(file, result.kept["windows"])
    assert rows[::4].tolist() == [0, 500, 1000]
    assert rows[2] <= rows[6] <= rows[10]


def test_ready_go_result(server: Server, tmp_path: Path) -> None:
    told = replace(
        command(server, tmp_path),
        sets={"crawlers.tokens:WORKAROUND": 7, "crawlers.http:PARSER": "sys:platform"},
    )
    result = crawl(server, told)
    assert result.mechanism.items() > {"links": 7, "parser": sys.platform}.items()
    assert result.digest == server.digest
    assert result.pages == 30
    assert result.call_s >= result.elapsed_s > 0
    assert int(result.mechanism["gc_collections"]) >= 0
    assert result.mechanism["gil"] in ("enabled", "disabled")
    assert "gil_by" not in result.mechanism
    assert result.mechanism["jit"] in ("enabled", "disabled", "absent")
    times = array("d")
    with open(tmp_path / "times.service", "rb") as file:
        times.fromfile(file, result.kept["service"])
    assert len(times) == result.answered == server.ledger().requests
    assert all(0 < seconds < SOON_S for seconds in times)


def test_the_lock_is_read_after_the_crawl(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries switch it on when they are imported, which may be for the last page."""
    monkeypatch.setattr(build, "locked_by", str)

    def late(job: Job, recorder: Recorder) -> CrawlReport:
        report = callbacks.crawl(job, recorder)
        monkeypatch.setattr(build, "locked_by", lambda: "uvloop")
        return report

    told, replies = command(server, tmp_path), io.StringIO()
    worker.measure(told, worker.make_job(told), "callbacks", late, io.StringIO(GO), replies)
    *_, last = replies.getvalue().splitlines()
    result = decode(last)
    assert isinstance(result, Result)
    assert result.mechanism["gil_by"] == "uvloop"


def test_times_that_cannot_be_fail_the_trial_and_not_the_campaign() -> None:
    times = TimesRecorder()
    times.record(0, due=3.0, started=1.0, ended=2.0)
    with pytest.raises(ValueError, match="ended before it began or was due"):
        worker.keep(COMMAND, times, 0.0)


def test_the_requests_due_first_warm_up(tmp_path: Path) -> None:
    """In whatever order they ended. The start of the slots had decided every p99."""
    times = DueRecorder()
    for due, took in ((3.0, 0.3), (1.0, 9.0), (2.0, 0.2)):
        times.record(0, due=due, started=due, ended=due + took)
    told = replace(
        COMMAND,
        out=str(tmp_path / "times"),
        schedule=Schedule(kind="poisson", rate=1.0, warmup=1),
    )
    assert worker.keep(told, times, 0.0) == {"service": 3, "response": 2, "warm": 2}
    for name in ("response", "warm"):
        counted = array("d", (tmp_path / f"times.{name}").read_bytes())
        assert counted.tolist() == pytest.approx([0.2, 0.3])


@pytest.mark.parametrize("after", ["nothing", "the command"])
def test_it_ends_when_nobody_speaks_to_it_any_more(
    server: Server, tmp_path: Path, after: str
) -> None:
    with WorkerProcess() as worker:
        if after == "the command":
            worker.command(command(server, tmp_path))
            worker.ready(SOON_S)
        worker.end(SOON_S)
        assert worker.process.returncode in (0, 2)


def test_a_backend_that_does_not_exist_is_said(server: Server, tmp_path: Path) -> None:
    with WorkerProcess() as worker:
        worker.command(command(server, tmp_path, backend="nonesuch"))
        with pytest.raises(ProcessError, match=r"failed: .*nonesuch"):
            worker.ready(SOON_S)
        with pytest.raises(ProcessError, match="exit code 1"):
            worker.ready(SOON_S)


@pytest.mark.parametrize(
    ("line", "why"),
    [("{}", "the worker: not a message"), (encode(COMMAND), "expected Ready, got Command")],
)
def test_a_reply_that_is_none_is_said(line: str, why: str) -> None:
    worker = WorkerProcess(python=[sys.executable, "-c", f"print({line!r})"])
    with worker, pytest.raises(ProcessError, match=why):
        worker.ready(SOON_S)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"message": "command"}', "not a message"),
        ('{"message": "ready"}', "expected a command"),
        ("nonsense", "not a message"),
    ],
)
def test_a_line_that_is_not_a_command_fails_the_worker(line: str, why: str) -> None:
    with WorkerProcess() as worker:
        worker.send(line)
        with pytest.raises(ProcessError, match=why):
            worker.ready(SOON_S)


@pytest.mark.parametrize("writable", [True, False])
def test_semaphores_without_a_place_are_explained(
    writable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """multiprocessing says no more than "Permission denied" then."""

    def work(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    replies, told = io.StringIO(), replace(COMMAND, backend="processes")
    monkeypatch.setattr(os, "access", lambda path, mode: writable)
    monkeypatch.setattr(sys, "stdin", io.StringIO(encode(told)))
    with pytest.raises(PermissionError):
        obey(work, replies)
    assert "Permission denied" in replies.getvalue()
    assert ("/dev/shm is not writable" in replies.getvalue()) != writable


def test_it_carries_nothing_but_the_crawlers() -> None:
    """Its memory and its start are measured, so the harness's libraries must stay out."""
    code = "import sys, bench.sides.worker; print(*sys.modules)"
    done = python("-c", code)
    heavy = {"numpy", "scipy", "matplotlib", "pydantic", "psutil", "rich", "pytest", "email"}
    assert not heavy & set(done.stdout.split())


@given(st.integers(0, 3000), st.integers(1, 20), st.integers())
def test_one_page_in_so_many_is_chosen(count: int, every: int, seed: int) -> None:
    pages = chosen(count, every, seed)
    assert len(pages) == count // every
    assert all(0 <= page < count for page in pages)
    assert pages == chosen(count, every, seed)
    assert chosen(400, 10, 1) != chosen(400, 10, 2)


@given(st.floats(1, 1e4), st.integers(), st.integers(1, 200))
def test_a_schedule_goes_forward(rate: float, seed: int, count: int) -> None:
    due = poisson(rate, seed, count)
    assert len(due) == count
    assert list(due) == sorted(due)
    assert due == poisson(rate, seed, count)


@given(st.floats(1, 1e5), st.integers(1, 300))
def test_a_constant_schedule_is_even(rate: float, count: int) -> None:
    due = worker.due_times(Schedule(kind="constant", rate=rate), count)
    assert len(due) == count
    assert due[0] == 0
    assert all(b - a == pytest.approx(1 / rate, rel=1e-6) for a, b in pairwise(due))


def test_a_poisson_schedule_has_the_rate_it_was_asked_for() -> None:
    due = worker.due_times(Schedule(kind="poisson", rate=1000, seed=1), 20_000)
    assert len(due) / due[-1] == pytest.approx(1000, rel=0.05)
    gaps = [b - a for a, b in pairwise((0.0, *due))]
    # Exponential gaps: the share longer than the mean is 1/e.
    assert sum(gap > 0.001 for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.02)


def test_the_processor_time_of_ended_children_counts() -> None:
    before = sum(worker.used()[:2])
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert sum(worker.used()[:2]) - before > 0.15


@pytest.mark.parametrize(
    ("used_s", "start_us", "left_s"),
    [
        ((0.05, 0.02), None, (0.05, 0.02)),
        ((0.05, 0.02), (30_000, 10_000), (0.02, 0.01)),
        ((0.05, 0.02), (30_000, 20_450), (0.01955, 0.0)),
        ((0.05, 0.02), (50_450, 10_000), (0.0, 0.00955)),
    ],
)
def test_the_start_takes_no_part_below_zero(
    used_s: tuple[float, float], start_us: tuple[int, int] | None, left_s: tuple[float, float]
) -> None:
    names = ("start_user_us", "start_system_us")
    mechanism = dict(zip(names, start_us, strict=True)) if start_us else {}
    found = worker.without_start(*used_s, mechanism)
    assert found == pytest.approx(left_s, abs=1e-12)
    assert min(found) >= 0


def test_what_a_crawl_in_processes_took_to_start_is_left_out(
    server: Server, tmp_path: Path
) -> None:
    result = crawl(server, command(server, tmp_path, backend="processes"))
    start_s = int(result.mechanism["start_user_us"]) / 1e6
    assert int(result.mechanism["processes"]) >= 1
    assert start_s > 0.01
    # Thirty pages take a fraction of what an interpreter takes to start.
    assert 0 < result.user_s + result.system_s < start_s


ENDLESS = "import sys\nwhile True: sys.stdout.write('x' * 65536)"


def test_a_line_that_came_while_nobody_could_look_is_not_late() -> None:
    """As after Ctrl-Z: the harness was stopped at the deadline, and the child was not."""
    with Child("the child", ["-c", "print('here')"]) as child:
        child.process.wait(60)
        assert child.receive(time.monotonic() - 60) == "here"


def test_a_signal_waits_for_the_harness_to_wait_and_is_as_before_in_the_end() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with deferred():
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):  # a second one does not wait
            signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt), interruptible():
            pytest.fail("it was forgotten")
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize("program", ["import time; time.sleep(600)", ENDLESS])
def test_a_child_without_a_line_is_late(program: str) -> None:
    with Child("the child", ["-c", program], python=[sys.executable]) as child:
        with pytest.raises(TimeoutError, match="the child did not answer in time"):
            child.receive(time.monotonic() + 0.3)
        child.process.kill()


# --- what an interrupted crawl leaves behind ---------------------------------------------


def test_a_child_that_cannot_start_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ulimit -n 10 a campaign ended in a traceback."""

    def refused(*_: object, **settings: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files", str(settings))

    monkeypatch.setattr(subprocess, "Popen", refused)
    with pytest.raises(ProcessError, match=r"^the server did not start: Too many open files$"):
        Child("the server", [])


def test_leftovers_are_counted_by_kind() -> None:
    before = leftovers.count()
    left, right = os.pipe()
    try:
        more = leftovers.more_than(before, 0.0)
    finally:
        os.close(left)
        os.close(right)
    assert more["descriptor pipe"] == 2
    assert leftovers.more_than(before, 60.0) == Counter()


def test_a_file_that_is_left_open_counts_and_that_of_a_library_does_not(tmp_path: Path) -> None:
    """libffi 3.5 keeps its own file open from its first closure on: httpx and trio make one."""
    before = leftovers.count()
    paths = [tmp_path / name for name in ("records.jsonl", "libffi.so.8.5.0")]
    for path in paths:
        path.touch()
    with paths[0].open(), paths[1].open():
        assert dict(leftovers.count() - before) == {f"descriptor {paths[0]}": 1}


def test_a_worker_goes_back_to_its_own_switch_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    before, handler = sys.getswitchinterval(), signal.getsignal(leftovers.AS_USUAL)
    try:
        monkeypatch.setattr(Stop, "noticed", None)
        watch = leftovers.Watch()
        sys.setswitchinterval(10.0)
        signal.raise_signal(leftovers.AS_USUAL)
        ending = watch.ending(1.0, 2.0)
        assert ending.switch_interval_s == pytest.approx(before)
        assert (ending.noticed, ending.returned, ending.cpu_s) == (None, 1.0, 0.0)
        monkeypatch.setattr(Stop, "noticed", (0.5, 1.25))
        ending = watch.ending(1.0, 2.0)
        assert (ending.noticed, ending.returned, ending.cpu_s) == (0.5, 1.0, 0.75)
    finally:
        sys.setswitchinterval(before)
        signal.signal(leftovers.AS_USUAL, handler)


# --- exchanges, counted in memory that the harness shares --------------------------------


@settings(max_examples=30)
@given(steps=st.lists(st.integers(0, 9000), max_size=6), locked=st.booleans())
def test_the_harness_counts_what_the_recorder_kept(steps: list[int], locked: bool) -> None:
    """Also beyond the number of doubles that it looks at in one step, and up to the very end."""
    progress = Progress(max(sum(steps), 1))
    kind = LockedProgressRecorder if locked else ProgressRecorder
    ended = shared_times(progress.file)
    recorder = kind(ended, own_times(len(ended)))
    progress.close()
    done = 0
    assert progress.count() == 0
    for step in steps:
        for number in range(done, done + step):
            recorder.record(0, 0.0, number, number + 0.5)
        done += step
        assert progress.count() == progress.count() == done
    assert recorder.ended[:done].tolist() == [number + 0.5 for number in range(done)]
    recorder.settle()
    assert recorder.service == [0.5] * done


def test_a_place_that_is_not_filled_yet_ends_the_count() -> None:
    """Two threads may have places, and the second may fill its own first."""
    progress = Progress(3 * AT_ONCE)
    ended = shared_times(progress.file)
    for place in (0, 1, 3):
        ended[place] = 1.0
    assert progress.count() == 2
    ended[2] = 1.0
    assert progress.count() == 4


FAULTS = """
import resource, socket, sys
from bench.sides.protocol import own_times, shared_times
from crawlers.recorder import ProgressRecorder

a, b = socket.socketpair()

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(500):
        a.send(b"x" * 2048)
        b.recv(262144)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 500

first = faults()
ended = shared_times(sys.argv[1])
recorder = ProgressRecorder(ended, own_times(len(ended)))
for _ in range(len(ended)):
    recorder.record(0, 0.0, 1.0, 2.0)
print(first, faults())
"""


def test_the_recorder_does_not_change_how_malloc_maps_large_blocks(tmp_path: Path) -> None:
    """Freeing one made a crawl of asyncio's streams cost 1.4 times that of callbacks, not 2.1."""
    file = tmp_path / "times"
    file.write_bytes(bytes(8 * 200_000))
    command = [sys.executable, "-c", FAULTS, str(file)]
    first, then = map(float, subprocess.check_output(command, timeout=60).split())
    if first < 1:
        pytest.skip("this malloc does not map each large block anew")
    assert then > first / 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_folder_for_times_is_named() -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        worker.write("/dev/full", [1.0])
