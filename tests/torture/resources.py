"""Counts everything that a crawl could leave behind in its process."""

from __future__ import annotations

import signal
import time
from collections import Counter

from bench.run import leftovers

PATIENCE_S = 60.0
"""Ended threads and reaped children may still be listed for a moment."""


def count() -> Counter[str]:
    """Descriptors, threads, children, live objects of tasks and timers, signal handlers."""
    found = leftovers.count()
    for number in (signal.SIGINT, signal.SIGTERM):
        found[f"handler of {number.name}: {signal.getsignal(number)}"] = 1
    return found


def left(before: Counter[str]) -> Counter[str]:
    """What there is more of than ``before``, after a moment for it to go away."""
    give_up = time.monotonic() + PATIENCE_S
    while (more := count() - before) and time.monotonic() < give_up:
        time.sleep(0.02)
    return more
