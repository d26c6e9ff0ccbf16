"""An event loop's clock and timers, moved by hand."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from functools import partial
from typing import cast


class Timer:
    """What ``call_later`` gives."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class Clock:
    """As much of an event loop as the server's parts need to wait."""

    def __init__(self) -> None:
        self.now = 100.0
        self._number = 0
        self._timers: list[tuple[float, int, Timer]] = []

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return cast(asyncio.AbstractEventLoop, self)

    @property
    def waiting(self) -> int:
        """How many timers are still to fire."""
        return sum(timer.callback is not None for _, _, timer in self._timers)

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[..., None], *arguments: object) -> Timer:
        self._number += 1
        timer = Timer(partial(callback, *arguments))
        heapq.heappush(self._timers, (self.now + delay, self._number, timer))
        return timer

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while self._timers and self._timers[0][0] <= end + 1e-9:
            self.now, _, timer = heapq.heappop(self._timers)
            if timer.callback is not None:
                timer.callback()
        self.now = end
