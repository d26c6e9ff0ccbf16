"""Blocks: whole trials and turns, crawlers and servers; correct, void or failed, never half."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import psutil
import pytest

from bench import BenchError
from bench.conditions import ASLEEP, Condition, work
from bench.conditions.held import HELD, Filling
from bench.conditions.processors import ALL, EVERYWHERE, Spreading
from bench.conditions.recorders import NULL
from bench.conditions.schedule import Opening, Scheduled
from bench.conditions.ways import PLAIN
from bench.conditions.work import WithWork
from bench.controls import CONTROLS
from bench.plan import backends, plan, workloads
from bench.plan.participants import ABLE, CITED, MAIN_VARIANTS, Label, usually
from bench.plan.plan import PlannedTrial, labels_of
from bench.plan.workloads import (
    SERVED,
    Point,
    c10k,
    cancel,
    few,
    hold,
    in_modes,
    serve,
)
from bench.run import block as running
from bench.run import judge
from bench.run.trial import Bench, Crawling, Serving, Trial, made, start_server
from bench.run.turns import TurnTaken, Window
from bench.schema import CeilingRecord, Shares, TrialRecord, Turns, TurnsRecord
from bench.sides.protocol import WORK_EVERY
from bench.sides.servers import Server, ServerError, Tls
from bench.text import KIB
from crawlers.catalogue import OURS
from crawlers.registry import MODELS
from crawlers.work import do
from tests.bench import small
from tests.bench.children import huge_pages
from tests.bench.small import some
from tests.bench.sure import sure

ONE = usually(MODELS, 1)
POLL = Condition(
    name="poll", mode=True, sets={"selectors:DefaultSelector": "selectors:PollSelector"}
)
TURNED = workloads.throughput(10, 6000, ONE)
SHORTER = workloads.throughput(10, 2400, ONE)
"""Where a turn or two of each are enough."""
LABELS = ("callbacks", "callbacks#2", "threads")
HOLDING = small.point("list:200:512", 200, conditions=(Filling(), HELD))
WORKING = small.point(
    "list:60:512",
    8,
    conditions=(Scheduled(per_s=400, warmup=10), WithWork(ms=1)),
    workload="mixed",
    setting="1",
)
SERVING = serve(10, 6, ONE)
CEILING = CeilingRecord(
    block=0, tool="wrk", site="list:9:512", connections=64, requests_per_s=200.0, started=""
)

Block = tuple[list[TrialRecord], TurnsRecord]


KNOWN = (
    *(*MODELS, *MAIN_VARIANTS, "async_await_to_thread", "async_await_pool", "processes"),
    # Of tests/bench/outside:
    *("hang", "crash", "killed", "lazy", "greedy", "twice", "talking", "hasty"),
)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """As in a campaign: the harness stays off the client's processor; with TLS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(small.OUTSIDE))
        known = CONTROLS | {backend.name: backend for backend in backends.look_up(KNOWN)}
        with Bench(backends=known, seed=5, deadline_s=120).opened() as opened:
            yield opened
        for server in SHARED.values():
            server.stop()


def run(bench: Bench, point: Point, *labels: str, server: Server | None = None) -> Block:
    planned = [PlannedTrial(0, point.id, n, Label.parse(name)) for n, name in enumerate(labels)]
    return running.run([made(bench, point, one, n) for n, one in enumerate(planned, 40)], server)


SHARED: dict[tuple[str, str], Server] = {}
"""The servers of whole trials, by site and delay: as in a campaign, many have the same."""


def one(bench: Bench, point: Point, label: str) -> TrialRecord:
    """The record of a whole trial."""
    server, key = None, (point.site, point.delay)
    if point.load is None and not point.over_tls:
        if key not in SHARED:
            SHARED[key] = start_server(point, (), bench.pinning.server).__enter__()
        server = SHARED[key]
    ((record,), _) = run(bench, point, label, server=server)
    return record


@pytest.fixture
def huge(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str | None]]:
    """Whether both sides of a trial may have huge pages when it begins.

    CPython 3.15 asks for them: 8 KiB more for each of a thousand connections, now and then.
    """
    seen: list[str | None] = []
    for kind in (Crawling, Serving):

        def begin(trial: Trial, own: Callable[[Any], None] = kind.begin) -> None:
            seen.extend(map(huge_pages, (trial.worker.pid, trial.server.pid)))
            own(trial)

        monkeypatch.setattr(kind, "begin", begin)
    before = huge_pages(os.getpid())
    yield seen
    assert huge_pages(os.getpid()) == before


def counts(record: TrialRecord) -> TrialRecord:
    assert (record.status, record.reason) == ("ok", None)
    return record


def waits_of_one_thread(record: TrialRecord) -> bool:
    """Whether it says how long its crawler waited for a processor, if the kernel knows."""
    told = sure(record.shares).waited_share is not None
    return told == (record.backend != "threads") or not Path("/proc/self/schedstat").exists()


# --- whole trials ------------------------------------------------------------------------


@pytest.mark.parametrize("label", some((*MODELS, "callbacks#2"), "threads", "callbacks#2"))
def test_a_crawl_is_measured_and_verified(bench: Bench, label: str, huge: list[str | None]) -> None:
    record = counts(one(bench, small.point(), label))
    assert record.pages == 60
    assert record.digest == record.digest_expected
    assert (record.label, record.backend) == (label, label.removesuffix("#2"))
    ledger = sure(record.ledger)
    assert ledger.repeated == 0
    assert record.cpu is not None
    assert sure(record.service_time).count == ledger.requests
    assert 0 < sure(record.elapsed_s) < record.trial_s
    assert record.limiter is not None
    assert waits_of_one_thread(record)
    # One for all labels of a block, from the campaign's seed.
    assert record.seeds["hash"] == 1000 * record.seeds["campaign"] + record.block + 1
    assert huge == [huge_pages(os.getpid())] * 2


@pytest.mark.root
@pytest.mark.parametrize("label", some(MODELS, "threads", "callbacks"))
def test_memory_is_read_while_every_connection_is_held(
    bench: Bench, label: str, huge: list[str | None]
) -> None:
    record = counts(one(bench, HOLDING, label))
    assert huge[0] == (huge_pages(os.getpid()) and "0")
    memory = sure(record.memory)
    assert memory.connections == sure(record.ledger).peak_in_flight == 200
    threads = 200 if label == "threads" else 0
    grew = {
        name: value - sure(getattr(memory.before, name)) for name, value in memory.held if value
    }
    assert grew["threads"] == threads
    assert grew["descriptors"] >= 200
    assert grew["kernel_stack_bytes"] >= threads * 4096
    assert grew.get("send_buffer_bytes", 0) >= threads * 4096
    # Root reads that, or a control group has it. Tests that run beside this one open sockets, too.
    if memory.held.kernel_socket_bytes is not None and "PYTEST_XDIST_WORKER" not in os.environ:
        # Wide bounds: slabs grow in steps, and others use memory.
        assert 1000 < grew["kernel_socket_bytes"] / 200 < 8000
        assert 1000 < grew["server_socket_bytes"] / 200 < 8000
    assert record.limiter is None


@pytest.mark.parametrize("label", some(MODELS, "threads", "callbacks"))
def test_an_open_loop_keeps_its_schedule(bench: Bench, label: str) -> None:
    where = small.point("list:50:512", 8, conditions=(Scheduled(per_s=500, warmup=20),))
    record = counts(one(bench, where, label))
    assert record.achieved_per_s == pytest.approx(50 / sure(record.elapsed_s))
    assert sure(record.achieved_per_s) < 1.1 * sure(record.offered_per_s)
    assert sure(record.response_time).count == sure(record.service_time).count == 30
    assert sure(record.ledger).requests == 50
    assert record.late_starts is not None


def test_a_paced_start_counts_from_when_all_slots_are_at_work(bench: Bench) -> None:
    opening = Opening(slots=20, delay_s=0.01)
    where = small.point("list:400:512", 20, delay="fixed:10", conditions=(opening,))
    record = counts(one(bench, where, "callbacks"))
    assert record.pages == 400
    assert 0 < sure(record.pages_per_s) < 1.2 * 20 / 0.01  # one page a slot in each delay
    assert 0 < sure(record.elapsed_s) < record.trial_s
    assert record.params["ramp_per_s"] == 20 / 0.01
    assert sure(record.service_time).count <= 400


def test_a_directory_of_html_is_crawled_and_verified(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text('<a href="sub/">in</a> <a href="gone.html">404</a>')
    (tmp_path / "sub" / "index.html").write_text('<a href="../index.html#top">out</a>')
    where = small.point(f"dir:{tmp_path}", 2, workload="real", site_name="dir:here")
    record = counts(one(bench, where, "callbacks"))
    assert record.statuses == {"200": 3, "404": 1}
    assert record.params["site"] == "dir:here"
    assert str(tmp_path) not in record.model_dump_json()


EXCHANGES = 25
CLOSES = (*CITED, "bare_close")


@pytest.mark.parametrize("label", some(CLOSES, "threads", "async_await", "bare_close"))
def test_an_interrupted_crawl_is_timed_and_leaves_nothing(bench: Bench, label: str) -> None:
    """A shell starts what is in the background with SIGINT ignored, and so were its workers."""
    if missing := bench.backends[label].missing:
        pytest.skip(missing)
    background = label == "threads"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if background else None
    try:
        record = counts(one(bench, cancel(EXCHANGES, ONE), label))
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    assert record.kind == ("control" if label == "bare_close" else "trial")
    assert record.errors == {"cancelled": EXCHANGES}
    assert (record.pages, record.pages_per_s, record.limiter) == (0, None, None)
    found = sure(record.cancelled)
    assert found.in_flight == sure(record.ledger).peak_in_flight == EXCHANGES
    assert 0 <= found.first_closed_s <= found.closed_s
    assert max(found.noticed_s, found.returned_s, found.closed_s) < record.trial_s
    assert found.server_work_s > 0
    assert found.returned_s > 0
    assert found.client_cpu_s > 0
    assert (found.left, found.open_at_server) == ({}, 0)
    # The barrier fills with a long one, and what is measured has Python's own.
    assert found.switch_interval_s == pytest.approx(sys.getswitchinterval())
    assert record.params["switch_interval_s"] == 10.0


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a round takes before and after two trials: the machine gets slower by half."""
    found = iter((50.0, 75.0, 75.0, 75.0))
    monkeypatch.setattr(work, "measure", lambda body, cores: next(found))


@pytest.mark.usefixtures("rounds")
@pytest.mark.parametrize(
    "label",
    some(
        ("callbacks", "threads", "async_await_to_thread", "async_await_pool", "processes"),
        *("callbacks", "threads", "async_await_to_thread"),
    ),
)
def test_work_is_done_and_its_pages_are_kept_apart(bench: Bench, label: str) -> None:
    record = counts(one(bench, WORKING, label))
    done = sure(record.work)
    assert (done.work_ms, done.round_us, done.round_after_us, done.rounds) == (1, 50.0, 75.0, 20)
    assert done.pages == done.expected == 60 // WORK_EVERY
    assert done.check == done.check_expected
    assert done.wall_ms > 0.5 * done.cpu_ms > 0
    theirs = sure(done.worked)
    assert 0 < theirs.count <= 6
    # But the first ten, which warm up.
    assert sure(done.others).count + theirs.count == sure(record.response_time).count == 50
    assert record.params["work_ms"] == 1
    assert done.threads == 1 or label != "callbacks"
    # A page with work is answered when that is done: no sooner than it takes.
    assert theirs.p50_ms >= 0.5 * done.cpu_ms
    assert done.seed == record.seeds["schedule"]


def test_a_round_is_measured_before_and_after_each_trial(
    bench: Bench, rounds: None, request: pytest.FixtureRequest
) -> None:
    """Measured once in a campaign, "10 ms" took 15.3 to 16.9 where the machine got slower."""
    both = [one(bench, WORKING, "callbacks") for _ in range(2)]
    request.getfixturevalue("monkeypatch").undo()
    (body,) = SHARED[WORKING.site, WORKING.delay].get(["/p/0"])
    alone_us = 1e6 * do(body, 100).cpu_s / 100
    with mock.patch("bench.machine.cpu.pin") as pin:
        assert alone_us / 10 < work.measure(body, bench.pinning.client) < alone_us * 10
    assert [call.args[1] for call in pin.call_args_list] == [bench.pinning.client]
    assert [sure(record.work).rounds for record in both] == [20, 13]


@pytest.mark.parametrize("name", some((*MODELS, "bare_tls"), "async_await", "bare_tls"))
def test_connections_are_held_over_tls(bench: Bench, name: str) -> None:
    record = counts(one(bench, c10k(30, ONE, tls=True), name))
    assert record.params["tls"] == "TLS 1.3, ecdsa, tickets"
    ledger, memory = sure(record.ledger), sure(record.memory)
    assert sure(ledger.handshakes).full == ledger.peak_in_flight == 30
    each = (sure(memory.held.user_bytes) - sure(memory.before.user_bytes)) / 30
    # A handshake's state is 16 KiB and more; asyncio's buffer is 256. The first connections take
    # what the warm-up has left free in the heap.
    assert each > (100 if name == "async_await" else 8) * KIB


# --- turns -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def block(bench: Bench) -> Block:
    """Waits for its sockets once, and for none of its processes.

    Each label waited for as long as all sockets together: half a minute in each block. A stopped
    server does not see SIGTERM, and each took two seconds.
    """
    late, real = [], subprocess.Popen.wait

    def wait(self: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        try:
            return real(self, timeout)
        except subprocess.TimeoutExpired:
            late.append(self.args)
            raise

    with (
        mock.patch("bench.machine.host.drain") as drain,
        mock.patch.object(subprocess.Popen, "wait", wait),
    ):
        result = run(bench, TURNED, *LABELS)
    assert drain.call_count == 1
    assert late == []
    assert not list(bench.scratch.iterdir())
    return result


def test_every_crawl_is_complete_and_checked(block: Block) -> None:
    records, log = block
    assert [record.label for record in records] == list(LABELS)
    assert [record.trial for record in records] == [40, 41, 42]
    for record in records:
        assert counts(record).digest == record.digest_expected is not None
        assert sure(record.ledger).connections_opened == 10
        assert waits_of_one_thread(record)
    (share,) = {record.trial_s for record in records}
    assert share * len(records) > sum(log.wall_us) / 1e6


def test_the_sums_are_those_of_the_counted_turns(block: Block) -> None:
    records, log = block
    for place, record in enumerate(records):
        mine = [i for i, label in enumerate(log.label) if label == place]
        counted = [i for i in mine if log.counted[i]]
        taken = sure(record.turns)
        assert taken.taken == len(mine)
        assert taken.counted == len(counted) > 0
        assert taken.exchanges == sum(log.exchanges[i] for i in counted)
        assert taken.cpu_s == pytest.approx(sum(log.cpu_us[i] for i in counted) / 1e6, 0.01)
        assert taken.beside == list(LABELS)
        # The rate is that of the time in which it ran, not of the time that it lived.
        answered = record.ledger.requests if record.ledger else 0
        rate = taken.exchanges / taken.wall_s
        assert record.elapsed_s == pytest.approx(answered / rate)
        assert record.pages_per_s == pytest.approx((record.pages or 0) / (answered / rate))


def test_service_times_have_no_stop_inside(block: Block) -> None:
    for record in block[0]:
        taken, spanned = sure(record.turns), sure(sure(record.turns).spanned)
        kept = record.service_time.count if record.service_time else 0
        if record.label == "threads":
            continue  # read while it runs, so that a few exchanges end between two readings
        # A stop may fall between an exchange's end and its count, once in each turn.
        assert abs(kept + spanned - taken.exchanges) <= taken.counted
        assert spanned >= taken.counted // 2  # something is always in flight
        if record.service_time:
            # An exchange with a stop inside lasts for the turns of all others at least.
            longest_ms = max(wall / 1e3 for wall in block[1].wall_us)
            assert record.service_time.p50_ms < 2 * longest_ms


@pytest.mark.parametrize(("code", "counted"), [(0, 1), (1, 2), (None, 2)])
def test_a_crawl_that_ended_in_its_turn_counts_in_the_same_part(
    code: int | None, counted: int
) -> None:
    """On a busy machine a turn is long enough for a fast crawl's worker to finish and end."""
    ended, slow = (
        Crawling.__new__(Crawling),
        mock.MagicMock(broke_off=False, point=TURNED, label=Label("async_await")),
    )
    ended.lost, ended.label, ended.point = "in its turn", Label("callbacks"), TURNED
    ended.worker = mock.MagicMock(**{"process.poll.return_value": code})
    taken = [
        TurnTaken(place, number, 0.0, 0.01, 0.01, 0.0, 100, None, True, started=start, reached=end)
        for place, shares in enumerate([(0.2, 0.4, 0.9), (0.2, 0.3, 0.5)])
        for number, (start, end) in enumerate(pairwise(shares))
    ]
    leveled, window = running.evenly(taken, [ended, slow])
    assert window == Window(since=0.2, until=0.5)
    assert [turn.counted for turn in leveled if turn.taker == 0].count(True) == counted
    slow.label = Label("httpx")  # so heavy that its first pages matter little
    alone = Window(since=0.2, until=0.9) if counted == 1 else None
    assert running.evenly(taken, [ended, slow])[1] == alone
    ended.point = HOLDING  # a list, whose pages are alike
    assert running.evenly(taken, [ended, slow]) == (taken, None)


def test_moments_are_given_to_the_turn_they_lie_in() -> None:
    two = [TurnTaken(0, 0, began, 1.0, 0.5, 0.5, 3, None, True) for began in (10.0, 20.0)]
    found = running.turn_of(two, np.array([9.9, 10.0, 10.9, 11.1, 20.5, 21.5]))
    assert found.tolist() == [-1, 0, 0, -1, 1, -1]
    assert running.turn_of([], np.array([1.0])).tolist() == [-1]


@pytest.mark.parametrize(
    "point",
    [
        in_modes("tls-fetch", 2, 4000, ONE),
        in_modes("tls-handshake", 2, 6000, ONE),
        replace(in_modes("churn", 2, 4000, ONE), varied=(PLAIN, POLL)),
    ],
    ids=["kept", "each", "a value alone"],
)
def test_a_page_is_measured_in_all_modes_in_one_block(bench: Bench, point: Point) -> None:
    labels = [str(label) for label in plan.labels_of(point, ["callbacks"])]
    records, _ = run(bench, point, *labels)
    for record, mode in zip(records, point.modes, strict=True):
        assert counts(record).digest == record.digest_expected
        assert record.params["mode"] == mode.name
        assert sure(record.turns).beside == labels
        ledger = sure(record.ledger)
        opened = 2 if mode.keep_alive else sure(record.pages)
        assert ledger.connections_opened == opened
        assert (ledger.handshakes is None) == (mode.tls is None)
        if ledger.handshakes is not None:
            assert ledger.handshakes.full + ledger.handshakes.resumed == opened


def test_the_authorities_of_both_servers_are_in_one_file(bench: Bench) -> None:
    """So the context that the warm-up has made serves the trial."""
    point = c10k(2, ONE, tls=True)
    trial = Crawling(bench, point, PlannedTrial(0, point.id, 0, Label("callbacks")), 7)
    with ExitStack() as stack:
        trial.start(stack, None)
        trial.ready()
        trial.tell()
        told = trial.command
        assert Path(told.cafile or "").read_text().count("BEGIN CERTIFICATE") == 2
        assert told.warmup_prefix == bench.warmups[Tls()].prefix
        trial.worker.process.kill()
    trial.forget()  # the folder is that of all blocks, whatever their order


# --- servers under test ------------------------------------------------------------------


SERVERS = ("callbacks", "threads", "bare")
APART = ("waitress",) if find_spec("waitress") else ()
"""It may send a head before its body."""


def test_servers_take_turns_and_both_ends_agree(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, begin = [], Serving.begin

    def begins(trial: Serving) -> None:
        seeds.append(psutil.Process(trial.server.pid).environ()["PYTHONHASHSEED"])
        begin(trial)

    monkeypatch.setattr(Serving, "begin", begins)
    records, _ = run(bench, SERVING, *SERVERS, *APART)
    for record, name in zip(records, (*SERVERS, *APART), strict=True):
        assert counts(record).label == name
        assert record.kind == ("control" if name == "bare" else "trial")
        assert record.params["role"] == "server"
        assert record.digest == record.digest_expected is not None
        taken = sure(record.turns)
        assert taken.counted
        assert taken.exchanges <= (record.pages or 0)
        assert seeds.pop() == str(record.seeds["hash"])  # each had 0, and its record said this
        assert record.mechanism["python"]
        assert record.pinning["server"] == (bench.pinning.client or None)
        assert record.pinning["client"] == (bench.pinning.server or None)


def test_each_request_has_a_connection_of_its_own(bench: Bench) -> None:
    for record in run(bench, workloads.accept(10, 6, ONE), *SERVERS)[0]:
        # The site is asked for once before, on one connection.
        assert sure(counts(record).loaded).connections_opened == (record.pages or 0) - SERVED + 1


@pytest.mark.parametrize(("tls", "name"), [(False, "async_await"), (True, "threads")])
def test_a_server_holds_connections(
    bench: Bench, tls: bool, name: str, huge: list[str | None]
) -> None:
    record = counts(one(bench, hold(30, ONE, tls=tls), name))
    assert huge == [huge_pages(os.getpid()) and "0"] * 2
    memory = sure(record.memory)
    assert memory.connections == 30
    # Every page once, one more for each connection, and another when they have been held.
    assert record.pages == SERVED + 2 * 30
    if name == "threads":
        assert memory.held.threads - memory.before.threads == 30


@pytest.mark.parametrize("name", ["async_await", "async_await_pool"])
def test_a_server_keeps_a_schedule_beside_work(bench: Bench, name: str) -> None:
    point = workloads.mixed_server(5, 200, 0.5, ONE)
    record = counts(one(bench, point, name))
    # Every page of the site once, and then what the schedule asks for.
    assert record.pages == (point.urls or 0) + 100
    assert sure(record.response_time).count == 90
    assert sure(sure(record.loaded).working).p50_ms >= 5


def test_slow_readers_get_what_they_read(bench: Bench) -> None:
    point = workloads.slow_readers(20, 20, ONE)
    _, *held = point.conditions
    point = replace(point, conditions=(replace(sure(point.load), seconds=0.5), *held))
    record = counts(one(bench, point, "async_await"))
    assert record.pages == (point.urls or 0) + 20 + 2 * 10
    assert sure(record.memory).connections == 20
    assert sure(record.response_time).count == 10
    assert sure(record.loaded).alone


# --- what is not correct, and who dies ---------------------------------------------------


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("lazy", "wrong digest"),
        ("twice", "requests for"),
        ("hasty", "requests were sent before the answer to the one before"),
        ("greedy", "8 connections opened for 4 slots"),
    ],
)
def test_what_is_not_correct_is_void(bench: Bench, label: str, reason: str) -> None:
    record = one(bench, small.point("tree:200:10:2048", delay="fixed:5"), label)
    assert record.status == "void"
    assert reason in (record.reason or "")


def test_what_a_backend_prints_does_not_forge_a_result(bench: Bench) -> None:
    assert counts(one(bench, small.point(), "talking")).digest != "forged"


@pytest.mark.parametrize(
    ("label", "point", "reason", "stderr"),
    [
        ("crash", small.point(), "RuntimeError: this backend gave up", "this backend gave up"),
        ("crash", cancel(EXCHANGES, ONE), "this backend gave up", "this backend gave up"),
        ("killed", small.point(), "killed by SIGKILL, as by the kernel when memory", ""),
        ("hang", small.point(), "no result in 0.5 s", "in _hang"),
        ("hang", HOLDING, "0 of 200 connections reached the barrier", ""),
    ],
)
def test_a_worker_that_fails_is_recorded_with_its_last_words(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    label: str,
    point: Point,
    reason: str,
    stderr: str,
) -> None:
    if label == "hang":
        monkeypatch.setattr(bench, "deadline_s", 0.5)
    record = one(bench, point, label)
    assert (record.status, record.elapsed_s, record.cancelled) == ("failed", None, None)
    assert reason in (record.reason or "")
    assert stderr in (record.stderr or "")
    # It kept on polling, and a server that should sleep for the next trial of the block did not.
    assert not SHARED[point.site, point.delay].ask("GET", "/poll")["on"]


WHOLE = small.point("tree:9000:5:1024")
ALONE = (WHOLE, HOLDING, hold(30, ONE))
DEATHS = [
    *((point, LABELS[:1], (who,)) for point in ALONE for who in ("tested", "other")),
    (SHORTER, LABELS, ("tested", "", "other")),
    (SERVING, SERVERS, ("tested", "", "other")),
]


@pytest.mark.parametrize(("point", "labels", "dying"), DEATHS)
def test_a_death_fails_its_own_trial_alone(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    point: Point,
    labels: Sequence[str],
    dying: Sequence[str],
) -> None:
    """By label: whether what is tested dies, or the other side, or none."""
    victims = {f"times-{40 + place}": who for place, who in enumerate(dying) if who}
    for kind in (Crawling, Serving):

        def begin(self: Crawling | Serving, begin=kind.begin) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
            begin(self)
            if who := victims.get(self.out.name):
                os.kill(getattr(self, who).pid, signal.SIGKILL)

        monkeypatch.setattr(kind, "begin", begin)
    records, _ = run(bench, point, *labels)
    assert [record.status for record in records] == ["failed" if who else "ok" for who in dying]
    words = ("SIGKILL", "control plane", "ended", "closed", "Connection")
    for record in records:
        assert record.status == "ok" or any(word in (record.reason or "") for word in words)


def test_another_server_takes_the_place_of_one_for_warming_up(bench: Bench) -> None:
    """After it was killed, every trial failed."""
    bench.warmup().child.end(0.0)
    counts(one(bench, small.point(), "callbacks"))


def test_a_server_that_cannot_start_says_why(bench: Bench) -> None:
    with (
        pytest.raises(ServerError, match="exit code"),
        Server("dir:/nowhere/at/all", seed=1, cores=[]),
    ):
        pass
    record = one(bench, replace(hold(5, ONE), site="nonsense"), "callbacks")
    assert record.status == "failed"  # it is what is under test
    assert "not a site" in (record.stderr or "") + (record.reason or "")


def test_a_server_that_never_gets_ready_ends_all_that_was_started(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def fail(self: Server) -> None:
        started.extend(psutil.Process().children(recursive=True))
        raise ServerError("no")

    monkeypatch.setattr(Server, "ready", fail)
    before = psutil.Process().children(recursive=True)  # other tests may have left a helper
    with pytest.raises(ServerError):
        run(bench, TURNED, "callbacks", "threads")
    mine = [process for process in started if process not in before]
    assert len(mine) >= 4
    assert small.all_gone(mine)


# --- where both sides run, and what limited a trial --------------------------------------


TWO = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2,
    reason="a client cannot share processors with the server on one",
)
SPREAD = small.point(conditions=(Spreading(how="shared", who=ABLE),))
NARROW = small.point(varied=(replace(ALL, sleeps=False),))


def planned(bench: Bench, where: Point, label: str) -> Trial:
    turn = PlannedTrial(0, where.id, 0, Label.parse(label))
    backend = replace(OURS[turn.label.name], name=turn.label.backend)
    bench = replace(bench, backends={turn.label.backend: backend}, free_threaded=["3.14.0t"])
    return Crawling(bench, where, turn, 0)


@TWO
def test_a_backend_that_can_use_every_processor_gets_them_where_a_point_spreads(
    bench: Bench,
) -> None:
    wide, narrow = (counts(one(bench, SPREAD, name)) for name in ("processes", "callbacks"))
    everything = bench.pinning.usable
    assert wide.pinning == {"client": everything, "server": everything, "reason": None}
    assert wide.mechanism["processes"] == min(SPREAD.slots, len(everything))
    # The next trial of the block has the server for itself again.
    assert narrow.pinning["client"] == bench.pinning.client
    assert narrow.pinning["server"] == bench.pinning.server
    assert wide.params["processors"] == narrow.params["processors"] == "shared"
    assert not wide.server_polls
    assert not narrow.server_polls


@TWO
@pytest.mark.parametrize(
    ("label", "where", "wide", "busy"),
    [
        ("processes", SPREAD, True, True),
        ("subinterpreters", SPREAD, True, True),
        ("processes@3.13.5", SPREAD, True, True),
        ("threads", SPREAD, True, False),
        ("threads@3.14.0t", SPREAD, True, True),
        ("callbacks@3.14.0t", SPREAD, False, False),
        ("processes", NARROW, False, False),
        ("threads", NARROW, True, False),  # one at a time has the lock
        ("threads@3.14.0t", NARROW, True, True),
        ("threads#2", NARROW, True, False),
        ("requests", NARROW, True, False),
        ("threads_one_processor", NARROW, False, False),
        ("gevent", NARROW, False, False),
        ("callbacks", NARROW, False, False),
        ("callbacks/all", NARROW, True, False),
        ("threads", HOLDING, False, False),  # memory depends on the number of processors
    ],
)
def test_several_threads_are_given_every_processor(
    bench: Bench, label: str, where: Point, wide: bool, busy: bool
) -> None:
    """And whether they can keep all of them busy."""
    trial, pinning = planned(bench, where, label), bench.pinning
    unpinned = pinning.usable if where is SPREAD else pinning.unpinned().client
    assert trial.pinning.client == (unpinned if wide else pinning.client)
    assert trial.pinning.server == (unpinned if wide and where is SPREAD else pinning.server)
    assert trial.most_busy == (len(unpinned) if busy else 1)
    assert trial.server_polls == (where is NARROW and not trial.pinning.shared)


@TWO
def test_few_connections_are_placed_alike(bench: Bench) -> None:
    """Loops were kept away from a server that slept, and threads had its processor as well."""
    where = few(1, ONE)
    assert where.conditions == (EVERYWHERE,)
    placed = {name: planned(bench, where, name) for name in MODELS}
    assert {tuple(found.pinning.client) for found in placed.values()} == {
        tuple(bench.pinning.unpinned().client)
    }
    assert len({found.server_polls for found in placed.values()}) == 1
    labels = labels_of(where, MODELS, sharing=["threads"])
    assert set(map(str, labels)) == {*MODELS, "callbacks#2"}


@TWO
@pytest.mark.parametrize(
    ("label", "kind", "changed", "polls"),
    [
        ("callbacks/all", "trial", {"processors": "all"}, False),
        ("callbacks/asleep", "companion", {"server": "asleep"}, False),
        ("callbacks/null", "trial", {"recorder": "null"}, True),
    ],
)
def test_a_further_label_of_a_backend_is_told_apart(
    bench: Bench, label: str, kind: str, changed: dict[str, str], polls: bool
) -> None:
    own = {"all": ALL, "asleep": ASLEEP, "null": NULL}[label.partition("/")[2]]
    record = counts(one(bench, small.point(varied=(own,)), label))
    assert (record.kind, record.label) == (kind, "callbacks")
    assert changed.items() <= record.params.items()
    assert Label.of(record) == Label.parse(label)
    assert bool(record.server_polls) == polls
    assert (record.service_time is None) == (label == "callbacks/null")


@pytest.mark.slow
def test_one_label_has_a_sleeping_server_and_one_keeps_no_times(bench: Bench) -> None:
    point = replace(SHORTER, varied=(NULL, ASLEEP))
    labels = ("callbacks", "callbacks/asleep", "callbacks/null")
    records, log = run(bench, point, *labels)
    assert tuple(map(str, map(Label.of, map(counts, records)))) == log.labels == labels
    apart = bool(bench.pinning.server)
    assert [record.server_polls for record in records] == [apart, False, apart]
    assert records[2].mechanism["recorder"] == "NullRecorder"
    assert records[2].service_time is None
    assert all(sure(record.turns).exchanges > 0 for record in records)


@pytest.mark.parametrize(
    ("client", "server", "bounds", "stamp"),
    [
        (0.9, 0.89, {}, "client"),
        (1.79, 0.4, {"processors": 2}, "unclear"),
        (1.8, 0.4, {"processors": 2}, "client"),
        (0.99, 0.4, {"ceiling_share": 0.95}, "client"),
        (0.89, 0.9, {}, "server"),
        (0.89, 0.89, {"ceiling_share": 0.85}, "server"),
        (0.95, 0.95, {"ceiling_share": 0.84}, "unclear"),
        (0.3, 0.1, {"offered_share": 0.95}, "schedule"),
        (0.99, 0.1, {"offered_share": 0.6}, "client"),
        (0.8, 0.1, {"slots_share": 0.8}, "schedule"),
        (0.7, 0.1, {"slots_share": 0.5}, "schedule"),
        (0.1, 0.1, {"slots_share": 0.2, "waited_share": 0.7}, "unclear"),  # for a busy processor
        (0.71, 0.1, {"slots_share": 0.79}, "unclear"),
        (0.1, 0.71, {"slots_share": 0.79}, "unclear"),
        (0.3, 0.1, {"offered_share": 0.94}, "unclear"),
        (0.89, 0.89, {}, "unclear"),
        (None, 0.1, {}, "unclear"),
        (0.1, None, {}, "unclear"),
    ],
)
def test_the_limiter_is_what_was_full(
    client: float | None, server: float | None, bounds: dict[str, Any], stamp: str
) -> None:
    used = Shares(client_share=client, server_share=server, **bounds)
    assert judge.limiter(used) == stamp


@pytest.mark.parametrize("steal_s", [0.0, 0.1])
def test_what_the_host_took_from_turns_does_not_change_who_was_full(
    bench: Bench, steal_s: float
) -> None:
    """A server that was busy for 0.19 of 0.2 s is the limit, although 0.1 s were stolen as well."""
    seen = dict.fromkeys(("exchanges", "taken", "counted"), 20)
    turns = Turns(
        turn_s=0.01,
        wall_s=0.2 + steal_s,
        cpu_s=0.1,
        server_cpu_s=0.19,
        steal_s=steal_s,
        beside=[],
        spanned=0,
        **seen,
    )
    crawl = planned(bench, TURNED, "callbacks")
    crawl.turns, crawl.bench.ceilings = turns, [CEILING]
    strained = crawl.strain(small.RESULT, {"elapsed_s": 0.1 * turns.wall_s / 0.2})
    assert strained["limiter"] == "server"
    assert strained["shares"].ceiling_share == pytest.approx(0.5)
    serving = made(bench, SERVING, PlannedTrial(0, SERVING.id, 0, Label("callbacks")), 0)
    serving.server = mock.Mock(facts={})
    serving.turns = turns.model_copy(update={"cpu_s": 0.19})
    assert serving.strain(small.RESULT, {"mechanism": {}})["limiter"] == "server"


def test_the_slot_bound_follows_the_delay() -> None:
    assert judge.slot_bound(10, "none") is None
    assert judge.slot_bound(10, "fixed:50") == pytest.approx(200)
    with pytest.raises(BenchError, match="'exponential:50', which no server has"):
        judge.slot_bound(10, "exponential:50")
    # The mean of a lognormal lies above its median.
    assert 170 < sure(judge.slot_bound(10, "lognormal:50")) < 180
