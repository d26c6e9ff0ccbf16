"""The interval over blocks under noise that is correlated or comes in bursts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.launch import ROOT
from bench.text import block
from tools import coverage
from tools.coverage import Noise, autoregressive, block_ratios, bursts, covered, simulate

SETS = 200


def least(sets: int) -> float:
    """Coverage below this, of 95 % promised, is no accident: four standard errors."""
    return 0.95 - 4 * math.sqrt(0.95 * 0.05 / sets)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.floats(0, 0.97), st.integers(5, 12), st.integers(0, 10**6))
def test_turns_cover_the_truth_however_noise_is_correlated(
    phi: float, blocks: int, seed: int
) -> None:
    found = simulate(Noise("drawn", autoregressive(phi)), blocks, SETS, seed)
    assert found.turns_coverage >= least(SETS)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.floats(0.002, 0.05), st.floats(1, 40), st.integers(5, 12), st.integers(0, 10**6))
def test_turns_cover_the_truth_in_bursts(
    chance: float, length: float, blocks: int, seed: int
) -> None:
    """Interruptions of every frequency and length; their skew costs a little."""
    found = simulate(Noise("drawn", bursts(chance, length)), blocks, SETS, seed)
    assert found.turns_coverage >= least(SETS) - 0.03


def test_correlated_noise_is_where_turns_are_sharp() -> None:
    kind = Noise("drawn", autoregressive(0.9))
    found = simulate(kind, 6, SETS)
    assert found.turns_width < found.whole_width / 3


def test_neither_label_is_favoured() -> None:
    """The mirrored order leaves no bias, not even under a trend that never turns."""
    rng = np.random.default_rng(5)
    steps = 4 * coverage.ROUNDS

    def trend(_: np.random.Generator, sets: int, length: int) -> coverage.Floats:
        return np.tile(np.linspace(0, 0.5, length), (sets, 1))

    turns, whole = block_ratios(Noise("trend", trend, own=0.0), 6, 300, rng)
    assert abs(float(turns.mean())) < 0.001
    assert float(np.abs(turns).max()) < 0.05 / steps
    assert float(np.abs(whole).mean()) > 0.02  # trials in a row have the trend in their ratio


@pytest.mark.parametrize("kind", [coverage.KINDS[6], coverage.KINDS[8]], ids=lambda k: k.words)
def test_a_label_that_differs_for_whole_blocks_is_not_covered(kind: Noise) -> None:
    """The limit of the method: no order within a block helps, so docs/method.md says it."""
    found = simulate(kind, 12, SETS)
    assert found.turns_coverage < 0.85


def test_the_interval_is_the_one_of_the_reports() -> None:
    """Equal ratios in every block: a point at their mean, which holds 0 only if it is 0."""
    assert covered(np.zeros((3, 6))) == (1.0, 0.0)
    assert covered(np.full((3, 6), 0.1)) == (0.0, 0.0)


@pytest.mark.slow
def test_the_table_in_the_docs_is_what_the_simulation_gives() -> None:
    document = (ROOT / "docs" / "notebook" / "method-studies.md").read_text(encoding="utf-8")
    lines = block(document, coverage.NAME).splitlines()
    told = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:] if "|" in line]
    for cells, row in zip(told, coverage.table(), strict=True):
        assert cells[:2] == [row.noise, str(row.blocks)]
        # Another release of NumPy may draw other numbers: three standard errors.
        assert float(cells[2]) == pytest.approx(row.whole_coverage, abs=0.03)
        assert float(cells[4]) == pytest.approx(row.turns_coverage, abs=0.06)
