"""Campaigns from beginning to end: locked, run, interrupted in every way, resumed, recorded."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
import pytest

from bench import store
from bench.__main__ import main
from bench.launch import ROOT
from bench.plan import plan, profiles
from bench.plan.durations import trial_s
from bench.plan.plan import key
from bench.plan.workloads import WARMUP_SITE
from bench.questions import analysis_of
from bench.report import summary
from bench.run import judge, runner
from bench.run.campaign import Campaign
from bench.run.runner import Finished, Options
from bench.run.trial import Bench
from bench.schema import CampaignRecord, EndRecord, TrialRecord
from bench.store import Log, Records, StoreError
from bench.terminal import Terminal
from crawlers.backend import Backend
from crawlers.registry import MODELS
from tests.bench import small
from tests.bench.sure import sure
from tests.bench.synthetic import campaign

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
NO_TURN = "no turn counted"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("results")
    done = small.harness(
        *("run", "--profile", "smoke", "--only", "throughput-1,openloop-1000", "--blocks", "1"),
        *("--backends", "threads,callbacks", "--seed", "5", "--results", str(results)),
        "--no-charts",
    )
    (folder,) = results.iterdir()
    # On a busy machine one turn may be most of so small a crawl; such a trial is void.
    busy = any(NO_TURN in (trial.reason or "") for trial in store.load(folder).trials)
    assert done.returncode == (FAILED if busy else DONE), done.stdout + done.stderr
    return folder


def test_every_planned_trial_is_recorded_once(finished: Path) -> None:
    records = store.load(finished)
    end = sure(records.end)
    assert end.complete
    planned = [trial.key for trial in plan.rebuild(records.campaign).trials]
    every = sorted(records.every_trial, key=lambda trial: trial.trial)
    assert list(map(key, every)) == planned
    assert all(t.status == "ok" or NO_TURN in (t.reason or "") for t in records.trials)
    assert [trial.trial for trial in every] == list(range(len(planned)))
    assert end.trial_wall_s <= end.wall_s


def test_the_record_holds_everything_needed_to_check_a_number(finished: Path) -> None:
    records = store.load(finished)
    assert records.campaign.seed == 5
    assert records.campaign.twin == "callbacks"
    assert records.campaign.environment.packages["httptools"]
    assert len(records.ceilings) == records.campaign.blocks
    for trial in records.trials:
        assert trial.digest == trial.digest_expected
        assert trial.host is not None
        whole = "DueRecorder" if trial.params["rate"] else "TimesRecorder"
        recorder = "ProgressRecorder" if trial.turns else whole
        assert trial.mechanism["recorder"] == recorder
        assert "ListenOverflows" in trial.kernel
        assert set(trial.seeds) >= {"hash", "site", "campaign"}


def test_nothing_in_a_campaign_names_this_machine(finished: Path) -> None:
    text = (finished / store.FILE_NAME).read_text()
    assert os.uname().nodename not in json.loads(text.splitlines()[0])["command"]
    assert str(Path.home()) + "/" not in text
    assert str(ROOT) not in text
    assert str(finished.parent) not in text


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        ("ok", USAGE, "is complete; nothing to resume"),
        # It was complete, too, with the exit code of a misspelt option.
        ("refused", FAILED, "limits allow none of the trials descriptors: 64 here"),
    ],
)
def test_a_campaign_that_came_to_its_end_is_not_resumed(
    status: str, code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = "descriptors: 64 here" if status != "ok" else None
    with Log(tmp_path / store.FILE_NAME, create=True) as log:
        log.append(RECORDS.campaign, *bad(status=status, reason=reason), END)
    assert main(["run", "--resume", str(tmp_path), "--no-charts"]) == code
    said = " ".join("".join(capsys.readouterr()).split())
    assert words in said
    assert said.count("64 here") == said.count("limits")
    assert ("complete" in said) == (status == "ok")


def crawling(offspring: list[psutil.Process]) -> bool:
    return any(small.runs(one, "bench.sides.worker") for one in offspring)


@pytest.mark.slow
def test_an_interrupted_campaign_stops_cleanly_and_draws(tmp_path: Path) -> None:
    results, temporary = tmp_path / "results", tmp_path / "temporary"
    temporary.mkdir()
    arguments = ["run", *small.ONE, "--backends", "threads,callbacks", "--blocks", "20"]
    arguments += ["--results", str(results)]
    with small.started(*arguments, env={"TMPDIR": str(temporary)}) as process:
        folder = small.wait_for_lines(results, 3)
        offspring = small.family(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == INTERRUPTED
    assert small.all_gone(offspring)
    assert [path for path in temporary.iterdir() if path.is_dir()] == []
    records = store.load(folder)
    end = sure(records.end)
    assert (end.complete, end.reason) == (False, "interrupted")
    assert list((folder / "charts").glob("*.svg"))
    assert "incomplete: interrupted" in small.harness("report", "--check", str(folder)).stdout


def stopped_in_a_crawl(harness: psutil.Process, offspring: list[psutil.Process]) -> bool:
    """Stop a harness, and let it go on unless its worker crawls.

    Between two trials a dead server is replaced, which is right and fails no trial. With the
    harness stopped, a worker that has a connection has a trial whose ledger nobody has read.
    """
    harness.suspend()
    found = any(small.runs(one, "bench.sides.worker") and connected(one) for one in offspring)
    if not found:
        harness.resume()
    return found


def connected(process: psutil.Process) -> bool:
    try:
        connections = process.net_connections("tcp")
    except psutil.Error:  # it has just ended
        return False
    return any(one.status == psutil.CONN_ESTABLISHED for one in connections)


@pytest.mark.slow
def test_a_killed_server_fails_one_trial_only(tmp_path: Path) -> None:
    arguments = ["run", *small.ONE, "--backends", "threads,callbacks,generators", "--no-charts"]
    with small.started(*arguments, "--blocks", "1", "--results", str(tmp_path)) as process:
        folder = small.wait_for_lines(tmp_path, 2)  # three trials of the block are left
        met = partial(stopped_in_a_crawl, psutil.Process(process.pid))
        for child in small.wait_for_family(process.pid, met):
            if small.runs(child, "server") and not small.runs(child, WARMUP_SITE):
                child.kill()
        process.send_signal(signal.SIGCONT)
        assert process.wait(300) == FAILED
    records = store.load(folder)
    assert sure(records.end).complete
    counts = Counter(trial.status for trial in records.trials)
    assert counts == {"failed": 1, "ok": 3}


def turns_under_way(offspring: list[psutil.Process]) -> bool:
    """Whether two labels take turns: both sides of one of them are stopped."""
    stopped = [one for one in offspring if one.status() == psutil.STATUS_STOPPED]
    return len(stopped) >= 2


def torn(folder: Path) -> None:
    """Leave records, and the turns if there are any, as if killed while they were written."""
    with open(folder / store.FILE_NAME, "ab") as lines:
        lines.write(b'{"kind":"trial","trial":99,')
    if (folder / store.TURNS).exists():
        with open(folder / store.TURNS, "ab") as log:
            log.write(b"\x1f\x8b\x08")


ALONE = (*small.ONE, "--backends", "threads,callbacks", "--blocks", "2")
TOGETHER = ("--profile", "smoke", "--only", "cost-100", "--blocks", "2", "--seed", "3")


@pytest.mark.parametrize(
    ("options", "met", "number"),
    [
        (ALONE, crawling, signal.SIGKILL),
        (TOGETHER, turns_under_way, signal.SIGHUP),  # a closed terminal, as Ctrl-C
    ],
)
@pytest.mark.slow
def test_a_campaign_that_is_struck_leaves_no_orphan_and_can_be_resumed(
    tmp_path: Path,
    options: Sequence[str],
    met: Callable[[list[psutil.Process]], bool],
    number: signal.Signals,
) -> None:
    """Nothing stays stopped, no process is left, nothing is lost, no block counts twice."""
    arguments = ("run", *options, "--results", str(tmp_path), "--no-charts")
    with small.started(*arguments) as process:
        folder = small.wait_for_lines(tmp_path, 2)  # a trial or a block is done
        offspring = small.wait_for_family(process.pid, met)
        process.send_signal(number)
        code = process.wait(300)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else INTERRUPTED)
    assert small.all_gone(offspring)
    struck = store.load(folder)
    torn(folder)
    done = small.harness("run", "--resume", str(folder), "--no-charts")
    resumed = store.load(folder)
    before, after = struck.every_trial, resumed.every_trial
    assert before
    codes = (DONE,) if all(one.status == "ok" for one in after) else (DONE, FAILED)
    assert done.returncode in codes, done.stdout + done.stderr
    assert (struck.end is None) == (number == signal.SIGKILL)
    assert [resume.done for resume in resumed.resumes] == [len(struck.trials)]
    assert sure(resumed.end).complete
    todo = plan.rebuild(resumed.campaign)
    assert Counter(map(key, after)) == Counter(trial.key for trial in todo.trials)
    assert [one for one in after if one.trial in {each.trial for each in before}] == before
    assert {trial.status for trial in after} <= {"ok", "void"}  # void: no turn on a busy machine
    if options is TOGETHER:
        labels = sorted(map(str, todo.entries[0].labels))
        assert len(before) % len(labels) == 0  # whole blocks only
        turns = store.load_turns(folder)
        assert sorted(block.block for block in turns) == [0, 1]
        assert all(sorted(block.labels) == labels for block in turns)


def test_the_time_that_is_left_has_the_pace_of_what_has_run() -> None:
    todo = plan.make(plan.select(profiles.profile("smoke", ["throughput-100"]), MODELS), seed=1)
    planned = sum(trial_s(todo.points["throughput-100"], trial.label) for trial in todo.trials)
    log = mock.create_autospec(Log, instance=True)
    records = campaign(blocks=1, samples=10, workloads=["throughput"])
    record = next(one for one in records if isinstance(one, CampaignRecord))
    running = Campaign(Records(record), todo, log, mock.MagicMock(), Bench(backends={}, seed=1))
    assert running._left_s(0.0) == pytest.approx(planned)
    example = next(one for one in records if isinstance(one, TrialRecord))
    running._keep(example, example)
    first = sum(trial_s(todo.points["throughput-100"], trial.label) for trial in todo.trials[:2])
    assert running._left_s(3 * first) == pytest.approx(3 * (planned - first))


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    folder = tmp_path / "some where" / "20261121-051200-1a2b3c"
    folder.mkdir(parents=True)
    with Log(folder / store.FILE_NAME, create=True) as opened:
        for record in campaign(blocks=1, samples=10, ended=False)[:3]:
            opened.append(record)
    return folder


def test_a_campaign_is_locked_before_it_is_read(
    interrupted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a second --resume does meanwhile, it can add nothing that the first did not read."""

    class Stop(Exception):
        """Ends the run."""

    def look_up(names: Sequence[str] | None, *pythons: object) -> list[Backend]:
        with pytest.raises(StoreError, match="another run is writing to this campaign"):
            Log(interrupted / store.FILE_NAME, create=False)
        raise Stop

    monkeypatch.setattr("bench.plan.backends.look_up", look_up)
    with pytest.raises(Stop):
        runner.resume(Options(resume=interrupted), Terminal(io.StringIO()))


def hint(folder: Path) -> str:
    end = EndRecord(ended="x", complete=False, reason="interrupted", wall_s=1, trial_wall_s=1)
    output = io.StringIO()
    code = runner.exit_code(Finished(folder, store.load(folder), end), Terminal(output))
    assert code == 130
    return output.getvalue().partition("--resume ")[2].strip()


def test_the_hint_names_a_campaign_that_can_be_found(
    interrupted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shlex.split(hint(interrupted)) == [str(interrupted)]
    monkeypatch.chdir(interrupted.parent)
    (found,) = shlex.split(hint(interrupted))
    assert store.trials_file(Path(found)).samefile(interrupted / store.FILE_NAME)
    monkeypatch.setattr(runner, "RESULTS", interrupted.parent)
    assert hint(interrupted) == interrupted.name


# --- what to do about trials that do not count ---------------------------------------------


RECORDS = store.sort_out(campaign(blocks=1, samples=10, workloads=["throughput"]), Path("made"))
END = EndRecord(ended="x", complete=True, reason=None, wall_s=1, trial_wall_s=1)
WRONG = "wrong digest of 2 URLs"


def bad(**update: Any) -> list[TrialRecord]:
    values = {"status": "void", "reason": WRONG} | update
    return [trial.model_copy(update=values) for trial in RECORDS.trials]


@pytest.mark.parametrize(
    ("update", "says"),
    [
        ({}, ["python -m crawlers conformance"]),
        ({"errors": {"timeout": 3}}, ["failed (timeout). Close other programs"]),
        ({"status": "failed", "reason": "exit 1"}, ["ended without a result"]),
        ({"reason": "3 connections opened for 2 slots"}, ["rule of the comparison: 3 conn"]),
        ({"reason": None}, ["rule of the comparison"]),
        ({"status": "refused", "reason": "ulimit -n"}, []),
        ({"status": "ok", "reason": None}, []),
    ],
)
def test_each_cause_has_its_advice(update: dict[str, Any], says: list[str]) -> None:
    found = judge.unusable(bad(**update))
    assert len(found) == len(says)
    assert all(words in line for words, line in zip(says, found, strict=True))
    assert all("\n" not in line and " more" not in line for line in found)  # four have names


def test_a_void_campaign_says_what_to_do() -> None:
    records = replace(RECORDS, trials=bad(), end=END)
    output = io.StringIO()
    assert runner.exit_code(Finished(Path("made"), records, END), Terminal(output)) == 1
    assert "python -m crawlers conformance" in output.getvalue()
    assert "python -m crawlers conformance" in summary.to_markdown(analysis_of(records))
