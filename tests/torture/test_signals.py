"""SIGINT, SIGTERM and SIGKILL to each process of a campaign, at random moments.

Afterwards all records are still there, no process is left, the exit code tells what happened, and
``--resume`` completes the campaign.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from hypothesis import settings

from bench import store
from bench.launch import ROOT
from bench.plan import plan
from bench.store import Records
from tests.bench import small

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
CAMPAIGN = ("--profile", "smoke", "--blocks", "2", "--seed", "1", "--backends", "callbacks")
COMMANDS = {
    "harness": ("-m", "bench", "run", *CAMPAIGN, "--only", "waiting-10", "--no-charts"),
    "front end": ("-m", "pytest", "bench", *CAMPAIGN, "-k", "waiting and callbacks-10]"),
}
MARKS = {"worker": "bench.sides.worker", "server": "server"}
"""The argument that identifies a child of the harness."""

VICTIMS = (*COMMANDS, *MARKS)
PATIENCE_S = 60.0
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Strike:
    """Which process gets which signal, and how many seconds after the start."""

    victim: str
    number: signal.Signals
    moment_s: float


def strike(what: Strike, results: Path) -> None:
    """Run a campaign, strike, check and resume it."""
    scratch = results / "scratch"
    scratch.mkdir(parents=True)
    command = COMMANDS.get(what.victim, COMMANDS["harness"])
    process = subprocess.Popen(
        [sys.executable, *command, "--results", str(results / "campaigns")],
        cwd=ROOT,
        # Every descendant inherits this, so that it can be recognised.
        env=small.environment() | {"TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(what.moment_s)
        victim = find(what.victim, process)
        before = written(results)
        if victim is not None:
            victim.send_signal(what.number)
        code = process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    assert small.all_gone(offspring(scratch)), f"{what}: processes are left"
    assert written(results).startswith(before), f"{what}: records were lost"
    if what.number != signal.SIGKILL or what.victim not in COMMANDS:
        assert not list(scratch.iterdir()), f"{what}: files are left"
    judge(what, code, results, struck=victim is not None)


def find(name: str, harness: subprocess.Popen[bytes]) -> psutil.Process | None:
    """The process to strike, as soon as it exists; None if the campaign ended first."""
    while harness.poll() is None:
        if name in COMMANDS:
            return psutil.Process(harness.pid)
        try:
            for child in small.family(harness.pid):
                if MARKS[name] in child.cmdline():
                    return child
        except psutil.NoSuchProcess:
            pass
        time.sleep(0.002)
    return None


def offspring(scratch: Path) -> list[psutil.Process]:
    """All processes that were started with this folder for temporary files."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TMPDIR") == str(scratch):
                found.append(process)
        except psutil.Error:
            continue
    return found


def written(results: Path) -> bytes:
    data = b"".join(path.read_bytes() for path in results.glob(f"campaigns/*/{store.FILE_NAME}"))
    return data[: data.rfind(b"\n") + 1]


def judge(what: Strike, code: int, results: Path, *, struck: bool) -> None:
    """Is the exit code right, and can the campaign be finished?"""
    died = code == -what.number and what.victim in COMMANDS
    if not written(results):
        assert died or code in (INTERRUPTED, 2), f"{what}: exit code {code} and no record"
        return
    (folder,) = (results / "campaigns").iterdir()
    records = store.load(folder)
    bad = sum(trial.status in ("failed", "void") for trial in records.trials)
    assert bad <= 1, f"{what}: {bad} bad trials"
    if records.end is None:
        assert died, f"{what}: exit code {code} and no last record"
    elif not records.end.complete:
        interrupted = what.victim in COMMANDS and what.number != signal.SIGKILL
        assert code == (INTERRUPTED if interrupted else 1), f"{what}: exit code {code}"
    else:
        # Struck after its last record, while it was drawing or shutting down.
        assert died or code in (int(bad > 0), INTERRUPTED), f"{what}: exit code {code}"
        whole(records)
        return
    resume(folder, records)


def resume(folder: Path, records: Records) -> None:
    done = small.harness("run", "--resume", str(folder), "--no-charts")
    after = store.load(folder)
    bad = any(trial.status in ("failed", "void") for trial in after.trials)
    assert done.returncode == int(bad), done.stdout + done.stderr
    assert after.trials[: len(records.trials)] == records.trials
    assert after.end is not None
    assert after.end.complete
    whole(after)


def whole(records: Records) -> None:
    """Check that every turn of the plan was recorded once."""
    planned = Counter(trial.key for trial in plan.rebuild(records.campaign).trials)
    assert Counter(map(plan.key, records.trials)) == planned


@pytest.fixture(scope="module")
def usual_s(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The duration in seconds of a campaign without a strike."""
    began = time.monotonic()
    command = [sys.executable, *COMMANDS["harness"], "--results", str(tmp_path_factory.mktemp("x"))]
    subprocess.run(command, cwd=ROOT, env=small.environment(), capture_output=True, check=True)
    return time.monotonic() - began


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(max(settings().max_examples // 25, 1)))
def test_a_campaign_that_is_struck_loses_no_record(
    seed: int, usual_s: float, tmp_path: Path
) -> None:
    """A hundred: nox -s torture -- signals."""
    rng = random.Random(seed)
    what = Strike(rng.choice(VICTIMS), rng.choice(SIGNALS), rng.uniform(0, usual_s))
    strike(what, tmp_path)
