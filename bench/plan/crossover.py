"""Where threads stop being fine: many slots behind a delay, on a list, from a paced start."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bench.plan.cast import BASE, Cast
from bench.plan.opening import Opening
from bench.plan.workloads import LISTED_PAGE_S, PAGE_BYTES, SWITCHING, Point
from crawlers.registry import MODELS

COMPARED: Final = (BASE, *SWITCHING, "async_await")
"""Threads with both switch intervals, and the models that they are compared with."""

MANY_SLOTS_COST: Final = 3.0
"""What a page takes with so many slots, in multiples of its time with a hundred."""


def with_long_switch(point: Point) -> Point:
    """A cell of the regime map, with the threads that ask for the lock less often beside it."""
    models = point.cast.models
    cast = replace(point.cast, rest=models, only=(*MODELS, *SWITCHING))
    return replace(point, cast=cast)


def crossover(slots: int, delay_ms: int, pages: int, cast: Cast) -> Point:
    """``pages`` pages beyond the first of each slot, behind a fixed delay.

    The delay is fixed, and the start spreads the slots over it: what so many slots can fetch
    at most is then exact, and no slow answer decides when a short trial ends.
    """
    opening = Opening(slots, delay_ms / 1000)
    urls = slots + pages
    return Point(
        id=f"crossover-{slots}x{delay_ms}ms",
        workload="crossover",
        kind="crawl",
        site=f"list:{urls}:{PAGE_BYTES}",
        urls=urls,
        slots=slots,
        delay=f"fixed:{delay_ms}" if delay_ms else "none",
        cast=replace(cast, only=cast.only or COMPARED),
        twins=(),
        recorder="slots",
        opening=opening,
        sole=True,
        waits_s=opening.settled_s + opening.delay_s * pages / slots,
        work_s=urls * LISTED_PAGE_S * MANY_SLOTS_COST,
    )
