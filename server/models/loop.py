"""The event loop of callbacks and generators, and what generators wait for on it.

Both use the same loop, so they differ only in how a program keeps its place, not in how it asks
the kernel. It is here again because a server imports nothing from the crawlers.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from selectors import DefaultSelector
from time import monotonic
from typing import TypeVar

T = TypeVar("T")
Callback = Callable[[], object]
Coroutine = Generator["Future", None, T]


class Loop:
    """Calls functions when a socket is ready, at a time, or soon.

    ``selector`` holds the sockets; the ``data`` of each is the function to
    call when it is ready.
    """

    def __init__(self) -> None:
        self.selector = DefaultSelector()
        self._soon: deque[Callback] = deque()
        self._timers: list[tuple[float, int, Callback]] = []
        self._timer_number = 0
        self._stopped = False

    def call_soon(self, callback: Callback) -> None:
        """Call the function when control is back in the loop."""
        self._soon.append(callback)

    def call_at(self, when: float, callback: Callback) -> None:
        """Call the function at ``when``, seconds on the monotonic clock."""
        self._timer_number += 1
        heappush(self._timers, (when, self._timer_number, callback))

    def pause(self, sock: socket.socket, seconds: float) -> None:
        """Leave a socket of the selector alone for some time."""
        key = self.selector.unregister(sock)
        later = partial(self.selector.register, sock, key.events, key.data)
        self.call_at(monotonic() + seconds, later)

    def stop(self) -> None:
        """Return from :meth:`run` after this turn."""
        self._stopped = True

    def run(self) -> None:
        """Run until stopped; an error in a callback ends the loop and is raised."""
        select, soon, timers = self.selector.select, self._soon, self._timers
        while not self._stopped:
            timeout = None
            if soon:
                timeout = 0.0
            elif timers:
                timeout = max(timers[0][0] - monotonic(), 0.0)
            for key, _ in select(timeout):
                key.data()
            if timers and timers[0][0] <= (now := monotonic()):
                while timers and timers[0][0] <= now:
                    soon.append(heappop(timers)[2])
            # Only those here now: a callback that schedules itself again must not
            # keep the sockets waiting.
            for _ in range(len(soon)):
                soon.popleft()()

    def close(self) -> None:
        """Release the selector."""
        self.selector.close()


class Future:
    """Something that has not happened yet; ``yield from`` it to wait."""

    __slots__ = ("_callback", "_done", "_loop")

    def __init__(self, loop: Loop) -> None:
        self._done = False
        self._loop = loop
        self._callback: Callback | None = None

    def __iter__(self) -> Coroutine[None]:
        if not self._done:
            yield self

    def add_done_callback(self, callback: Callback) -> None:
        """Call the function soon after it has happened."""
        self._callback = callback

    def resolve(self) -> None:
        """It has happened."""
        self._done = True
        if self._callback is not None:
            self._loop.call_soon(self._callback)


class Task:
    """Runs a coroutine."""

    __slots__ = ("_coroutine",)

    def __init__(self, loop: Loop, coroutine: Coroutine[None]) -> None:
        self._coroutine = coroutine
        loop.call_soon(self._step)

    def _step(self) -> None:
        """Run the coroutine up to its next wait; an error ends the loop."""
        with suppress(StopIteration):
            next(self._coroutine).add_done_callback(self._step)
