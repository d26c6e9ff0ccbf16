"""The workload that interrupts crawls: how long it takes until everything is closed."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bench.plan.cast import Cast
from bench.plan.workloads import HELD_S, RAMP_PER_S, Point, c10k

QUIET_S: Final = 0.3
"""Pauses before the interrupt, and until the crawl notices it."""


def cancel(exchanges: int, cast: Cast) -> Point:
    """Crawls that are interrupted with so many exchanges in flight."""
    return replace(
        c10k(exchanges, cast),
        id=f"cancel-{exchanges}",
        workload="cancel",
        kind="cancel",
        controls=("bare_close",),
        waits_s=QUIET_S + exchanges / RAMP_PER_S,
        work_s=2 * exchanges * HELD_S,
    )
