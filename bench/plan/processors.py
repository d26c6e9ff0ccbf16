"""Many processors: backends that can use them, on one, two … all there are, the server apart."""

from __future__ import annotations

import os
from dataclasses import replace

from bench.plan.cast import BASE, FREE, SPREADING, Cast
from bench.plan.workloads import REFERENCE_SLOTS, Point, closed_loop
from bench.schema import Spread
from crawlers.registry import MODELS


def processors(how: Spread, pages: int, cast: Cast, over: int | None = None) -> Point:
    """Backends that use every processor, against models on one: whole trials, pages per second.

    ``how`` says whether the server keeps its processor to itself or shares it, and ``over``
    on how many processors the client runs, None for all it can have. The server sleeps
    between requests in all of these trials.
    """
    setting = how if over is None else f"{over}{how}"
    point = closed_loop("processors", REFERENCE_SLOTS, pages, cast, setting=setting)
    cast = replace(cast, only=cast.only or (*MODELS, *SPREADING))
    return replace(point, cast=cast, spread=how, over=over, sole=over is None)


def steps(usable: int | None = None) -> tuple[int, ...]:
    """Numbers of processors for the client between one and all but the server's: 1, 2, 4 …

    By default of those that this process may use; none where processes cannot be pinned.
    """
    if usable is None:
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    most = usable - 1
    return tuple(2**power for power in range(most.bit_length()) if 2**power < most)


def scaling(pages: int, blocks: int) -> list[Point]:
    """A point for each of the :func:`steps`: none on two processors, where one is left."""
    cast = Cast(blocks, 0, blocks, only=(BASE, FREE, *SPREADING))
    return [processors("apart", pages, cast, over) for over in steps()]
