"""What an event loop makes of a schedule, followed step by step.

:mod:`bench.analysis.queue` serves a page in one piece, as soon as the processor is free. A loop
does two things otherwise, and both make pages wait longer:

- **It waits for a time in steps.** ``epoll_wait`` takes whole milliseconds, so Python's selectors
  round the time until the next request is due up (:meth:`selectors.EpollSelector.select`; asyncio
  uses the same). A request that finds the loop asleep is sent half a millisecond late on average.
  libuv's clock counts whole milliseconds, and uvloop rounds a delay to the nearest. The kernel
  adds the slack of a timer, 50 µs for a usual thread (prctl(2), PR_SET_TIMERSLACK).
- **A page takes several steps.** The loop sends its request, and comes back for the answer; before
  the first request of a slot it opens a connection. Work on another page may come before each.

A slot has one request in flight, so a request may also have to wait for a slot.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from bench.schema import TrialRecord

SLACK_S: Final = 50e-6
"""How much later than asked Linux wakes a thread that waits for a time, if it may."""

ALMOST: Final = 1e-6
"""Of a step of a clock: closer than this is the same time, written as a float."""

STEPS: Final = 2
"""Of a page on a kept connection: send the request, receive the answer."""


@dataclass(frozen=True, slots=True)
class Timers:
    """How a loop waits for a time."""

    step_s: float = 0.0  # waits are rounded up to whole steps
    slack_s: float = 0.0
    counted: bool = False  # by a clock that counts steps, as libuv's does

    def rings(self, due: float, now: float) -> float:
        """When a timer that is set now for ``due`` is over, by the clock of the loop."""
        if not self.counted or (steps := round((due - now) / self.step_s)) <= 0:
            return due
        return (math.floor(now / self.step_s + ALMOST) + steps) * self.step_s

    def wakes(self, rings: float, due: float, now: float) -> float:
        """When a loop that has nothing else to do is awake for a timer."""
        if rings <= now or (self.counted and rings == due):
            return max(rings, now)  # a delay of no steps is no sleep: uvloop asks again and again
        if not self.step_s:
            return rings + self.slack_s
        return now + math.ceil((rings - now) / self.step_s - ALMOST) * self.step_s + self.slack_s


EXACT: Final = Timers()
SELECT: Final = Timers(slack_s=SLACK_S)
EPOLL: Final = Timers(0.001, SLACK_S)
LIBUV: Final = Timers(0.001, SLACK_S, counted=True)

SELECTORS: Final = {"EpollSelector": EPOLL, "PollSelector": EPOLL, "SelectSelector": SELECT}


def timers_of(trial: TrialRecord) -> Timers | None:
    """How the loop of a trial waits for a time on Linux, by its record; None if not known."""
    loop = str(trial.mechanism.get("loop", ""))
    if loop.startswith("uvloop."):
        return LIBUV
    if loop.startswith("asyncio.unix_events."):
        return EPOLL
    return SELECTORS.get(str(trial.mechanism.get("selector")))


@dataclass(frozen=True, slots=True)
class Load:
    """What the pages of a schedule need; times in seconds."""

    page_s: float  # of the processor, on average, without work
    work_s: float  # on top, of a page that needs it
    fastest_s: float  # an exchange that waits for nothing, from its first step to its last
    slots: int

    def steps_s(self, count: int) -> float:
        """The processor time of a step: pages of a schedule have so much on average."""
        opened = min(self.slots, count)
        return self.page_s * count / (STEPS * count + opened) if count else 0.0


def responses(
    due: Sequence[float],
    worked: Collection[int],
    load: Load,
    timers: Timers,
    begins_s: float = 0.0,
) -> list[float]:
    """From each due time to the last byte, as a loop with these timers would have it.

    ``worked`` are the places of the pages that need work, which begins after the last byte.
    ``begins_s`` is when the schedule begins, by the clock of the loop.
    """
    crawl = _Crawl([begins_s + at for at in due], worked, load, timers, begins_s)
    while crawl.left:
        crawl.turn()
    return crawl.found


class _Crawl:
    """A loop that fetches a schedule; :meth:`turn` is what it does when it wakes."""

    def __init__(
        self,
        due: Sequence[float],
        worked: Collection[int],
        load: Load,
        timers: Timers,
        begins_s: float,
    ) -> None:
        self.due, self.worked, self.load, self.timers = due, worked, load, timers
        self.step_s = load.steps_s(len(due))
        self.way_s = max(load.fastest_s - STEPS * self.step_s, 0.0)
        self.found = [0.0] * len(due)
        self.left = len(due)
        self.opening = min(max(load.slots, 1), len(due))
        self.now = begins_s
        # Timers: when they ring, when the request is due, its place.
        self.timed: list[tuple[float, float, int]] = []
        # Sockets: when they are ready, in which order they became so, place, whether to send.
        self.ready: list[tuple[float, int, int, bool]] = []
        self.events = 0
        self.taken = 0
        for _ in range(self.opening):
            self.take()

    def take(self) -> None:
        """A free slot takes the next request, if there is one, and waits until it is due."""
        if self.taken < len(self.due):
            due = self.due[self.taken]
            heappush(self.timed, (self.timers.rings(due, self.now), due, self.taken))
            self.taken += 1

    def turn(self) -> None:
        """Sleep until something is ready, then handle sockets, then timers, as loops do."""
        wakes = []
        if self.timed:
            rings, due, _ = self.timed[0]
            wakes.append(self.timers.wakes(rings, due, self.now))
        if self.ready:
            wakes.append(self.ready[0][0])
        self.now = max(self.now, min(wakes))
        for place, sends in self.awake():
            if sends:
                self.send(place)
            else:
                self.receive(place)
        for place in self.rung():
            if place < self.opening:  # the first request of a slot opens its connection
                self.now += self.step_s
                self.await_socket(self.now, place, sends=True)
            else:
                self.send(place)

    def awake(self) -> list[tuple[int, bool]]:
        """The sockets that are ready now."""
        found = []
        while self.ready and self.ready[0][0] <= self.now:
            found.append(heappop(self.ready)[2:])
        return found

    def rung(self) -> list[int]:
        """The requests that are due now; a timer that rang early is set again."""
        found, early = [], []
        while self.timed and self.timed[0][0] <= self.now:
            _, due, place = heappop(self.timed)
            if due <= self.now:
                found.append(place)
            else:
                early.append((self.timers.rings(due, self.now), due, place))
        for timer in early:
            heappush(self.timed, timer)
        return found

    def send(self, place: int) -> None:
        """Send a request; its answer comes back on its own."""
        self.now += self.step_s
        self.await_socket(self.now + self.way_s, place, sends=False)

    def await_socket(self, at: float, place: int, *, sends: bool) -> None:
        """A socket will be ready."""
        self.events += 1
        heappush(self.ready, (at, self.events, place, sends))

    def receive(self, place: int) -> None:
        """Receive an answer, work on it if that is needed, and take the next request."""
        self.now += self.step_s
        self.found[place] = self.now - self.due[place]
        if place in self.worked:
            self.now += self.load.work_s
        self.left -= 1
        self.take()
