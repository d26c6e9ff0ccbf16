"""Campaigns are the unit: what is said of several covers the next one, by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
import pytest

from bench.analysis.stats import Spread
from bench.analysis.stats.campaigns import FEWEST, WIDEST, combined, independent
from bench.schema import CampaignRecord
from tests.bench.synthetic import altered, campaign, environment

TIMES = 500
BLOCKS = 5
Draw = Callable[[np.random.Generator], float]


def states(dear: float, factor: float) -> Draw:
    """A campaign is in one of two states and stays there."""
    return lambda rng: math.log(factor) * float(rng.random() < dear)


CASES: dict[str, tuple[Draw, float, float, float, float | None]] = {
    "normal": (lambda rng: 0.0, 0.03, 0.95, 0.98, 0.88),
    "one-sided": (lambda rng: 0.03 * rng.exponential(), 0.01, 0.93, 0.61, None),
    "campaigns differ by 5 %": (lambda rng: rng.normal(0, 0.05), 0.01, 0.95, 0.46, 0.13),
    "two states": (states(1 / 2, 3), 0.06, 0.95, 0.71, 0.44),
    "a rare state": (states(1 / 6, 3), 0.06, 0.91, 0.84, None),
    "near states": (states(1 / 2, 1.35), 0.06, 0.96, 0.71, None),
    "anything": (lambda rng: math.log(rng.uniform(1.1, 4.9)), 0.06, 0.78, 0.43, 0.11),
    "outliers": (lambda r: r.normal(0, 0.02) + 0.3 * (r.random() < 0.1), 0.01, 0.91, 0.57, 0.26),
}
"""The logarithm of a campaign's value, how its blocks scatter, and the coverage of 5, 2 and 1."""


def campaign_of(rng: np.random.Generator, case: str) -> Spread:
    """A ratio with Student's interval of its five blocks."""
    draw, scatter, *_ = CASES[case]
    logs = draw(rng) + rng.normal(0, scatter, BLOCKS)
    mean, half = float(logs.mean()), 2.776 * float(logs.std(ddof=1)) / math.sqrt(BLOCKS)
    return Spread(math.exp(mean), math.exp(mean - half), math.exp(mean + half), BLOCKS)


def coverage(case: str, campaigns: int) -> float:
    """How often the value of the next campaign is in what is said of these."""
    rng, hits = np.random.default_rng(4), 0
    for _ in range(TIMES):
        found = combined([[campaign_of(rng, case)] for _ in range(campaigns)])
        hits += found.low <= campaign_of(rng, case).value <= found.high
        assert not found.predicted or found.high <= WIDEST * found.low
    return hits / TIMES


@pytest.mark.parametrize("case", CASES)
def test_the_next_campaign_is_covered_as_the_docstring_says(case: str) -> None:
    """The interval of one campaign hardly covers the next: that is why there is this module."""
    *_, of_five, of_two, of_one = CASES[case]
    assert coverage(case, FEWEST) == pytest.approx(of_five, abs=0.04)
    assert coverage(case, 2) == pytest.approx(of_two, abs=0.06)
    assert of_one is None or coverage(case, 1) == pytest.approx(of_one, abs=0.06)


def alone(*values: float) -> list[list[Spread]]:
    return [[Spread(value, value * 0.98, value * 1.02, BLOCKS)] for value in values]


def test_two_campaigns_give_their_range_and_five_an_interval() -> None:
    two, five = combined(alone(1.0, 1.1)), combined(alone(1.0, 1.1, 1.05, 1.02, 1.08))
    assert (two.low, two.high, two.campaigns) == (0.98, 1.1 * 1.02, 2)
    assert not two.predicted
    assert five.predicted
    assert five.low < 1.0 < 1.1 < five.high < 1.3
    assert five.value == pytest.approx(1.049, abs=0.001)


def test_campaigns_far_apart_give_a_range_and_not_an_absurd_interval() -> None:
    found = combined(alone(1.5, 4.5, 4.2, 1.3, 4.0))
    assert not found.predicted
    assert (found.low, found.high) == (1.3 * 0.98, 4.5 * 1.02)
    around_0 = combined([[Spread(v, v - 0.1, v + 0.1, 5)] for v in (-0.2, 0.1, 0.0, 0.2, -0.1)])
    assert around_0.value == pytest.approx(0.0)
    assert around_0.low == pytest.approx(-0.3)
    assert combined(alone(0.0, 0.3, 0.1, 0.1, 0.0)).value == pytest.approx(0.1)


def test_what_counts_as_one_campaign_does_not_make_an_interval() -> None:
    near = [Spread(value, value, value, BLOCKS) for value in (1.0, 1.1)]
    found = combined([near, *alone(1.2, 1.3, 1.4)])
    assert (found.campaigns, found.predicted) == (4, False)


def begun(*campaigns: tuple[int, str | None]) -> list[CampaignRecord]:
    """Campaigns by their minute and their boot."""
    (head, *_) = campaign(blocks=1, samples=1, workloads=())
    assert isinstance(head, CampaignRecord)
    start = datetime.fromisoformat(head.created)
    times = ((start + timedelta(minutes=minute)).isoformat() for minute, _ in campaigns)
    boots = (environment(boot=boot) for _, boot in campaigns)
    return [altered(head, created=x, environment=y) for x, y in zip(times, boots, strict=True)]


@pytest.mark.parametrize(
    ("campaigns", "counts_with"),
    [
        ([(0, "a"), (59, "a"), (60, "a")], [0, 0, 2]),
        ([(0, "a"), (40, "a"), (80, "a"), (100, "a")], [0, 0, 2, 2]),
        ([(0, "a"), (5, "b"), (10, "a")], [0, 1, 0]),
        ([(0, None), (5, None), (90, None)], [0, 0, 2]),
    ],
)
def test_campaigns_of_one_boot_within_an_hour_count_as_one(
    campaigns: list[tuple[int, str | None]], counts_with: list[int]
) -> None:
    assert independent(begun(*campaigns)) == counts_with
