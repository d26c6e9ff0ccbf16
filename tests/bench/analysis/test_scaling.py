"""The law of scaling, fitted to made-up campaigns whose law is known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis import scaling
from bench.analysis.scaling import Law, Parameter
from tests.bench.sure import sure

EIGHT, TWELVE = (1, 2, 4, 7), (1, 2, 4, 8, 11)
LAWS = [(0.0, 0.0), (0.1, 0.0), (0.4, 0.0), (0.05, 0.005), (0.2, 0.02)]
"""A straight line, Amdahl's law twice, and two with a peak."""


def made(
    sigma: float,
    kappa: float,
    *,
    seed: int = 1,
    counts: Sequence[int] = EIGHT,
    blocks: int = 8,
    noise: float = 0.03,
) -> dict[int, dict[int, float]]:
    """Pages per second by processors and block; a block is slow or fast as a whole."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 0.1, blocks)
    return {
        n: {
            block: 9000 * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)) * math.exp(x)
            for block, x in enumerate(shared + rng.normal(0, noise, blocks))
        }
        for n in counts
    }


def covers(found: Parameter, truth: float) -> bool:
    return found.low <= truth + 1e-12 and truth <= found.high


@given(st.floats(0, 0.9), st.floats(0, 0.2), st.sampled_from([EIGHT, TWELVE, (1, 2, 3)]))
def test_without_noise_it_is_found_exactly(
    sigma: float, kappa: float, counts: Sequence[int]
) -> None:
    rates = made(sigma, kappa, counts=counts, noise=0.0, blocks=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scaling, "RESAMPLES", 3)
        found = sure(scaling.fit(rates))
    assert found.sigma.value == pytest.approx(sigma, abs=1e-6)
    assert found.kappa.value == pytest.approx(kappa, abs=1e-6)
    for n in counts:
        assert found.speedup(n) == pytest.approx(rates[n][0] / rates[1][0])


@pytest.mark.parametrize("blocks", [5, 10])
@pytest.mark.parametrize(("sigma", "kappa"), LAWS)
def test_the_interval_covers_the_truth_in_most_campaigns(
    sigma: float, kappa: float, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scaling, "RESAMPLES", 300)
    seeds = range(40)
    found = [sure(scaling.fit(made(sigma, kappa, seed=seed, blocks=blocks))) for seed in seeds]
    assert sum(covers(one.sigma, sigma) for one in found) >= 0.85 * len(seeds)
    assert sum(covers(one.kappa, kappa) for one in found) >= 0.85 * len(seeds)
    peaks = [one.peak for one in found if one.peak]
    if kappa == 0:
        assert len(peaks) <= 0.15 * len(seeds)
    else:
        truth = math.sqrt((1 - sigma) / kappa)
        assert sum(covers(one, truth) for one in peaks) >= 0.8 * len(peaks)


def test_a_peak_is_given_where_coherency_is_shown() -> None:
    found = sure(scaling.fit(made(0.2, 0.02, counts=TWELVE, noise=0.01)))
    peak = sure(found.peak)
    assert covers(peak, math.sqrt(0.8 / 0.02))
    assert found.speedup(peak.value) > max(found.speedup(peak.value * by) for by in (0.8, 1.25))


def test_what_only_slows_down_or_gets_ahead_of_the_line_stays_a_law() -> None:
    """More than n times on n, and half as much on any number."""
    ahead = {n: dict.fromkeys(range(5), float(n**1.1)) for n in EIGHT}
    behind = {n: dict.fromkeys(range(5), 1.0 if n == 1 else 0.5) for n in EIGHT}
    assert sure(scaling.fit(ahead)) == Law(Parameter(0, 0, 0), Parameter(0, 0, 0), None)
    found = sure(scaling.fit(behind))
    assert 0 <= found.sigma.low <= found.sigma.value <= found.sigma.high <= 1


def test_it_is_the_same_every_time() -> None:
    assert scaling.fit(made(0.1, 0.01)) == scaling.fit(made(0.1, 0.01))


@pytest.mark.parametrize(
    "rates",
    [
        {},
        made(0.1, 0.01, counts=(1, 2)),
        made(0.1, 0.01, counts=(2, 4, 7)),
        made(0.1, 0.01, blocks=4),
        {n: {block: 1.0} for n, block in ((1, 0), (2, 1), (4, 2))},
    ],
)
def test_too_few_numbers_or_blocks_have_none(rates: dict[int, dict[int, float]]) -> None:
    assert scaling.fit(rates) is None
