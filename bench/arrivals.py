"""When the requests of an open loop are due and which need work, from the seed in its record.

Only the standard library is imported here: the worker has to carry it, and the analysis
uses it to rebuild a trial's schedule.
"""

from __future__ import annotations

import random
from typing import Final

WORK_EVERY: Final = 10
"""One page in so many needs work, where any does."""


def poisson(rate: float, seed: int, count: int) -> tuple[float, ...]:
    """When ``count`` requests are due, in seconds from the start.

    Exponential gaps of mean ``1 / rate``, so that arrivals bunch as those of independent
    users do.
    """
    rng = random.Random(seed)
    now, due = 0.0, []
    for _ in range(count):
        now += rng.expovariate(rate)
        due.append(now)
    return tuple(due)


def chosen(count: int, every: int, seed: int) -> frozenset[int]:
    """Which of so many pages need work: one in ``every``, at random places, so that they bunch."""
    return frozenset(random.Random(seed).sample(range(count), count // every))
