"""A duet: two whole crawls at the same time, on two processors, and again with sides swapped."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bench import store
from bench.analysis import duets, stats
from bench.cli.exits import FAILED
from bench.launch import ROOT
from bench.machine.probes.cpu import Pinning
from bench.plan import plan, profiles, workloads
from bench.plan.cast import BASE
from bench.plan.labels import SIDES, Label
from bench.plan.order import Turn, key
from bench.plan.plan import PlanError
from bench.run import duet, together
from bench.run.state import Bench
from bench.run.workers import WorkerError, WorkerProcess
from bench.schema import TrialRecord
from tests.bench import small

POINT = replace(workloads.duet("generators", 8000, 1), slots=10)
LABELS = ("callbacks/left", "generators/right", "generators/left", "callbacks/right")

needs_two = pytest.mark.skipif(
    len(psutil.Process().cpu_affinity() or [1, 2]) < 2, reason="a duet needs two processors"
)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """What the trials of a campaign share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(small.OUTSIDE))
        patch.setenv("PYTHONPATH", str(small.OUTSIDE))
        with tempfile.TemporaryDirectory() as scratch, small.bench(Path(scratch)) as shared:
            yield shared


def turns(*labels: str) -> dict[int, Turn]:
    return {
        7 + place: Turn(0, POINT.id, place, Label.parse(label))
        for place, label in enumerate(labels)
    }


@pytest.fixture(scope="module")
def block(bench: Bench) -> list[TrialRecord]:
    """One block: two labels on both sides."""
    return measured(bench, *LABELS)


def measured(bench: Bench, *labels: str) -> list[TrialRecord]:
    """One block; again where a busy machine kept the harness from looking in time."""
    for _ in range(20):
        trials = duet.run(bench, POINT, turns(*labels))
        if not any((trial.reason or "").startswith("no turn counted") for trial in trials):
            break
    return trials


@needs_two
def test_every_crawl_is_complete_and_checked(block: list[TrialRecord]) -> None:
    assert [str(Label.of(record)) for record in block] == list(LABELS)
    assert [record.trial for record in block] == [7, 8, 9, 10]
    for record in block:
        assert (record.status, record.reason) == ("ok", None)
        assert record.digest == record.digest_expected is not None
        assert record.ledger is not None
        assert record.ledger.connections_opened == 10
        assert record.trial_s > 0


@needs_two
def test_client_and_server_share_the_processor_of_their_side(
    bench: Bench, block: list[TrialRecord]
) -> None:
    for record in block:
        side = Label.of(record).side
        core = bench.pinning.client if side == "left" else bench.pinning.server
        assert record.pinning["client"] == record.pinning["server"] == core
        assert not record.extra["server_polls"]  # it would keep the client waiting


@needs_two
def test_both_are_measured_over_the_same_time(block: list[TrialRecord]) -> None:
    for first, second in (block[:2], block[2:]):
        for record in (first, second):
            assert record.turns is not None
            assert record.turns.counted == 1
            assert 0 < record.turns.exchanges < sum(record.statuses.values())
            assert record.turns.cpu_s > 0
            assert set(record.turns.beside) == {str(Label.of(first)), str(Label.of(second))}
            assert stats.CPU_PER_1000.value(record)
        assert first.turns is not None
        assert second.turns is not None
        # Looked at one after the other; a busy machine may come in between.
        assert first.turns.wall_s == pytest.approx(second.turns.wall_s, rel=0.5, abs=0.5)


@needs_two
def test_nothing_is_left_of_a_block(bench: Bench, block: list[TrialRecord]) -> None:
    assert block
    assert not list(bench.scratch.iterdir())
    mine = [c for c in psutil.Process().children() if "bench.run.worker" in " ".join(c.cmdline())]
    assert mine == []


@needs_two
def test_a_backend_that_is_three_times_as_expensive_is_found_to_be(bench: Bench) -> None:
    """It burns twice the processor time that the crawl takes, so the factor is known anywhere."""
    labels = ("thrice/right", "callbacks/left", "callbacks/right", "thrice/left")
    trials = measured(bench, *labels)
    assert [record.status for record in trials] == ["ok"] * 4
    (by_cpu,) = duets.paired(trials, "callbacks", "thrice", stats.CPU_PER_1000).values()
    assert 1.5 < by_cpu < 7


@needs_two
def test_a_side_that_does_not_get_ready_fails_its_leg_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = WorkerProcess.ready
    calls = []

    def ready(self: WorkerProcess, timeout_s: float) -> None:
        calls.append(self)
        if len(calls) == 2:
            raise WorkerError("it does not want to")
        real(self, timeout_s)

    monkeypatch.setattr(WorkerProcess, "ready", ready)
    trials = duet.run(bench, POINT, turns(*LABELS))
    assert [record.status for record in trials[:2]] == ["failed", "failed"]
    assert "failed" not in [record.status for record in trials[2:]]
    assert trials[0].reason == "the other side of the duet failed"
    assert trials[1].reason == "it does not want to"


@needs_two
def test_a_crawl_that_was_never_busy_is_void(bench: Bench) -> None:
    tiny = replace(POINT, slots=100, site=workloads.tree(60))
    monkey = {number: turn for number, turn in turns(*LABELS).items() if number < 9}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together, "sized", lambda point, label: point)
        trials = duet.run(bench, tiny, monkey)
    assert [record.status for record in trials] == ["void", "void"]
    assert "no turn counted" in (trials[0].reason or "")


def test_each_leg_has_both_labels_on_different_sides() -> None:
    for order in (LABELS, LABELS[::-1], (LABELS[0], LABELS[2], LABELS[3], LABELS[1])):
        found = duet.legs(turns(*order))
        assert len(found) == 2
        for leg in found:
            assert len({turn.label.side for turn in leg.values()}) == 2
            assert len({turn.label.recorded for turn in leg.values()}) == 2
        assert sorted(number for leg in found for number in leg) == [7, 8, 9, 10]


def test_one_processor_allows_no_duet() -> None:
    alone = Pinning([], [], "only one processor: client and server compete for it")
    assert duet.impossible(alone) == (
        "a duet needs two processors: only one processor: client and server compete for it"
    )
    assert duet.impossible(Pinning([1], [0], None)) is None


def test_the_full_profile_has_a_duet_for_each_and_an_aa_pair() -> None:
    chosen = plan.select("full", ["callbacks", "generators", "threads", "curio"], only=["duet"])
    labels = {entry.point.id: list(map(str, entry.cast)) for entry in chosen}
    assert labels == {
        "duet-callbacks": [f"callbacks{twin}/{s}" for twin in ("", "#2") for s in SIDES],
        "duet-generators": [f"{n}/{s}" for n in ("callbacks", "generators") for s in SIDES],
        "duet-threads": [f"{n}/{s}" for n in ("callbacks", "threads") for s in SIDES],
    }
    assert set(profiles.DUETS) >= {BASE, "generators", "async_await", "threads"}


def test_one_label_alone_is_no_duet() -> None:
    with pytest.raises(PlanError):
        plan.select("full", ["threads"], only=["duet"])
    with pytest.raises(PlanError):
        plan.select(
            "full", ["callbacks", "threads"], only=["duet-threads"],
            selection=[("duet-threads", "threads")],
        )  # fmt: skip


ON_ONE = """
import os, runpy, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
sys.argv = ["bench", *sys.argv[1:]]
runpy.run_module("bench", run_name="__main__")
"""


def test_on_one_processor_duets_are_refused_with_the_reason(tmp_path: Path) -> None:
    arguments = ["run", "--profile", "full", "--only", "duet-generators", "--blocks", "1"]
    arguments += ["--backends", "callbacks,generators", "--no-charts", "--results", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", ON_ONE, *arguments],
        cwd=ROOT,
        env=small.environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == FAILED, done.stdout + done.stderr
    (folder,) = tmp_path.iterdir()
    records = store.load(folder)
    assert [trial.status for trial in records.trials] == ["refused"] * 4
    assert "a duet needs two processors" in (records.trials[0].reason or "")
    found = duets.duet(records, "generators", stats.CPU_PER_1000)
    assert found.ratio is None
    assert "a duet needs two processors" in found.why


def crawls_under_way(offspring: list[psutil.Process]) -> bool:
    """Whether two crawls run at the same time."""
    workers = [one for one in offspring if small.runs(one, "bench.run.worker")]
    return len(workers) == 2 and all(one.num_fds() > 50 for one in workers)


@needs_two
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_a_duet_struck_in_the_middle(tmp_path: Path, number: signal.Signals) -> None:
    """No process is left, nothing is lost, no block counts twice, and a resume completes it."""
    options = ["--profile", "full", "--only", "duet-generators", "--blocks", "3"]
    options += ["--backends", "callbacks,generators", "--seed", "3"]
    found = small.struck_and_resumed(options, tmp_path, number, crawls_under_way)
    before, after = found.before.trials, found.after.trials
    assert len(before) % 4 == 0  # whole blocks only
    planned = [turn.key for turn in plan.rebuild(found.after.campaign).turns]
    assert Counter(map(key, after)) == Counter(planned)
    assert after[: len(before)] == before
    assert {trial.status for trial in after} == {"ok"}
