"""When an answer leaves: delays, and the barrier that holds answers.

A connection hands each answer that may have to wait to :meth:`Behaviour.submit`,
and the behaviour calls :meth:`Answer.leave` when it is time. While
:attr:`Behaviour.plain` is true every answer leaves at once and connections do
not ask, so none of this slows the fast path.

Times are seconds on a monotonic clock. Answers due in the same millisecond
share one timer of the event loop, because a timer costs more than a request.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Protocol

from server.delays import Delay
from server.sites.site import Resource


class Queue(Protocol):
    """The answers of one connection."""

    def flush(self) -> None:
        """Send the answers that are ready, in the order of their requests."""


class Answer:
    """An answer that waits in the queue of its connection.

    It may leave at ``due`` unless something holds it; ``ready`` means that it
    may leave now. The answers of one connection leave in the order of their
    requests, so a ready answer can still wait for the one before it. An answer
    to a HEAD request is ``head_only``; after the ``last`` one the connection closes.
    """

    __slots__ = ("connection", "due", "head_only", "last", "ready", "resource")

    def __init__(self, connection: Queue, resource: Resource, head_only: bool, last: bool) -> None:
        self.connection = connection
        self.resource = resource
        self.head_only = head_only
        self.last = last
        self.due = 0.0
        self.ready = False

    def leave(self) -> None:
        """Send this answer now, or as soon as the ones before it have left."""
        self.ready = True
        self.connection.flush()


class Behaviour:
    """Decides when each answer leaves.

    While it is ``armed``, answers are held. ``changed`` is called whenever :attr:`plain` may have
    changed.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        in_flight: Callable[[], int],
        delay: Delay,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._loop = loop
        self._clock = clock  # not the loop's, which stands still while callbacks run
        self._due: dict[int, list[Answer]] = {}  # by millisecond
        self._in_flight = in_flight
        self._changed = changed
        self._delay = delay
        self.armed = False
        self._release_at = 0
        self._held: dict[Answer, None] = {}

    @property
    def plain(self) -> bool:
        """Whether every answer leaves at once."""
        return self._delay.kind == "none" and not self.armed

    @property
    def delay(self) -> Delay:
        """The delay of all requests from now on."""
        return self._delay

    @delay.setter
    def delay(self, delay: Delay) -> None:
        self._delay = delay
        self._changed()

    @property
    def held(self) -> int:
        """The number of answers held."""
        return len(self._held)

    def hold(self, count: int) -> None:
        """Hold answers until ``count`` are in flight at once, then release them.

        With 0 or less, hold them until :meth:`release`. Answers that are held
        already stay, and count. After the release answers leave as usual.
        """
        self.armed = True
        self._release_at = count
        self._changed()
        self._release_if_complete()

    def release(self, per_s: float = math.inf) -> int:
        """Release the held answers, ``per_s`` each second, and return their number."""
        held = list(self._held)
        self._held.clear()
        self.armed = False
        self._changed()
        now = self._clock()
        for number, answer in enumerate(held):
            answer.due = max(answer.due, now + number / per_s)
            self._schedule(answer, now)
        return len(held)

    def submit(self, answer: Answer, target: bytes) -> None:
        """Decide when an answer leaves; its connection has just queued it."""
        now = self._clock()
        answer.due = now + self._delay.seconds(target)
        if self.armed:
            self._held[answer] = None
            self._release_if_complete()
        else:
            self._schedule(answer, now)

    def forget(self, answer: Answer) -> None:
        """Do not hold an answer whose connection is gone."""
        self._held.pop(answer, None)

    def _release_if_complete(self) -> None:
        if 0 < self._release_at <= self._in_flight():
            self.release()

    def _schedule(self, answer: Answer, now: float) -> None:
        due = answer.due
        if due <= now:
            answer.leave()
            return
        tick = math.ceil(due * 1000 - 0.001)  # up to a microsecond is rounding
        waiting = self._due.get(tick)
        if waiting is None:
            self._due[tick] = [answer]
            # uvloop rounds to the nearest millisecond, and no answer may leave early.
            left = math.ceil(tick - now * 1000 - 0.001)
            self._loop.call_later(left / 1000, self._leave, tick)
        else:
            waiting.append(answer)

    def _leave(self, tick: int) -> None:
        for answer in self._due.pop(tick):
            answer.leave()
