"""``python -m bench micro``: measures, and makes the table from the record alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from bench.__main__ import main
from bench.launch import ROOT
from bench.micro import prices, record
from bench.micro.conftest import CpuTime
from bench.micro.prices import SWITCH_OF_THREADS
from bench.micro.record import MicroError
from bench.micro.steps import Steps
from bench.run.process import Child
from tests.bench import small

PATIENCE_S = 280
"""It takes a quarter of a minute, unless the processors are busy."""
pytestmark = [pytest.mark.timeout(PATIENCE_S + 20), pytest.mark.xdist_group("micro")]

TINY = ("--only", "prices", "--pages", "300", "--rounds", "2")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    """The folder and output of a run that is too short to mean anything."""
    folder = tmp_path_factory.mktemp("micro") / "out"
    done = small.harness("micro", *TINY, "--out", str(folder), "--json", timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, json.loads(done.stdout)


def test_a_benchmark_that_fails_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prices, "ROOT", tmp_path)
    with (
        Steps(Console(quiet=True), 1) as steps,
        pytest.raises(MicroError, match=r"failed: .*error: unrecognized .*; run"),
    ):
        prices.benchmarks(2, 300, steps, "a pass")


def test_progress_counts_each_benchmark_once(tmp_path: Path) -> None:
    folder = tmp_path / "bench" / "micro"
    folder.mkdir(parents=True)
    (folder / "test_two.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    console = Console(quiet=True)
    with (
        Steps(console, 0) as steps,
        Child("two tests", ["-u", "-m", "pytest", "-v", str(folder)]) as child,
    ):
        printed = prices.follow(child, steps, "a pass")
    assert child.process.returncode == 0, printed
    assert steps.progress == (2, 2)


@pytest.mark.slow
def test_prices_are_of_one_operation(measured: tuple[Path, dict[str, float]]) -> None:
    found = record.load(measured[0]).prices
    assert len(found) > 45
    for name, price in found.items():
        assert 0 < price.min_us < 10_000, name  # a batch would take longer
    assert found[SWITCH_OF_THREADS].median_us <= found["threads.hand_off"].median_us * 5


@pytest.mark.parametrize(
    ("group", "files"),
    [
        ("task switch", {"hand_built", "asyncio"}),
        ("future resolve", {"hand_built", "asyncio"}),
        ("await coroutine", {"hand_built", "asyncio"}),
        ("await task", {"hand_built", "asyncio"}),
        ("resume at depth", {"hand_built", "asyncio"}),
        ("callback dispatch", {"hand_built", "asyncio"}),
        ("ready socket", {"hand_built", "asyncio"}),
        ("hand off", {"threads"}),
        ("lock uncontended", {"threads", "asyncio"}),
        ("lock contended", {"threads", "asyncio"}),
        ("queue put and get", {"threads", "asyncio"}),
        ("timer set and cancel", {"threads", "asyncio"}),
        ("connect and close", {"hand_built", "asyncio", "threads"}),
        ("link extraction", {"shared"}),
        ("send and recv", {"sockets"}),
    ],
)
@pytest.mark.slow
def test_comparable_operations_share_a_group(
    measured: tuple[Path, dict[str, float]], group: str, files: set[str]
) -> None:
    found = record.load(measured[0]).prices
    assert {name.partition(".")[0] for name in found if found[name].group == group} == files


def test_micro_benchmarks_are_independent_of_campaigns() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "bench/micro", "--profile", "smoke"],
        cwd=ROOT, env=small.environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 4
    assert "unrecognized arguments: --profile" in done.stderr


def test_the_timer_counts_work_and_not_sleep() -> None:
    timer = CpuTime()
    timer.operations = 10
    before, wall = timer(), time.process_time()
    while time.process_time() - wall < 0.02:
        pass
    worked = timer() - before
    assert worked >= 0.002
    before = timer()
    time.sleep(0.1)
    assert timer() - before < worked


@pytest.mark.slow
def test_the_summary_has_every_price(measured: tuple[Path, dict[str, float]]) -> None:
    folder, medians = measured
    text = (folder / "summary.md").read_text()
    assert "| task switch | asyncio |" in text
    assert text.count("\n| ") == len(medians) + 2
    assert medians == {name: p.median_us for name, p in record.load(folder).prices.items()}


@pytest.mark.slow
def test_redrawing_gives_the_same_to_the_byte(measured: tuple[Path, dict[str, float]]) -> None:
    folder, _ = measured
    before = (folder / "summary.md").read_bytes()
    (folder / "summary.md").unlink()
    assert main(["micro", "--redraw", "--out", str(folder)]) == 0
    assert (folder / "summary.md").read_bytes() == before


def test_no_record_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["micro", "--redraw", "--out", "nowhere"]) == 2
    text = capsys.readouterr().err.strip()
    assert "measure with python -m bench micro" in text
    assert "\n" not in text
