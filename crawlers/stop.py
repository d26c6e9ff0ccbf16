"""Reasons to stop a crawl before its end: a signal, or its deadline.

All backends check once per tick, so an interrupt never arrives in the middle of
the frontier's bookkeeping, and Ctrl-C still leaves a complete report.
"""

from __future__ import annotations

import signal
import threading
from time import monotonic, process_time
from types import FrameType
from typing import Any, ClassVar

from crawlers.job import Job

TICK_S = 0.25
"""Longest time between two checks of the deadlines, in seconds."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a polite kill, and the end of the terminal: they all stop a crawl."""


class Stop:
    """While entered, catches :data:`SIGNALS`; a second one ends the process at once.

    An exception at an arbitrary moment would leave running threads and broken
    loops, so the kernel handles the second signal. Signals are caught in the
    main thread only, and only if the program has no handler of its own.

    ``noticed`` is when a crawl in this process first saw a signal, None before: on the
    monotonic clock, and as the processor time of the process. A program that measures how
    long the rest takes needs it, because the crawl looks once per tick.
    """

    noticed: ClassVar[tuple[float, float] | None] = None

    def __init__(self, job: Job) -> None:
        self.tick_s = min(TICK_S, job.timeout_s / 4)
        self._deadline = monotonic() + job.deadline_s if job.deadline_s else float("inf")
        self._signalled = False
        self._before: dict[int, Any] = {}

    def reason(self, now: float) -> str | None:
        """``"interrupted"``, ``"deadline"``, or None to go on."""
        if self._signalled:
            Stop.noticed = Stop.noticed or (now, process_time())
            return "interrupted"
        return "deadline" if now >= self._deadline else None

    def __enter__(self) -> Stop:
        Stop.noticed = None
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                if before in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = before
                    signal.signal(number, self._catch)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self._signalled = True
        for caught in self._before:
            signal.signal(caught, signal.SIG_DFL)
