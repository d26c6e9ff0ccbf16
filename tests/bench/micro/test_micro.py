"""``python -m bench micro``: measures, counts, adds up, draws; redraws from the record alone."""

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
from bench.micro import account, prices
from bench.micro.account import MicroError
from bench.micro.conftest import CpuTime
from bench.micro.operations import OPERATIONS, SWITCH_OF_THREADS
from bench.micro.steps import Steps
from bench.run.process import Child
from tests.bench import small

PATIENCE_S = 280
"""It takes a quarter of a minute, unless the processors are busy."""
pytestmark = [pytest.mark.timeout(PATIENCE_S + 20), pytest.mark.xdist_group("micro")]

TINY = ("--pages", "300", "--slots", "10", "--blocks", "1", "--rounds", "2", "--seed", "1")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    """The folder and output of a run that is too short to mean anything."""
    folder = tmp_path_factory.mktemp("micro") / "out"
    done = small.harness("micro", *TINY, "--out", str(folder), "--json", timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, json.loads(done.stdout)


@pytest.mark.slow
def test_every_model_has_a_sum_and_a_measurement(measured: tuple[Path, dict[str, float]]) -> None:
    folder, shares = measured
    assert set(shares) == set(OPERATIONS)
    for made in account.accounts(account.load(folder)):
        assert made.share == shares[made.backend]
        assert made.explained_us > 0
        assert made.measured is not None
        assert made.measured.count == 1


@pytest.mark.slow
def test_every_operation_was_priced_and_counted(measured: tuple[Path, dict[str, float]]) -> None:
    """Fails if a function that is counted has been renamed."""
    record = account.load(measured[0])
    for made in account.accounts(record):
        for row in made.rows:
            assert row.page_us is not None, (made.backend, row)
        found = account.counts(record.models[made.backend])
        for operation in OPERATIONS[made.backend]:
            seen = [name for name in operation.number if name in found]
            # Either kind of send will do; of all others each has to be there.
            if operation.title != "send":
                assert seen == list(operation.number), (made.backend, operation.title)


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
    found = account.load(measured[0]).prices
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
    found = account.load(measured[0]).prices
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
def test_counts_are_those_of_the_site(measured: tuple[Path, dict[str, float]]) -> None:
    """What every fetch does exactly once is counted alike for all, however they wait."""
    record = account.load(measured[0])
    once = ("crawlers.page:read_page", "crawlers.frontier:Frontier.settle")
    for name in once:
        counted = {model.calls[name] for model in record.models.values()}
        assert len(counted) == 1
        assert min(counted) >= 1.0


@pytest.mark.slow
def test_summary_and_charts_are_written(measured: tuple[Path, dict[str, float]]) -> None:
    folder, _ = measured
    text = (folder / "summary.md").read_text()
    for backend in OPERATIONS:
        assert f"### {backend}" in text
    assert "| task switch | asyncio |" in text
    for name in ("micro.svg", "micro.png", "micro-dark.svg", "micro-dark.png"):
        assert (folder / "charts" / name).stat().st_size > 5000


@pytest.mark.slow
def test_redrawing_gives_the_same_to_the_byte(measured: tuple[Path, dict[str, float]]) -> None:
    folder, _ = measured
    files = [folder / "summary.md", *sorted((folder / "charts").iterdir())]
    before = [file.read_bytes() for file in files]
    for file in files:
        file.unlink()
    assert main(["micro", "--redraw", "--out", str(folder)]) == 0
    assert [file.read_bytes() for file in files] == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--redraw", "--out", "nowhere"], "measure with python -m bench micro"),
        (["--backends", "nonesuch"], "no backend named 'nonesuch'"),
        (["--backends", "uvloop"], "uvloop has no operations in bench/micro/operations.py"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["micro", *arguments]) == 2
    text = capsys.readouterr().err.strip()
    assert message in text
    assert "\n" not in text
