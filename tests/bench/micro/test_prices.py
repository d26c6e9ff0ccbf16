"""``python -m bench micro``: measures prices, and makes the table from the record alone."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bench.__main__ import main
from bench.micro import prices, report
from bench.micro.conftest import CpuTime
from bench.micro.prices import MicroError, MicroRecord, price
from tests.bench import small

PATIENCE_S = 280
"""It takes a quarter of a minute, unless the processors are busy."""
pytestmark = [pytest.mark.timeout(PATIENCE_S + 20), pytest.mark.xdist_group("micro")]

TINY = ("--only", "prices", "--rounds", "2")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    """The folder and output of a run that is too short to mean anything."""
    folder = tmp_path_factory.mktemp("micro") / "out"
    done = small.harness("micro", *TINY, "--out", str(folder), "--json", timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, json.loads(done.stdout)


def loaded(folder: Path) -> MicroRecord:
    found = report.load(folder).prices
    assert found is not None
    return found


def test_a_benchmark_that_fails_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prices, "ROOT", tmp_path)
    with pytest.raises(MicroError, match=r"failed: .*error: unrecognized .*; run"):
        prices.benchmarks(2, Console(quiet=True), "a pass")


@pytest.mark.slow
def test_prices_are_of_one_operation_and_comparable_ones_share_a_group(
    measured: tuple[Path, dict[str, float]],
) -> None:
    found = loaded(measured[0]).prices
    assert len(found) > 20
    for name, one in found.items():
        assert 0 < one.min_us < 10_000, name  # a batch would take longer
    for group, files in {
        "task switch": {"hand_built", "asyncio"},
        "lock contended": {"threads", "asyncio"},
        "ready socket": {"hand_built", "asyncio"},
        "start and join": {"threads"},
    }.items():
        assert {name.partition(".")[0] for name in found if found[name].group == group} == files


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
def test_the_summary_has_every_price_and_is_redrawn_to_the_byte(
    measured: tuple[Path, dict[str, float]],
) -> None:
    folder, medians = measured
    text = (folder / "summary.md").read_text()
    assert "| task switch | asyncio |" in text
    assert text.count("\n| ") == len(medians) + 2
    assert medians == {name: p.median_us for name, p in loaded(folder).prices.items()}
    (folder / "summary.md").unlink()
    assert main(["micro", "--redraw", "--out", str(folder)]) == 0
    assert (folder / "summary.md").read_text() == text


@given(st.lists(st.floats(1e-9, 1e-2), min_size=2, max_size=50))
def test_a_price_has_its_quartiles_in_order(batches: list[float]) -> None:
    made = price("any", batches)
    slack = 1e-9
    assert made.min_us <= made.q1_us + slack
    assert made.q1_us <= made.median_us + slack
    assert made.median_us <= made.q3_us + slack
    assert made.batches == len(batches)


def test_no_record_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(MicroError, match="measure with python -m bench micro"):
        report.load(tmp_path)
    (tmp_path / prices.FILE_NAME).write_text("{}")
    with pytest.raises(MicroError, match="not a record of bench micro"):
        report.load(tmp_path)
