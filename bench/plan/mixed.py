"""Mixed load: one page in ten needs work of the client's processor, in an open loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bench.plan.cast import Cast
from bench.plan.workloads import Point, openloop

WORKLOAD: Final = "mixed"

EVERY: Final = 10
"""One page in so many needs work."""

LOOPS: Final = ("callbacks", "async_await", "uvloop")
"""One thread each, so that every page waits until the work on another is done."""

OTHERS: Final = ("async_await_to_thread", "async_await_pool", "threads")
"""The remedies for a loop, and the model whose threads pass the interpreter's lock on."""

CAST: Final = (*LOOPS, *OTHERS, "threads_short_switch", "threads_long_switch", "processes")

FEWER: Final = tuple(name for name in CAST if name not in ("uvloop", "threads_long_switch"))
"""The backends where the work is short or long: two loops say as much as three."""


def mixed(work_ms: int, rate: int, seconds: float, cast: Cast) -> Point:
    """Requests due on a Poisson schedule; one in ten then needs so much work.

    The rate leaves the processor idle for about half of the time, so that whoever waits
    does not wait for a queue that grows. Processes get every processor, and share the
    server's.
    """
    return replace(
        openloop(rate, seconds, cast),
        id=f"{WORKLOAD}-{work_ms}",
        workload=WORKLOAD,
        cast=replace(cast, only=cast.only or CAST),
        work_ms=work_ms,
        spread="shared",
        sole=True,
    )
