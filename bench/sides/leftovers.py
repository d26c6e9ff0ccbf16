"""What an interrupted crawl leaves behind in its process: the worker's part of a cancel trial.

Nothing may be left: no open descriptor, thread, child process, task, timer or connection
object that was not there before the crawl. The worker imports this module, so it needs nothing
but the standard library, the crawlers and the protocol.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType

from bench.sides.protocol import Ending
from crawlers.stop import Stop

PATIENCE_S = 5.0
"""Ended threads and reaped children may still be listed for a moment."""

AS_USUAL = signal.SIGUSR1
"""The signal on which a worker goes back to Python's own switch interval."""

TASKS = ("Task", "Future", "Slot", "Shared", "Frontier", "Exchange", "greenlet", "Greenlet")
TIMERS = ("Handle", "TimerHandle", "Timer", "Loop", "DelayedCall")
CONNECTIONS = ("socket", "StreamWriter", "SocketStream", "Popen")
KINDS = frozenset({*TASKS, *TIMERS, *CONNECTIONS})
"""Names of the classes whose objects are tasks, timers, loops and connections, in any library."""


def count() -> Counter[str]:
    gc.collect()
    counts = Counter(f"descriptor {target}" for target in _targets())
    counts.update(f"thread {thread.name}" for thread in threading.enumerate())
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    counts["child"] = len(children.read_text(encoding="ascii").split()) if children.exists() else 0
    counts.update(
        f"object {kind.__module__}.{kind.__qualname__}"
        for kind in map(type, gc.get_objects())
        if kind.__name__ in KINDS
    )
    return counts


def more_than(before: Counter[str], patience_s: float) -> Counter[str]:
    """What there is more of than ``before``, after a moment for it to go away."""
    give_up = time.monotonic() + patience_s
    while (more := count() - before) and time.monotonic() < give_up:
        time.sleep(0.02)
    return more


class Watch:
    """Watches one crawl that will be interrupted, from before its start.

    A barrier with many threads needs a long switch interval to fill. What is measured then
    should have Python's own, and :data:`AS_USUAL` brings it back.
    """

    def __init__(self) -> None:
        self._usual_s = sys.getswitchinterval()
        signal.signal(AS_USUAL, self._as_usual)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so started in the background
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._before = count()

    def _as_usual(self, number: int, frame: FrameType | None) -> None:
        sys.setswitchinterval(self._usual_s)

    def ending(self, returned: float, cpu_s: float) -> Ending:
        """How it ended, and what it left. Waits for leftovers to go away.

        ``cpu_s`` is the processor time of the process when the call returned.
        """
        noticed, used_s = Stop.noticed or (None, cpu_s)
        return Ending(
            noticed=noticed,
            returned=returned,
            cpu_s=cpu_s - used_s,
            switch_interval_s=sys.getswitchinterval(),
            left=dict(more_than(self._before, PATIENCE_S)),
        )


def _targets() -> Iterator[str]:
    """What each open descriptor is; libffi keeps its own file open from its first closure on."""
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        target = "of the listing itself"
        with suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{name}")
        if ".so" not in Path(target).suffixes:
            yield target.partition(":")[0]  # socket:[123] has a new number each time
