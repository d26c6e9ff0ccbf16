"""Whole campaigns, small: run, broken off in every way, resumed, reported."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path

import psutil
import pytest

from bench import plan, store, workloads
from bench.backends import BackendsError, Known, choose
from bench.plan import PlanError
from bench.process import ROOT
from bench.progress import Estimate
from bench.store import Records
from bench.workloads import MODELS, ProfileError
from tests.bench import small
from tests.bench.synthetic import campaign as made_up

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def keys(records: Records) -> list[tuple[int, str, str]]:
    return [(trial.block, trial.point, trial.label) for trial in records.trials]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a campaign that ran to its end, with everything in it."""
    results = tmp_path_factory.mktemp("results")
    done = small.harness(
        *("run", "--profile", "smoke", "--only", "throughput-1,c10k,openloop-1000"),
        *("--backends", "threads,callbacks", "--seed", "5", "--results", str(results)),
    )
    assert done.returncode == DONE, done.stdout + done.stderr
    (folder,) = results.iterdir()
    return folder


def test_every_planned_trial_is_recorded_once(finished: Path) -> None:
    records = store.load(finished)
    assert records.end is not None
    assert records.end.complete
    planned = [turn.key for turn in plan.rebuild(records.campaign).turns]
    assert keys(records) == planned
    assert {trial.status for trial in records.trials} == {"ok"}
    assert [trial.trial for trial in records.trials] == list(range(len(planned)))
    assert records.end.trial_wall_s <= records.end.wall_s


def test_the_record_says_what_it_takes_to_distrust_a_number(finished: Path) -> None:
    records = store.load(finished)
    assert records.campaign.seed == 5
    assert records.campaign.twin == "callbacks"
    assert records.campaign.environment.packages["httptools"]
    assert len(records.ceilings) == records.campaign.blocks
    for trial in records.trials:
        assert trial.digest == trial.digest_expected
        assert trial.host is not None
        assert trial.mechanism["recorder"] == "TimesRecorder"
        assert "ListenOverflows" in trial.kernel
        assert set(trial.seeds) >= {"hash", "site", "campaign"}


def test_nothing_in_a_campaign_names_this_machine(finished: Path) -> None:
    text = (finished / store.FILE_NAME).read_text()
    assert os.uname().nodename not in json.loads(text.splitlines()[0])["command"]
    assert str(Path.home()) + "/" not in text
    assert str(ROOT) not in text
    assert str(finished.parent) not in text


def test_the_report_is_rebuilt_from_the_records_alone(finished: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / store.FILE_NAME).write_bytes((finished / store.FILE_NAME).read_bytes())
    done = small.harness("report", str(moved))
    assert done.returncode == DONE, done.stderr
    made = sorted(path.name for path in (finished / "charts").iterdir())
    assert made == sorted(path.name for path in (moved / "charts").iterdir())
    for name in made:
        assert (finished / "charts" / name).read_bytes() == (moved / "charts" / name).read_bytes()
    assert (finished / "summary.md").read_text() == (moved / "summary.md").read_text()
    assert small.harness("check", str(moved)).returncode == DONE


def test_a_campaign_that_is_done_has_nothing_to_resume(finished: Path) -> None:
    done = small.harness("run", "--resume", str(finished))
    assert done.returncode == USAGE
    assert "is complete; nothing to resume" in done.stderr


@pytest.mark.parametrize("lines", [1, 3])
def test_a_killed_harness_leaves_no_orphan_and_can_be_resumed(tmp_path: Path, lines: int) -> None:
    arguments = ["run", *small.ONE, "--backends", "threads,callbacks", "--blocks", "2"]
    arguments += ["--results", str(tmp_path), "--no-charts"]
    with small.started(*arguments) as process:
        folder = small.wait_for_lines(tmp_path, lines)
        offspring = small.family(process.pid)
        process.kill()
        process.wait()
    assert small.all_gone(offspring)
    before = store.load(folder)
    assert before.end is None
    file = folder / store.FILE_NAME
    with open(file, "ab") as torn:  # as if it had died while writing
        torn.write(b'{"kind":"trial","trial":99,')

    done = small.harness("run", "--resume", str(folder), "--no-charts")
    assert done.returncode == DONE, done.stdout + done.stderr
    assert "cut 27 bytes" in done.stdout
    after = store.load(folder)
    assert after.end is not None
    assert after.end.complete
    assert len(after.resumes) == 1
    assert after.resumes[0].done == len(before.trials)
    assert after.trials[: len(before.trials)] == before.trials
    assert sorted(keys(after)) == sorted(turn.key for turn in plan.rebuild(after.campaign).turns)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_campaign_ends_in_good_order_and_draws(
    tmp_path: Path, how: signal.Signals
) -> None:
    arguments = ["run", *small.ONE, "--backends", "threads,callbacks", "--blocks", "20"]
    with small.started(*arguments, "--results", str(tmp_path)) as process:
        folder = small.wait_for_lines(tmp_path, 3)
        offspring = small.family(process.pid)
        process.send_signal(how)
        assert process.wait(60) == INTERRUPTED
    assert small.all_gone(offspring)
    records = store.load(folder)
    assert records.end is not None
    assert (records.end.complete, records.end.reason) == (False, "interrupted")
    assert list((folder / "charts").glob("*.svg"))
    assert "incomplete: interrupted" in small.harness("check", str(folder)).stdout


def test_killed_servers_cost_their_trial_and_no_more(tmp_path: Path) -> None:
    arguments = ["run", *small.ONE, "--backends", "threads,callbacks,generators", "--no-charts"]
    with small.started(*arguments, "--blocks", "2", "--results", str(tmp_path)) as process:
        folder = small.wait_for_lines(tmp_path, 3)  # three trials of the block are to come
        for child in small.family(process.pid):
            try:
                if "server" in child.cmdline():
                    child.kill()
            except psutil.NoSuchProcess:
                continue
        assert process.wait(100) == FAILED
    records = store.load(folder)
    assert records.end is not None
    assert records.end.complete
    counts = Counter(trial.status for trial in records.trials)
    assert counts == {"failed": 1, "ok": 7}


def test_a_campaign_goes_on_past_backends_that_hang_and_crash(tmp_path: Path) -> None:
    done = small.harness(
        *("run", *small.ONE, "--backends", "callbacks,hang,crash", "--deadline", "3"),
        *("--results", str(tmp_path), "--no-charts", "--json"),
        outside=True,
    )
    assert done.returncode == FAILED, done.stdout + done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["complete"] is True
    records = store.load(Path(outcome["folder"]))
    status = {trial.label: trial.status for trial in records.trials}
    assert status["hang"] == status["crash"] == "failed"
    assert status["callbacks"] == status["callbacks#2"] == "ok"


def test_a_changed_table_of_workloads_cannot_continue_a_campaign(finished: Path) -> None:
    record = store.load(finished).campaign
    changed = record.plan[0].model_copy(update={"params": {"slots": 77}})
    with pytest.raises(PlanError, match="is not what it was"):
        plan.rebuild(record.model_copy(update={"plan": [changed]}))
    with pytest.raises(PlanError, match="has no plan"):
        plan.rebuild(record.model_copy(update={"plan": []}))


def test_a_selection_keeps_pairs_of_point_and_backend() -> None:
    found = plan.select(
        "smoke", MODELS, selection=[("throughput-1", "callbacks"), ("c10k-50", "threads")]
    )
    assert [(point.id, labels) for point, labels in found] == [
        ("throughput-1", ["callbacks", "callbacks#2"]),
        ("c10k-50", ["threads"]),
    ]


def test_an_empty_or_unknown_selection_is_said() -> None:
    with pytest.raises(PlanError, match="nothing to measure"):
        plan.select("smoke", ["threads"], only=["cost-100"])
    with pytest.raises(ProfileError, match=r"unknown workload 'nonesuch'.*throughput"):
        plan.select("smoke", MODELS, only=["nonesuch"])


KNOWN = [
    Known("threads", "threads", 10, "", ""),
    Known("callbacks", "callbacks", 20, "", ""),
    Known("absent", "", -1, "", "", missing="install the extra"),
]


def test_backends_are_chosen_in_the_registrys_order() -> None:
    assert choose(KNOWN, None) == ["threads", "callbacks"]
    assert choose(KNOWN, None, usual=["callbacks", "absent", "other"]) == ["callbacks"]
    assert choose(KNOWN, ["callbacks", "threads"]) == ["threads", "callbacks"]
    with pytest.raises(BackendsError, match="unknown backend 'x': choose from threads"):
        choose(KNOWN, ["x"])
    with pytest.raises(BackendsError, match="install the extra"):
        choose(KNOWN, ["absent"])


def test_the_estimate_learns() -> None:
    todo = plan.make(plan.select("smoke", MODELS, only=["throughput-100"]), seed=1)
    estimate = Estimate(todo.points)
    guess = estimate.left_s(todo.turns)
    assert guess == pytest.approx(len(todo.turns) * todo.points["throughput-100"].expected_s)
    example = next(
        r for r in made_up(blocks=1) if r.kind == "trial" and r.point == "throughput-100"
    )
    estimate.learn(example.model_copy(update={"trial_s": 10.0, "label": "threads"}))
    assert estimate.trial_s(todo.turns[0]) == 10.0
    estimate.learn_overhead(wall_s=20.0, trials_s=10.0)
    assert estimate.left_s(todo.turns) == pytest.approx(len(todo.turns) * 20.0)


def test_the_smoke_profile_is_small() -> None:
    chosen = plan.select("smoke", MODELS)
    assert sum(point.blocks * len(labels) for point, labels in chosen) <= 70
    assert max(point.slots for point in workloads.profile("smoke").points) <= 500
