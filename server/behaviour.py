"""When an answer leaves: delays, the barrier that holds answers, one stall.

The protocol hands every request that is not to be answered at once to
:meth:`Behaviour.submit` as an :class:`Answer`, and the behaviour calls
:meth:`Answer.leave` when its time has come. While :attr:`Behaviour.plain` is
true there is nothing to decide and the protocol does not ask, so all this
costs the fast path nothing. Faults belong here too: a kind of answer whose
``leave`` does something else than to send itself.

Times are seconds on a monotonic clock. Answers due in the same millisecond
leave together, on one timer of the event loop: a timer each costs more than the
request does.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from server.protocol import Connection
    from server.site import Resource

_NORMAL = NormalDist()
_SIGMA = 0.5  # of the logarithm; p99 is then 3.2 times the median


class DelayError(ValueError):
    """The delay spec cannot be used; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Delay:
    """How long an answer waits: a pure function of the seed and the target.

    ``kind`` is none, fixed, exponential or lognormal; ``scale_s`` the fixed
    time, the mean or the median; ``sigma`` the standard deviation of the
    logarithm. Kept to within about 2 ms by a server with processor to spare.
    """

    kind: str = "none"
    scale_s: float = 0.0
    sigma: float = _SIGMA
    seed: int = 1

    def __str__(self) -> str:
        if self.kind == "none":
            return "none"
        tail = f":{self.sigma:g}" if self.kind == "lognormal" else ""
        return f"{self.kind}:{self.scale_s * 1000:g}{tail}"

    def seconds(self, target: bytes) -> float:
        """The delay of one target."""
        if self.kind == "none":
            return 0.0
        if self.kind == "fixed":
            return self.scale_s
        chance = uniform(self.seed, target)
        if self.kind == "exponential":
            return -self.scale_s * math.log(chance)
        return self.scale_s * math.exp(self.sigma * _NORMAL.inv_cdf(chance))


def uniform(seed: int, target: bytes) -> float:
    """A number above 0 and below 1 that depends on seed and target only."""
    mark = hashlib.blake2b(target, digest_size=8, salt=(seed & (2**64 - 1)).to_bytes(8, "big"))
    return ((int.from_bytes(mark.digest(), "big") >> 12) + 0.5) / 2**52


def parse_delay(spec: str, seed: int) -> Delay:
    """``none``, ``fixed:MS``, ``exponential:MEAN_MS``, ``lognormal:MEDIAN_MS[:SIGMA]``.

    Raises :class:`DelayError` with what to change.
    """
    kind, *texts = spec.split(":")
    most = {"none": 0, "fixed": 1, "exponential": 1, "lognormal": 2}
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        numbers = []
    if (
        kind not in most
        or len(numbers) != len(texts)
        or not min(most[kind], 1) <= len(numbers) <= most[kind]
    ):
        raise DelayError(
            f"{spec}: not a delay; write none, fixed:MS, exponential:MEAN_MS or "
            "lognormal:MEDIAN_MS[:SIGMA]"
        )
    if not all(0 <= number <= 3_600_000 for number in numbers):
        raise DelayError(f"{spec}: a delay is from 0 ms to an hour (3600000 ms)")
    if len(numbers) == 2 and numbers[1] > 5:
        raise DelayError(f"{spec}: sigma must be at most 5 (0.5 is usual)")
    if not numbers:
        return Delay(seed=seed)
    sigma = numbers[1] if len(numbers) == 2 else _SIGMA
    return Delay(kind, numbers[0] / 1000, sigma, seed)


class Answer:
    """An answer that waits in its connection's queue.

    ``due`` is when it may leave if nothing holds it; ``ready`` that it may
    leave now. Answers of one connection leave in the order of their requests,
    so a ready one can still wait for the one before it. ``head_only`` answers a
    HEAD request; after the ``last`` one the connection closes.
    """

    __slots__ = ("connection", "due", "head_only", "last", "ready", "resource")

    def __init__(
        self, connection: Connection, resource: Resource, head_only: bool, last: bool
    ) -> None:
        self.connection = connection
        self.resource = resource
        self.head_only = head_only
        self.last = last
        self.due = 0.0
        self.ready = False

    def leave(self) -> None:
        """Its time has come: send it, unless an earlier one is still waiting."""
        self.ready = True
        self.connection.flush()


@dataclass(slots=True)
class Stall:
    """All answers due in a window leave at its end.

    The window opens ``at_s`` after the first request that follows and is
    ``for_s`` long; ``opens`` is None until that request.
    """

    at_s: float
    for_s: float
    opens: float | None = None


class Behaviour:
    """Decides when each answer leaves.

    ``changed`` is called whenever :attr:`plain` may have changed.
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
        self._clock = clock  # not the loop's: that stands still while callbacks run
        self._due: dict[int, list[Answer]] = {}  # by millisecond
        self._in_flight = in_flight
        self._changed = changed
        self._delay = delay
        self._armed = False
        self._release_at = 0
        self._held: dict[Answer, None] = {}
        self._stall: Stall | None = None

    @property
    def plain(self) -> bool:
        """Every answer leaves at once."""
        return self._delay.kind == "none" and not self._armed and self._stall is None

    @property
    def delay(self) -> Delay:
        """The delay of answers that come from now on."""
        return self._delay

    @delay.setter
    def delay(self, delay: Delay) -> None:
        self._delay = delay
        self._changed()

    @property
    def armed(self) -> bool:
        """Answers are held."""
        return self._armed

    @property
    def held(self) -> int:
        """How many answers are held."""
        return len(self._held)

    def hold(self, count: int) -> None:
        """Hold answers until ``count`` are in flight at once, then release them.

        0 or less holds until :meth:`release`. What is held already stays, and
        counts. Once released, answers leave again as usual.
        """
        self._armed = True
        self._release_at = count
        self._changed()
        self._release_if_complete()

    def release(self, per_s: float = math.inf) -> int:
        """Let go of what is held, ``per_s`` answers a second; returns how many that were."""
        held = list(self._held)
        self._held.clear()
        self._armed = False
        self._changed()
        now = self._clock()
        for number, answer in enumerate(held):
            answer.due = max(answer.due, now + number / per_s)
            self._schedule(answer, now)
        return len(held)

    def stall(self, at_s: float, for_s: float) -> None:
        """Arrange one stall (see :class:`Stall`); ``for_s`` of 0 calls it off."""
        self._stall = Stall(at_s, for_s) if for_s > 0 else None
        self._changed()

    def submit(self, answer: Answer, target: bytes) -> None:
        """A request came in; its connection has queued the answer."""
        now = self._clock()
        stall = self._stall
        if stall is not None and stall.opens is None:
            stall.opens = now + stall.at_s
        answer.due = now + self._delay.seconds(target)
        if self._armed:
            self._held[answer] = None
            self._release_if_complete()
        else:
            self._schedule(answer, now)

    def forget(self, answer: Answer) -> None:
        """The connection is gone and will not take its answer."""
        self._held.pop(answer, None)

    def _release_if_complete(self) -> None:
        if 0 < self._release_at <= self._in_flight():
            self.release()

    def _schedule(self, answer: Answer, now: float) -> None:
        due = max(answer.due, now)
        stall = self._stall
        if stall is not None and stall.opens is not None:
            closes = stall.opens + stall.for_s
            if stall.opens <= due < closes:
                due = closes
            elif now >= closes:
                self._stall = None
                self._changed()
        if due <= now:
            answer.leave()
            return
        tick = math.ceil(due * 1000 - 0.001)  # a microsecond is rounding
        waiting = self._due.get(tick)
        if waiting is None:
            self._due[tick] = [answer]
            # uvloop rounds to the nearest millisecond; never leave early by that.
            left = math.ceil(tick - now * 1000 - 0.001)
            self._loop.call_later(left / 1000, self._leave, tick)
        else:
            waiting.append(answer)

    def _leave(self, tick: int) -> None:
        for answer in self._due.pop(tick):
            answer.leave()
