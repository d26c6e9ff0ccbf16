"""The rule for a difference, on noise whose truth is known: nothing differs, or much does."""

from __future__ import annotations

import numpy as np
import pytest

from bench.analysis import stats
from bench.analysis.stats.comparisons import floor_from

BLOCKS, POINTS, LABELS, TWINS, CAMPAIGNS = 5, 12, 6, 2, 4
"""Label 0 is the base; it and the next have a twin."""
PROMISED = 1 - stats.LEVEL

Noise = np.ndarray


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Noise:
    return rng.normal(0, 0.02, shape)


def states(rng: np.random.Generator, shape: tuple[int, ...]) -> Noise:
    """Each trial of a campaign is in one of two states, and stays in it in every block."""
    return rng.normal(0, 0.005, shape) + 0.05 * rng.integers(0, 2, (*shape[:2], 1))


def few_bad_points(rng: np.random.Generator, shape: tuple[int, ...]) -> Noise:
    scale = np.full((1, shape[1], 1), 0.01)
    scale[0, :2] = 0.12
    return np.asarray(rng.normal(0, 1, shape) * scale)


def unequal(rng: np.random.Generator, shape: tuple[int, ...]) -> Noise:
    """Each point has noise of its own, and so has each campaign."""
    scale = np.exp(rng.normal(np.log(0.01), 0.8, (1, shape[1], 1)))
    return (rng.normal(0, 1, shape) + rng.normal(0, 1, (*shape[:2], 1))) * scale


def shown(rng: np.random.Generator, kind: object, effect: float, *, floor: bool = True) -> float:
    """The share of comparisons with the base that show a difference, if all have this effect."""
    found = []
    for _ in range(CAMPAIGNS):
        logs = kind(rng, (LABELS + TWINS, POINTS, BLOCKS))  # type: ignore[operator]
        apart = logs[LABELS:] - logs[:TWINS]
        pairs = {
            (str(point), str(label)): dict(enumerate(apart[label, point]))
            for label in range(TWINS)
            for point in range(POINTS)
        }
        noise, family = floor_from(pairs), []
        for label in range(1, LABELS):
            for point in range(POINTS):
                sides = (
                    dict(enumerate(np.exp(logs[0, point]))),
                    dict(enumerate(np.exp(logs[label, point] + effect))),
                )
                least = noise.at(str(point), "0", str(label)) if floor else None
                ratio = stats.ratio(*sides, floor=least)
                metric = stats.PAGES_PER_S
                family.append(
                    stats.Comparison("", str(point), metric, "0", str(label), ratio, False)
                )
        found += [c.ratio.shown for c in stats.corrected(family)]
    return float(np.mean(found))


@pytest.mark.parametrize("kind", [normal, states, few_bad_points, unequal])
def test_false_alarms_stay_below_the_promised_level(kind: object) -> None:
    """A median of the pairs, without the factor, raised them in a third of states."""
    assert shown(np.random.default_rng(5), kind, 0.0) <= PROMISED
    assert shown(np.random.default_rng(5), kind, 0.3) >= 0.8


def test_the_interval_alone_would_raise_them() -> None:
    """Blocks of one campaign say nothing about a state that lasts for all of them."""
    assert shown(np.random.default_rng(5), states, 0.0, floor=False) > 0.3
