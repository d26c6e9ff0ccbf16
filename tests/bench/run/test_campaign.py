"""Small campaigns from beginning to end: run, interrupted in every way, resumed, reported."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import psutil
import pytest

from bench import store, turnlog
from bench.launch import ROOT
from bench.plan import plan
from bench.plan.budget import trial_s
from bench.plan.order import key
from bench.run.progress import Estimate
from crawlers.registry import MODELS
from tests.bench import small
from tests.bench.synthetic import campaign as made_up

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a campaign that ran to its end, with everything in it."""
    results = tmp_path_factory.mktemp("results")
    done = small.harness(
        *("run", "--profile", "smoke", "--only", "throughput-1,c10k-50,openloop-1000"),
        *("--backends", "threads,callbacks", "--seed", "5", "--results", str(results)),
        "--no-charts",
    )
    assert done.returncode == DONE, done.stdout + done.stderr
    (folder,) = results.iterdir()
    return folder


def test_every_planned_trial_is_recorded_once(finished: Path) -> None:
    records = store.load(finished)
    assert records.end is not None
    assert records.end.complete
    planned = [turn.key for turn in plan.rebuild(records.campaign).turns]
    every = sorted(records.every_trial, key=lambda trial: trial.trial)
    assert list(map(key, every)) == planned
    assert {trial.status for trial in records.trials} == {"ok"}
    assert [trial.trial for trial in every] == list(range(len(planned)))
    assert records.end.trial_wall_s <= records.end.wall_s


def test_the_record_holds_everything_needed_to_check_a_number(finished: Path) -> None:
    records = store.load(finished)
    assert records.campaign.seed == 5
    assert records.campaign.twin == "callbacks"
    assert records.campaign.environment.packages["httptools"]
    assert len(records.ceilings) == records.campaign.blocks
    for trial in records.trials:
        assert trial.digest == trial.digest_expected
        assert trial.host is not None
        recorder = "ProgressRecorder" if trial.turns else "TimesRecorder"
        assert trial.mechanism["recorder"] == recorder
        assert "ListenOverflows" in trial.kernel
        assert set(trial.seeds) >= {"hash", "site", "campaign"}


def test_nothing_in_a_campaign_names_this_machine(finished: Path) -> None:
    text = (finished / store.FILE_NAME).read_text()
    assert os.uname().nodename not in json.loads(text.splitlines()[0])["command"]
    assert str(Path.home()) + "/" not in text
    assert str(ROOT) not in text
    assert str(finished.parent) not in text


@pytest.mark.slow
def test_the_report_is_rebuilt_from_the_records_alone(tmp_path: Path) -> None:
    run = small.harness(
        *("run", *small.ONE, "--backends", "threads,callbacks"),
        *("--results", str(tmp_path / "results")),
    )
    assert run.returncode == DONE, run.stdout + run.stderr
    (drawn,) = (tmp_path / "results").iterdir()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / store.FILE_NAME).write_bytes((drawn / store.FILE_NAME).read_bytes())
    done = small.harness("report", str(moved))
    assert done.returncode == DONE, done.stderr
    made = sorted(path.name for path in (drawn / "charts").iterdir())
    assert made == sorted(path.name for path in (moved / "charts").iterdir())
    for name in made:
        assert (drawn / "charts" / name).read_bytes() == (moved / "charts" / name).read_bytes()
    assert (drawn / "summary.md").read_text() == (moved / "summary.md").read_text()
    assert small.harness("check", str(moved)).returncode == DONE


def test_a_complete_campaign_has_nothing_to_resume(finished: Path) -> None:
    done = small.harness("run", "--resume", str(finished))
    assert done.returncode == USAGE
    assert "is complete; nothing to resume" in done.stderr


@pytest.mark.parametrize("lines", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.slow
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
    with open(file, "ab") as torn:  # as if it had been killed while writing
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
    assert Counter(map(key, after.trials)) == Counter(
        turn.key for turn in plan.rebuild(after.campaign).turns
    )


@pytest.mark.parametrize(
    "how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_an_interrupted_campaign_stops_cleanly_and_draws(
    tmp_path: Path, how: signal.Signals
) -> None:
    arguments = ["run", *small.ONE, "--backends", "threads,callbacks", "--blocks", "20"]
    with small.started(*arguments, "--results", str(tmp_path)) as process:
        folder = small.wait_for_lines(tmp_path, 3)
        offspring = small.family(process.pid)
        process.send_signal(how)
        assert process.wait(300) == INTERRUPTED
    assert small.all_gone(offspring)
    records = store.load(folder)
    assert records.end is not None
    assert (records.end.complete, records.end.reason) == (False, "interrupted")
    assert list((folder / "charts").glob("*.svg"))
    assert "incomplete: interrupted" in small.harness("check", str(folder)).stdout


def test_a_closed_terminal_ends_a_campaign_as_ctrl_c_does(tmp_path: Path) -> None:
    arguments = ["run", *small.ONE, "--backends", "threads,callbacks", "--blocks", "20"]
    arguments += ["--results", str(tmp_path / "results"), "--no-charts"]
    (tmp_path / "temporary").mkdir()
    with small.started(*arguments, env={"TMPDIR": str(tmp_path / "temporary")}) as process:
        folder = small.wait_for_lines(tmp_path / "results", 2)
        process.send_signal(signal.SIGHUP)
        assert process.wait(300) == INTERRUPTED
    end = store.load(folder).end
    assert end is not None
    assert (end.complete, end.reason) == (False, "interrupted")
    assert [path for path in (tmp_path / "temporary").iterdir() if path.is_dir()] == []


def stopped_in_a_crawl(harness: psutil.Process, offspring: list[psutil.Process]) -> bool:
    """Stop a harness, and let it go on unless its worker crawls.

    Between two trials a dead server is replaced, which is right and fails no trial. With the
    harness stopped, a worker that has a connection has a trial whose ledger nobody has read.
    """
    harness.suspend()
    found = any(small.runs(one, "bench.run.worker") and connected(one) for one in offspring)
    if not found:
        harness.resume()
    return found


def connected(process: psutil.Process) -> bool:
    """Whether it is alive and has a TCP connection."""
    try:
        connections = process.net_connections("tcp")
    except psutil.Error:  # it has just ended
        return False
    return any(one.status == psutil.CONN_ESTABLISHED for one in connections)


@pytest.mark.slow
def test_killed_servers_fail_one_trial_only(tmp_path: Path) -> None:
    arguments = ["run", *small.ONE, "--backends", "threads,callbacks,generators", "--no-charts"]
    with small.started(*arguments, "--blocks", "2", "--results", str(tmp_path)) as process:
        folder = small.wait_for_lines(tmp_path, 2)  # three trials of the block are left
        met = partial(stopped_in_a_crawl, psutil.Process(process.pid))
        for child in small.wait_for_family(process.pid, met):
            if small.runs(child, "server"):
                child.kill()
        process.send_signal(signal.SIGCONT)
        assert process.wait(300) == FAILED
    records = store.load(folder)
    assert records.end is not None
    assert records.end.complete
    counts = Counter(trial.status for trial in records.trials)
    assert counts == {"failed": 1, "ok": 7}


IN_TURNS = ("callbacks", "callbacks#2", "threads", "threads#2", "bare", "shared")


def turns_under_way(offspring: list[psutil.Process]) -> bool:
    """Whether a block takes turns: nearly all of its processes are stopped."""
    stopped = [one for one in offspring if one.status() == psutil.STATUS_STOPPED]
    return len(stopped) >= 2 * len(IN_TURNS) - 2


def torn_log(folder: Path) -> None:
    """Leave the log of turns as if the campaign had been killed while writing it, too."""
    with open(folder / turnlog.FILE_NAME, "ab") as log:
        log.write(b"\x1f\x8b\x08")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_a_block_struck_in_the_middle_of_its_turns(tmp_path: Path, number: signal.Signals) -> None:
    """Nothing stays stopped, no process is left, nothing is lost, no block counts twice."""
    options = ["--profile", "smoke", "--only", "fetch-100", "--blocks", "2"]
    options += ["--backends", "threads,callbacks", "--seed", "3"]
    found = small.struck_and_resumed(options, tmp_path, number, turns_under_way, torn_log)
    todo = plan.rebuild(found.after.campaign)
    labels = sorted(map(str, todo.entries[0].cast))
    done = found.before.every_trial
    assert len(done) % len(labels) == 0  # whole blocks only
    after = found.after.every_trial
    planned = [turn.key for turn in todo.turns]
    assert Counter(map(key, after)) == Counter(planned)
    assert [one for one in after if one.trial in {d.trial for d in done}] == done
    assert {trial.status for trial in after} <= {"ok", "void"}  # void: no turn on a busy machine
    turns = turnlog.load(found.folder)
    assert sorted(block.block for block in turns) == [0, 1]
    for block in turns:
        assert sorted(block.labels) == labels


@pytest.mark.slow
def test_a_campaign_continues_after_backends_that_hang_or_crash(tmp_path: Path) -> None:
    done = small.harness(
        *("run", *small.ONE, "--backends", "callbacks,hang,crash", "--deadline", "2"),
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


def test_the_estimate_learns() -> None:
    todo = plan.make(plan.select("smoke", MODELS, only=["throughput-100"]), seed=1)
    estimate = Estimate(todo.points)
    point = todo.points["throughput-100"]
    guesses = [trial_s(point, turn.label) for turn in todo.turns]
    assert estimate.left_s(todo.turns) == pytest.approx(sum(guesses))
    slow = Estimate(todo.points, slowness=3.0)
    assert slow.left_s(todo.turns) > 2.5 * sum(guesses)
    example = next(
        r for r in made_up(blocks=1) if r.kind == "trial" and r.point == "throughput-100"
    )
    estimate.learn(example.model_copy(update={"trial_s": 10.0, "label": "threads"}))
    assert estimate.trial_s(todo.turns[0]) == 10.0
    estimate.learn_overhead(wall_s=20.0, trials_s=10.0)
    assert estimate.left_s(todo.turns) == pytest.approx(len(todo.turns) * 20.0)
