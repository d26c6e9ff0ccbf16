"""What theory says about one processor and a schedule of pages: a queue, and an event loop.

A page that is due while a loop works on another one waits, whatever it needs itself. That is a
queue with Poisson arrivals, service times of any kind and one server, M/G/1. The mean wait is
known (Pollaczek and Khinchine)::

    wait = rate * E[S²] / (2 * (1 - rate * E[S]))

where S is what a page needs of the processor. The formula is about the long run. A trial has one
schedule and few pages with work, so :func:`waits` follows the same queue along that very schedule
(Lindley): what every page would have waited, with nothing left to chance.

The queue serves a page in one piece, as soon as the processor is free. A loop does two things
otherwise, and both make pages wait longer (:func:`responses` follows it step by step):

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
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from bench import arrivals
from bench.analysis.stats import number_param
from bench.schema import TrialRecord, Work


def mean_wait_s(rate: float, services: Sequence[tuple[float, float]]) -> float | None:
    """The mean wait in the long run; None if the queue would grow for ever.

    ``services`` has pairs of a share of the pages and the seconds that each of these needs.
    """
    mean = sum(share * seconds for share, seconds in services)
    square = sum(share * seconds**2 for share, seconds in services)
    busy = rate * mean
    return rate * square / (2 * (1 - busy)) if busy < 1 else None


def waits(
    due: Sequence[float], worked: Collection[int], page_s: float, work_s: float
) -> list[float]:
    """What each request waits in a queue that is served in its order, in seconds.

    ``worked`` are the places of the pages that need ``work_s`` besides ``page_s``.
    """
    free, found = 0.0, []
    for place, at in enumerate(due):
        begins = max(at, free)
        found.append(begins - at)
        free = begins + page_s + (work_s if place in worked else 0.0)
    return found


# --- a loop, step by step ------------------------------------------------------------

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
        self.now += self.step_s
        self.await_socket(self.now + self.way_s, place, sends=False)

    def await_socket(self, at: float, place: int, *, sends: bool) -> None:
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


# --- what both make of a trial --------------------------------------------------------

PHASES: Final = 4
"""Where in a step of its clock a schedule began is not recorded, so several are followed."""


@dataclass(frozen=True, slots=True)
class Times:
    """Response times of pages without work, calculated, in milliseconds."""

    mean_ms: float
    p50_ms: float
    tail_ms: float


@dataclass(frozen=True, slots=True)
class Predicted:
    """What theory makes of the same schedules, with what pages and work took of the processor."""

    queue: Times  # one server that is never late, each page in one piece
    loop: Times | None  # as a loop with such timers; None: it is not known how it waits for a time
    long_run_ms: float | None  # Pollaczek and Khinchine, and the exchange; None: it grows

    @property
    def best(self) -> Times:
        return self.loop or self.queue


def page_s(trial: TrialRecord, work: Work) -> float:
    """Processor seconds of a page without its work: all of the client's, less all work."""
    if trial.cpu is None or not trial.pages:
        return 0.0
    used = trial.cpu.client_user_s + trial.cpu.client_system_s - work.pages * work.cpu_ms / 1000
    return max(used, 0.0) / trial.pages


@dataclass(frozen=True, slots=True)
class Schedule:
    """When the requests of a trial were due, and which pages needed work."""

    due: Sequence[float]
    worked: Collection[int]

    def others(self, times: Sequence[float]) -> list[float]:
        """Of times in the order of the requests, those of pages without work."""
        return [time for place, time in enumerate(times) if place not in self.worked]


def schedule(trial: TrialRecord, work: Work) -> Schedule:
    """The schedule of a trial, drawn again from its seed."""
    count = int(number_param(trial, "urls") or work.expected * work.every)
    return Schedule(
        arrivals.poisson(rate_of(trial), work.seed, count),
        arrivals.chosen(count, work.every, work.seed),
    )


def followed(plan: Schedule, load: Load, timers: Timers) -> list[float]:
    """Response times of pages without work, as a loop with these timers would have them."""
    phases = PHASES if timers.counted else 1
    begins = [(number + 0.5) / phases * timers.step_s for number in range(phases)]
    return [
        time
        for begin in begins
        for time in plan.others(responses(plan.due, plan.worked, load, timers, begin))
    ]


def predicted(found: Sequence[tuple[TrialRecord, Work]], tail: float) -> Predicted:
    """The same schedules in a queue with one server, and on a loop.

    Work takes what it took by the clock: a loop waits for it whoever has the processor. What an
    exchange takes without a wait is the fastest one of the trial.
    """
    queued: list[float] = []
    looped: list[float] | None = []
    long_run: list[tuple[float | None, int]] = []
    for trial, work in found:
        own_s, work_s, rate = page_s(trial, work), work.wall_ms / 1000, rate_of(trial)
        plan, timers = schedule(trial, work), timers_of(trial)
        alone_s = work.others.min_ms / 1000 if work.others else own_s
        waited = waits(plan.due, plan.worked, own_s, work_s)
        queued += [wait + alone_s for wait in plan.others(waited)]
        share = 1 / work.every
        mean_s = mean_wait_s(rate, [(share, own_s + work_s), (1 - share, own_s)])
        long_run.append((None if mean_s is None else mean_s + alone_s, len(plan.due)))
        if timers is None or trial.service_time is None or looped is None:
            looped = None
            continue
        slots = int(number_param(trial, "slots") or len(plan.due))
        load = Load(own_s, work_s, trial.service_time.min_ms / 1000, slots)
        looped += followed(plan, load, timers)
    known = [(seconds, count) for seconds, count in long_run if seconds is not None]
    return Predicted(
        queue=_times(queued, tail),
        loop=_times(looped, tail) if looped else None,
        long_run_ms=1000 * mean(known) if len(known) == len(long_run) else None,
    )


def _times(seconds: Sequence[float], tail: float) -> Times:
    ordered = sorted(seconds)
    return Times(
        mean_ms=1000 * sum(ordered) / len(ordered),
        p50_ms=1000 * _at(ordered, 50),
        tail_ms=1000 * _at(ordered, tail),
    )


def rate_of(trial: TrialRecord) -> float:
    return number_param(trial, "rate") or 0.0


def _at(ordered: Sequence[float], percentile: float) -> float:
    """The value of that rank, as :meth:`bench.histograms.Histogram.at_ms` has it."""
    rank = max(1, int(percentile * len(ordered) / 100 + 0.5))
    return ordered[min(rank, len(ordered)) - 1]


def mean(weighted: Iterable[tuple[float, int]]) -> float:
    """Of values with their counts."""
    values = list(weighted)
    total = sum(count for _, count in values)
    return sum(value * count for value, count in values) / total if total else 0.0
