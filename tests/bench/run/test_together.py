"""Blocks in turns, plain and over TLS: crawls are complete, and sums are those of the turns."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import turnlog
from bench.plan import plan, workloads
from bench.plan.labels import Label
from bench.plan.participants import Participants
from bench.plan.plan import Turn
from bench.plan.workloads import SITE_SEED, Point, tls_c10k, tls_fetch, tls_handshake
from bench.run import block as together
from bench.run.sides import Crawling, command
from bench.run.trial import Bench, Trial
from bench.run.turns import Turns, TurnTaken, take_turns
from bench.schema import TrialRecord, TurnsRecord
from bench.sides import protocol
from bench.sides.progress import AT_ONCE, Progress
from bench.sides.servers import Server, ServerError
from bench.sides.tls import Tls
from bench.store import StoreError
from bench.text import KIB
from crawlers.recorder import LockedProgressRecorder, ProgressRecorder
from crawlers.registry import MODELS
from tests.bench.small import some
from tests.bench.sure import sure

LABELS = ("callbacks", "callbacks#2", "threads")
POINT = replace(workloads.throughput(10, 6000, Participants(1)), interleaved=True)

Block = tuple[list[TrialRecord], TurnsRecord]


def turns(*labels: str) -> dict[int, Turn]:
    return {
        40 + place: Turn(0, POINT.id, place, Label.parse(label))
        for place, label in enumerate(labels)
    }


@pytest.fixture(scope="module")
def block(bench: Bench) -> Block:
    return together.run(bench, POINT, turns(*LABELS))


def test_every_crawl_is_complete_and_checked(block: Block) -> None:
    records, _ = block
    assert [record.label for record in records] == list(LABELS)
    assert [record.trial for record in records] == [40, 41, 42]
    for record in records:
        assert (record.status, record.reason) == ("ok", None)
        assert record.digest == record.digest_expected is not None
        assert sure(record.ledger).connections_opened == 10


def test_a_block_waits_for_its_sockets_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each label waited for as long as all sockets together: half a minute in each block."""
    drain = mock.Mock()
    monkeypatch.setattr("bench.run.record.drain", drain)
    together.run(bench, POINT, turns("callbacks", "callbacks#2"))
    assert drain.call_count == 1


@pytest.mark.parametrize(("code", "counted"), [(0, 1), (1, 2)])
def test_a_crawl_that_ended_in_its_turn_counts_up_to_the_same_place(
    code: int, counted: int
) -> None:
    """On a busy machine a turn is long enough for a fast crawl's worker to finish and end."""
    ended, slow = mock.MagicMock(), mock.MagicMock()
    ended.broke_off, slow.broke_off = bool(code), False
    ended.trial.point = POINT
    taken = [
        TurnTaken(place, number, 0.0, 0.01, 0.01, 0.0, 100, None, counted=True, reached=reached)
        for place, shares in enumerate([(0.4, 0.9), (0.3, 0.5)])
        for number, reached in enumerate(shares)
    ]
    leveled, until = together.evenly(Turns(["ended", "slow"], taken), [ended, slow])
    assert until == 0.5
    assert [turn.counted for turn in leveled.taken if turn.taker == 0].count(True) == counted


def test_each_trial_has_its_share_of_the_time_of_the_block(block: Block) -> None:
    records, log = block
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
            assert record.service_time.p50_ms < 2 * 1000 * max(
                wall / 1e6 for wall in block[1].wall_us
            )


@pytest.mark.slow
def test_one_label_has_a_sleeping_server_and_one_keeps_no_times(bench: Bench) -> None:
    point = replace(POINT, null_recorder=True)
    labels = ("callbacks", "callbacks/asleep", "callbacks/null")
    records, log = together.run(bench, point, turns(*labels))
    assert [record.status for record in records] == ["ok"] * 3
    assert list(map(str, map(Label.of, records))) == log.labels == list(labels)
    assert {record.label for record in records} == {"callbacks"}
    apart = bool(bench.pinning.server)
    assert [record.extra["server_polls"] for record in records] == [apart, False, apart]
    assert [record.params.get("server") for record in records] == [None, "asleep", None]
    assert [record.params["recorder"] for record in records] == ["times", "times", "null"]
    assert records[2].mechanism["recorder"] == "NullRecorder"
    assert records[2].service_time is None
    for record in records:
        assert sure(record.turns).exchanges > 0


@pytest.mark.slow
def test_a_worker_that_dies_is_recorded_and_the_others_count(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = take_turns

    def killing(takers, rng, **options):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003, ANN202
        os.kill(takers[1].worker.pid, signal.SIGKILL)
        return real(takers, rng, **options)

    monkeypatch.setattr(together, "take_turns", killing)
    records, _ = together.run(bench, POINT, turns(*LABELS))
    assert [record.status for record in records] == ["ok", "failed", "ok"]
    assert "SIGKILL" in (records[1].reason or "")


@pytest.mark.slow
def test_no_process_has_to_be_waited_for_at_the_end_of_a_block(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped server does not see SIGTERM: each used to take two seconds to end."""
    late = []
    real = subprocess.Popen.wait

    def wait(self, timeout=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        try:
            return real(self, timeout)
        except subprocess.TimeoutExpired:
            late.append(self.args)
            raise

    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    records, _ = together.run(bench, POINT, turns("callbacks", "threads"))
    assert [record.status for record in records] == ["ok", "ok"]
    assert late == []
    assert not list(bench.scratch.iterdir())


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
        together.run(bench, POINT, turns("callbacks", "threads"))
    mine = [one for one in started if one not in before]
    assert len(mine) >= 4
    _, alive = psutil.wait_procs(mine, timeout=300)
    assert not alive


def test_turns_are_kept_beside_the_trials(block: Block, tmp_path: Path) -> None:
    log = block[1]
    assert turnlog.load(tmp_path) == []
    later = log.model_copy(update={"block": 1})
    turnlog.append(tmp_path, log)
    turnlog.append(tmp_path, later)
    assert turnlog.load(tmp_path) == [log, later]
    file = tmp_path / turnlog.FILE_NAME
    file.write_bytes(file.read_bytes()[:-7])  # torn by a crash
    assert turnlog.load(tmp_path) == [log]
    turnlog.append(tmp_path, later)
    assert turnlog.load(tmp_path) == [log, later]
    again = later.model_copy(update={"steal_ms": [None] * len(log.label)})
    turnlog.append(tmp_path, again)  # of a block that ran twice, the later turns count
    assert turnlog.load(tmp_path) == [log, again]


def test_a_block_with_hardly_any_counted_rounds_warns(block: Block) -> None:
    """Once on the terminal alone; now the block's record has it."""
    log = block[1]
    rounds = len({n for n, counts in zip(log.round, log.counted, strict=True) if counts})
    assert log.warning == together.too_few(log.point, log.block, rounds)
    assert "only 1 rounds" in (together.too_few("fetch-100", 0, 1) or "")
    assert together.too_few("fetch-100", 0, 10) is None


def test_a_full_disk_leaves_turns_that_can_be_read(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A torn member hid all that a resumed campaign wrote after it."""
    log = block[1]
    turnlog.append(tmp_path, log)

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="No space left"):
            turnlog.append(tmp_path, log)
    assert turnlog.load(tmp_path) == [log]
    turnlog.append(tmp_path, log.model_copy(update={"block": 1}))
    assert len(turnlog.load(tmp_path)) == 2


def test_moments_are_given_to_the_turn_they_lie_in() -> None:
    two = [TurnTaken(0, 0, began, 1.0, 0.5, 0.5, 3, None, True) for began in (10.0, 20.0)]
    found = together.turn_of(two, np.array([9.9, 10.0, 10.9, 11.1, 20.5, 21.5]))
    assert found.tolist() == [-1, 0, 0, -1, 1, -1]
    assert together.turn_of([], np.array([1.0])).tolist() == [-1]


@settings(max_examples=30)
@given(steps=st.lists(st.integers(0, 9000), max_size=6), locked=st.booleans())
def test_the_harness_counts_what_the_recorder_kept(steps: list[int], locked: bool) -> None:
    """Also beyond the number of doubles that it looks at in one step, and up to the very end."""
    progress = Progress(max(sum(steps), 1))
    kind = LockedProgressRecorder if locked else ProgressRecorder
    ended = protocol.shared_times(progress.file)
    recorder = kind(ended, protocol.own_times(len(ended)))
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
    ended = protocol.shared_times(progress.file)
    for place in (0, 1, 3):
        ended[place] = 1.0
    assert progress.count() == 2
    ended[2] = 1.0
    assert progress.count() == 4


FAULTS = """
import resource, socket, sys
from bench.sides import protocol
from crawlers.recorder import ProgressRecorder

a, b = socket.socketpair()

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(500):
        a.send(b"x" * 2048)
        b.recv(262144)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 500

first = faults()
ended = protocol.shared_times(sys.argv[1])
recorder = ProgressRecorder(ended, protocol.own_times(len(ended)))
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


CONNECTIONS = 30


def held(bench: Bench, name: str) -> TrialRecord:
    point = tls_c10k(CONNECTIONS, Participants(1))
    cores = bench.pinning.server
    with Server(point.site, seed=SITE_SEED, cores=cores, tls=point.tls) as server:
        return together.run(bench, point, {0: Turn(0, point.id, 0, Label(name))}, server)[0][0]


@pytest.mark.parametrize("name", some((*MODELS, "bare_tls"), "async_await", "bare_tls"))
def test_connections_are_held_over_tls(bench: Bench, name: str) -> None:
    record = held(bench, name)
    assert (record.status, record.reason) == ("ok", None)
    assert record.params["tls"] == "TLS 1.3, ecdsa, tickets"
    ledger, memory = sure(record.ledger), sure(record.memory)
    assert sure(ledger.handshakes).full == ledger.peak_in_flight == CONNECTIONS
    each = (sure(memory.held.user_bytes) - sure(memory.before.user_bytes)) / CONNECTIONS
    # A handshake's state is 16 KiB and more; asyncio's buffer is 256. The first connections take
    # what the warm-up has left free in the heap.
    assert each > (100 if name == "async_await" else 8) * KIB


LISTED = replace(tls_fetch(2, 4000, Participants(1)), slots=2)
EACH = tls_handshake(2, 6000, Participants(1))


@pytest.mark.parametrize(
    ("point", "modes"),
    [(LISTED, ("plain", "tls")), (EACH, ("churn", "handshake", "tickets"))],
)
def test_a_page_is_measured_in_all_modes_in_one_block(
    bench: Bench, point: Point, modes: tuple[str, ...]
) -> None:
    labels = plan.labels_of(point, ["callbacks"])
    turns = {place: Turn(0, point.id, place, label) for place, label in enumerate(labels)}
    records, _ = together.run(bench, point, turns)
    assert [record.params["mode"] for record in records] == list(modes)
    for record, mode in zip(records, modes, strict=True):
        assert (record.status, record.reason) == ("ok", None)
        assert record.digest == record.digest_expected
        assert sure(record.turns).beside == [f"callbacks/{mode}" for mode in modes]
        ledger = sure(record.ledger)
        opened = 2 if point is LISTED else sure(record.pages)
        assert ledger.connections_opened == opened
        assert (ledger.handshakes is None) == (mode in ("plain", "churn"))
        if ledger.handshakes is not None:
            assert ledger.handshakes.full + ledger.handshakes.resumed == opened


def test_the_authorities_of_both_servers_are_in_one_file(bench: Bench) -> None:
    """So the context that the warm-up has made serves the trial."""
    point = tls_c10k(2, Participants(1))
    cores = bench.pinning.server
    mine = Trial(bench, point, Turn(0, point.id, 0, Label("callbacks")), 7)
    with (
        Server(point.site, seed=SITE_SEED, cores=cores, tls=point.tls) as server,
        ExitStack() as stack,
    ):
        told = command(mine, Crawling(mine, stack, server))
        assert mine.warmup is bench.warmups[Tls()]
        assert Path(told.cafile or "").read_text().count("BEGIN CERTIFICATE") == 2
        assert told.warmup_prefix.startswith("https://")
