"""A block whose labels take turns: every crawl is complete, and the sums are those of its turns."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import psutil
import pytest

from bench import turnlog
from bench.plan import backends, workloads
from bench.plan.cast import Cast
from bench.plan.labels import Label
from bench.plan.order import Turn
from bench.run import together
from bench.run.campaign import out_of_the_way, warmup_server
from bench.run.servers import Server, ServerError
from bench.run.state import Bench
from bench.run.turns import Turns, TurnTaken, take_turns
from bench.schema import TrialRecord, TurnsRecord
from bench.store import StoreError

LABELS = ("callbacks", "callbacks#2", "threads")
POINT = replace(workloads.throughput(10, 6000, Cast(1)), interleaved=True)

Block = tuple[list[TrialRecord], TurnsRecord]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """What the trials of a campaign share."""
    known = {backend.name: backend for backend in backends.look_up(["callbacks", "threads"])}
    with (
        out_of_the_way() as pinning,
        tempfile.TemporaryDirectory() as scratch,
        warmup_server(pinning) as warmup,
    ):
        yield Bench(warmup, known, pinning, seed=5, scratch=Path(scratch))


def turns(*labels: str) -> dict[int, Turn]:
    return {
        40 + place: Turn(0, POINT.id, place, Label.parse(label))
        for place, label in enumerate(labels)
    }


@pytest.fixture(scope="module")
def block(bench: Bench) -> Block:
    """One block of three labels."""
    return together.run(bench, POINT, turns(*LABELS))


def test_every_crawl_is_complete_and_checked(block: Block) -> None:
    records, _ = block
    assert [record.label for record in records] == list(LABELS)
    assert [record.trial for record in records] == [40, 41, 42]
    for record in records:
        assert (record.status, record.reason) == ("ok", None)
        assert record.digest == record.digest_expected is not None
        assert record.ledger is not None
        assert record.ledger.connections_opened == 10


def test_turns_count_up_to_the_same_place_of_each_tree(block: Block) -> None:
    records, log = block
    if log.until is None:  # on a busy machine a turn is most of so small a crawl
        assert log.reasons["until"] == together.BEYOND
        return
    assert 0 < log.until <= 1
    for place in range(len(records)):
        mine = [i for i, label in enumerate(log.label) if label == place]
        reached = [log.reached[i] for i in mine]
        assert reached == sorted(reached)
        assert all(log.reached[i] <= log.until + 1e-5 for i in mine if log.counted[i])


@pytest.mark.parametrize(("code", "counted"), [(0, 1), (1, 2)])
def test_a_crawl_that_ended_in_its_turn_counts_up_to_the_same_place(
    code: int, counted: int
) -> None:
    """On a busy machine a turn is long enough for a fast crawl's worker to finish and end."""
    ended, slow = mock.MagicMock(), mock.MagicMock()
    ended.taker.lost, ended.worker.process.poll.return_value = "the worker ended in its turn", code
    slow.taker.lost = None
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
        assert record.turns is not None
        assert record.turns.taken == len(mine)
        assert record.turns.counted == len(counted) > 0
        assert record.turns.exchanges == sum(log.exchanges[i] for i in counted)
        assert record.turns.cpu_s == pytest.approx(sum(log.cpu_us[i] for i in counted) / 1e6, 0.01)
        assert record.turns.beside == list(LABELS)
        # The rate is that of the time in which it ran, not of the time that it lived.
        answered = record.ledger.requests if record.ledger else 0
        rate = record.turns.exchanges / record.turns.wall_s
        assert record.elapsed_s == pytest.approx(answered / rate)
        assert record.pages_per_s == pytest.approx((record.pages or 0) / (answered / rate))


def test_service_times_have_no_stop_inside(block: Block) -> None:
    for record in block[0]:
        assert record.turns is not None
        assert record.turns.spanned is not None
        kept = record.service_time.count if record.service_time else 0
        if record.label == "threads":
            continue  # read while it runs, so that a few exchanges end between two readings
        # A stop may fall between an exchange's end and its count, once in each turn.
        assert abs(kept + record.turns.spanned - record.turns.exchanges) <= record.turns.counted
        assert record.turns.spanned >= record.turns.counted // 2  # something is always in flight
        if record.service_time:
            # An exchange with a stop inside lasts for the turns of all others at least.
            assert record.service_time.p50_ms < 2 * 1000 * max(
                wall / 1e6 for wall in block[1].wall_us
            )


def test_a_block_shares_one_hash_seed_and_another_block_has_another(
    bench: Bench, block: Block
) -> None:
    seeds = {record.seeds["hash"] for record in block[0]}
    assert len(seeds) == 1
    later, _ = together.run(bench, POINT, {50: Turn(1, POINT.id, 0, Label("callbacks"))})
    assert later[0].seeds["hash"] not in seeds


def test_one_label_has_a_sleeping_server_and_one_keeps_no_times(bench: Bench) -> None:
    point = replace(POINT, id="awake-10", asleep=True, null_recorder=True)
    labels = ("callbacks", "callbacks/asleep", "callbacks/null")
    records, log = together.run(bench, point, turns(*labels))
    assert [record.status for record in records] == ["ok"] * 3
    assert list(map(str, map(Label.of, records))) == log.labels == list(labels)
    assert {record.label for record in records} == {"callbacks"}
    apart = bool(bench.pinning.server)
    assert [record.extra["server_polls"] for record in records] == [apart, False, apart]
    servers = [record.params["server"] for record in records]
    assert servers == ["awake", "asleep", "awake"]
    assert [record.params["recorder"] for record in records] == ["times", "times", "null"]
    assert records[2].mechanism["recorder"] == "NullRecorder"
    assert records[2].service_time is None
    for record in records:
        assert record.turns is not None
        assert record.turns.exchanges > 0


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
    turnlog.cut(tmp_path)
    turnlog.append(tmp_path, later)
    assert turnlog.load(tmp_path) == [log, later]
    turnlog.cut(tmp_path)  # nothing to cut
    assert turnlog.load(tmp_path) == [log, later]


def test_of_a_block_that_ran_twice_the_later_turns_count(block: Block, tmp_path: Path) -> None:
    log = block[1]
    turnlog.append(tmp_path, log.model_copy(update={"steal_ms": [None] * len(log.label)}))
    turnlog.append(tmp_path, log)
    assert turnlog.load(tmp_path) == [log]


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
    two = [
        TurnTaken(0, 0, began, 1.0, 0.5, 0.5, 3, None, True)
        for began in (10.0, 20.0)
    ]  # fmt: skip
    found = together.turn_of(two, np.array([9.9, 10.0, 10.9, 11.1, 20.5, 21.5]))
    assert found.tolist() == [-1, 0, 0, -1, 1, -1]
    assert together.turn_of([], np.array([1.0])).tolist() == [-1]
