"""A server that does not sleep: its event loop asks for work again and again.

On loopback the client pays for the server's sleep: its ``send`` wakes the
server's processor, which a network card does for a remote server. In a virtual
machine a wake-up is expensive and its price varies. A polling server is awake
already, so the client's ``send`` costs what it costs over a network.

A callback that schedules itself with ``call_soon`` is enough. While one is
scheduled, the loop asks the kernel for events without waiting. Each round of
the loop, with one call of that callback, is a *turn*.

Polling takes a whole processor, so it is off until ``POST /poll`` asks for it, and it
pauses after :data:`PAUSE_AFTER_S` without a connection. The next connection
resumes it.

**Real work.** A polling process is always busy, so its processor time says
nothing about its load. :attr:`Poller.polled_s` is the time of the turns that
found nothing to do; the rest of the processor time is work. A turn counts as
empty if it took less than :data:`EMPTY` times the median of :data:`SAMPLE` turns
without any connection. Even the smallest answer takes longer, because it needs a
receive and a send. An empty turn is so short that the process cannot have been
stopped or preempted in it, so a wall clock is good enough, and it is cheaper
than the processor clock.

All errors make the server look busier than it is. Until the median is known, all
processor time counts as work. So does an empty turn with an interrupt in it: an
idle server appears to work for about 2 % of the time. The share of empty turns,
and the error with it, shrinks as the load grows.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sized
from statistics import median

PAUSE_AFTER_S = 1.0
"""Seconds of polling without a connection after which it pauses."""
EMPTY = 3.0
SAMPLE = 1000
MEASURE_S = 0.5
"""How long :meth:`Poller.start` waits for the sample, which takes milliseconds."""


class Poller:
    """Keeps an event loop awake while there are ``connections``.

    ``on`` is what was asked for and ``polling`` what happens now: polling that
    is on pauses without connections.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connections: Sized,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._loop = loop
        self._connections = connections
        self._clock = clock
        self._sample: list[float] = []
        self._measured = asyncio.Event()
        self._empty_s = 0.0  # a turn that takes longer found something to do
        self._last = 0.0  # when the last turn began
        self._next: asyncio.Handle | None = None
        self._alone_since = 0.0
        self.on = False
        self.polling = False
        self.polled_s = 0.0

    async def start(self) -> None:
        """Poll from now on; returns when an empty turn is measured, if it can be."""
        self.on = True
        if not self._connections:
            self._sample.clear()
            self._measured.clear()
        self.wake()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._measured.wait(), MEASURE_S)

    def stop(self) -> None:
        """Sleep from now on."""
        self.on = self.polling = False
        if self._next is not None:
            self._next.cancel()

    def wake(self) -> None:
        """Begin or resume polling, if it is on: there may be a new connection."""
        if self.on and not self.polling:
            self.polling = True
            self._last = self._alone_since = self._clock()
            self._next = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        now = self._clock()
        spent = now - self._last
        self._last = now
        if spent < self._empty_s:
            self.polled_s += spent
        if self._connections:
            self._alone_since = now
        elif len(self._sample) < SAMPLE:
            self._sample.append(spent)
            if len(self._sample) == SAMPLE:
                self._empty_s = EMPTY * median(self._sample)
                self._measured.set()
        elif now - self._alone_since > PAUSE_AFTER_S:
            self.polling = False
            return
        self._next = self._loop.call_soon(self._turn)
