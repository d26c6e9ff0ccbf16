"""Counts everything that a crawl could leave behind in its process."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

PATIENCE_S = 60.0
"""Ended threads and reaped children may still be listed for a moment."""

KINDS = frozenset({
    *("Task", "Future", "Slot", "Shared", "Frontier", "Exchange"),
    *("Handle", "TimerHandle", "Timer", "Loop", "DelayedCall", "greenlet", "Greenlet"),
    *("socket", "StreamWriter", "SocketStream", "Popen"),
})  # fmt: skip
"""Names of the classes whose objects are tasks, timers, loops and connections, in any library."""


def count() -> Counter[str]:
    """Descriptors, threads, children, live objects of :data:`KINDS`, signal handlers."""
    gc.collect()
    found = Counter(f"descriptor {_target(entry)}" for entry in _descriptors())
    found.update(f"thread {thread.name}" for thread in threading.enumerate())
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    found["child"] = len(children.read_text().split()) if children.exists() else 0
    found.update(
        f"object {kind.__module__}.{kind.__qualname__}"
        for kind in map(type, gc.get_objects())
        if kind.__name__ in KINDS
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        found[f"handler of {number.name}: {signal.getsignal(number)}"] = 1
    return found


def left(before: Counter[str]) -> Counter[str]:
    """What there is more of than ``before``, after a moment for it to go away."""
    give_up = time.monotonic() + PATIENCE_S
    while (more := count() - before) and time.monotonic() < give_up:
        time.sleep(0.02)
    return more


def _descriptors() -> list[Path]:
    folder = Path("/proc/self/fd")
    return [folder / name for name in os.listdir(folder)] if folder.exists() else []


def _target(descriptor: Path) -> str:
    try:
        return os.readlink(descriptor).partition(":")[0]  # socket:[123] has a new number each time
    except OSError:
        return "of the listing itself"
