"""Interleaved turns: many crawls alive at once, and only one of them running at a time.

On a shared machine the disturbance is short and everywhere: one backend against
itself scatters by about 12 % in turns of any length from 10 ms to 1 s. Many short
turns average that away; few long trials do not. So all labels of a block are alive
together, each with a server of its own, and take turns of about 10 ms on the
client's processor. Everything else is stopped meanwhile, servers included.

Stopping from outside (``SIGSTOP`` to the process group) needs no line in any
backend, holds for threads and child processes, and keeps the crawl one crawl:
connections stay open, and digest and ledger are checked at its end as in any other
trial. Progress is read from a counter in shared memory that the recorder keeps,
processor time from the process's CPU-time clock, so nothing runs in the crawl's
process that would not run in a whole trial.

First each label runs until all its slots are busy, turn after turn; that does not
count, and the others keep their pages meanwhile. Then come the rounds.

A turn counts only after its label has run for :data:`bench.plan.durations.WARM_S`: the processor's
caches hold the programs of those that ran before it, and what filling them costs depends on who
they were and on other guests of the host.

Stopping is not free. Every thread has to be woken to stop and again to go on: about 6 and
8 microseconds each, so 14 ms for a thousand. Of a label with many threads a turn therefore
counts from when they have all resumed until just before they are stopped. With a thousand
slots, and with several threads, it counts from when as many exchanges have ended as there are
slots. Before that, each thread finds an answer that came while it was stopped; and all of them ask
for the interpreter's lock at once, which can stop the crawl for as long as ten turns.

A round is a random order of the labels followed by its mirror image, so drift that is linear in
time cancels within the round. Labels with several threads take one long turn in the middle of it:
the stops of short ones would decide which thread has the interpreter's lock. Interleaving at
random is RMIT (A. Abedi and T. Brecht, "Conducting Repeatable Experiments in Highly Variable
Cloud Computing Environments", ICPE 2017).
"""

from __future__ import annotations

import gc
import os
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from bench.machine import host
from bench.plan.durations import LONG_TURN_SLOTS, TURN_S, WARM_S
from bench.sides.group import GroupEndedError
from bench.sides.process import interruptible
from bench.sides.sides import Sides

FILLING = -1
"""The round of the turns that a label takes until all its slots are busy."""


RESUME_S = 10e-6
"""A thread needs less than this to go on after a stop (8 microseconds on the reference machine)."""

SETTLE_S = 0.25
"""The longest that a turn waits for a label with many threads and slots to work as it does."""

LOOK_S = 0.002
"""How often it looks meanwhile."""

ENDLESS = 10**12
"""Exchanges of a load, which stops when it is told to."""


class Taker(Sides, ABC):
    """One label that takes turns."""

    total = ENDLESS  # exchanges of the crawl
    processors: Sequence[int] = ()  # of what is tested, whose stolen time is read
    turn_s = TURN_S
    once = False  # takes one turn in each round, in the middle of it
    begun = False
    stopped_at = 0.0  # on the monotonic clock
    lost: str | None = None

    def go(self) -> None:
        """Start the crawl, in the first turn."""
        self.worker.go()

    @abstractmethod
    def count(self) -> int:
        """The exchanges completed so far."""

    def look(self) -> None:
        """Look at the other end before it stops, if it has the count.

        May raise :class:`GroupEndedError`.
        """

    @property
    def filling(self) -> bool:
        """Whether its slots are not all busy yet, and it is still there."""
        return self.lost is None and self.count() < min(2 * self.slots, self.total)

    @property
    def settles(self) -> bool:
        """Whether a turn counts from when the crawl works as it does without stops."""
        return self.once or self.slots >= LONG_TURN_SLOTS

    @property
    def busy(self) -> bool:
        """Whether every slot has work: not while they fill up, nor while the work runs out."""
        return 2 * self.slots <= self.count() <= self.total - 2 * self.slots


@dataclass(frozen=True, slots=True)
class TurnTaken:
    taker: int
    round: int
    began: float  # on the monotonic clock
    wall_s: float
    cpu_s: float
    server_cpu_s: float
    exchanges: int
    steal_s: float | None
    counted: bool
    wait_s: float | None = None
    # Of resuming and stopping many threads, and of what they did meanwhile; in none of the others.
    aside_s: float = 0.0
    started: float = 0.0  # the share of its exchanges that the crawl had completed at its start
    reached: float = 0.0  # and at its end


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep the harness prompt and quiet: no collection in the middle of a turn.

    Where it may, the harness also asks for a better place in the queue, so that a
    turn ends on time although the server is using the same processor.
    """
    collecting = gc.isenabled()
    gc.disable()
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, before - 10)
    try:
        yield
    finally:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, before)
        if collecting:
            gc.enable()


def take_turns(
    takers: Sequence[Taker],
    rng: random.Random,
    *,
    deadline: float = float("inf"),
    rounds: int = 0,
) -> list[TurnTaken]:
    """Let the takers take turns until the first of them runs out of work; in the order taken.

    Before the first round each of them runs until its slots are busy (round
    :data:`FILLING`), so that no taker loses pages to a slower one's start.

    Every taker must be stopped when this is called, and is stopped when it
    returns. A taker whose process ends is marked ``lost``, and the others go on
    without it. Stops early at ``deadline`` on the monotonic clock, or after so many ``rounds``,
    if there is a number: work that has no end cannot run out. An interrupt
    (:class:`KeyboardInterrupt`) passes through between two turns.
    """
    result: list[TurnTaken] = []
    number = 0
    with undisturbed():
        for i in rng.sample(range(len(takers)), len(takers)):
            takers[i].tested.look_for_children()
            while takers[i].filling and time.monotonic() < deadline:
                result.append(take_turn(takers[i], i, FILLING))
        while True:
            here = [i for i, taker in enumerate(takers) if taker.lost is None]
            if not here or time.monotonic() > deadline:
                break
            for i in here:
                takers[i].tested.look_for_children()
            rng.shuffle(here)
            twice = [i for i in here if not takers[i].once]
            middle = [i for i in here if takers[i].once]
            busy_before = all(takers[i].busy for i in here)
            taken = []
            for i in [*twice, *middle, *reversed(twice)]:
                if takers[i].lost is None:
                    taken.append(take_turn(takers[i], i, number))
            whole = all(takers[i].lost is None for i in here)
            counted = whole and busy_before and all(takers[i].busy for i in here)
            result += [replace(turn, counted=counted) for turn in taken]
            number += 1
            if number == rounds or any(
                t.count() > t.total - 2 * t.slots for t in takers if t.lost is None
            ):
                break
    return result


def take_turn(taker: Taker, index: int, number: int) -> TurnTaken:
    """One turn: let the other end and what is tested run until the caches are theirs, and count.

    A worker with few threads is stopped in between, and read before it resumes and after it has
    stopped, when its clock is exact. The clock of a running process is exact to its last switch of
    threads: up to 4 ms ago with one thread, microseconds ago with many. So a worker with many is
    read while it runs, after all its threads have resumed and before they stop.
    """
    worker, filling = taker.tested, number == FILLING
    many = worker.many and not filling
    if not (filling or many):
        with running(taker):
            time.sleep(WARM_S)
    stolen, waited = host.steal(taker.processors), worker.wait_s()
    before = first = _reading(taker)
    with running(taker):
        if many:
            time.sleep(max(RESUME_S * worker.threads, WARM_S))
            if taker.settles:
                _settle(taker, before.exchanges)
            first = _reading(taker)
        time.sleep(taker.turn_s)
        last = _reading(taker) if many else None
    after = replace(_reading(taker), at=taker.stopped_at)
    last = last or after
    stolen_after, waited_after = host.steal(taker.processors), worker.wait_s()
    spent = last.cpu_s - first.cpu_s
    return TurnTaken(
        taker=index,
        round=number,
        began=first.at,
        wall_s=last.at - first.at,
        cpu_s=spent,
        server_cpu_s=last.server_cpu_s - first.server_cpu_s,
        exchanges=last.exchanges - first.exchanges,
        steal_s=None if stolen is None or stolen_after is None else stolen_after - stolen,
        counted=False,
        wait_s=None if waited is None or waited_after is None else waited_after - waited,
        aside_s=after.cpu_s - before.cpu_s - spent if many else 0.0,
        started=before.exchanges / taker.total,
        reached=after.exchanges / taker.total,
    )


@contextmanager
def running(taker: Taker) -> Iterator[None]:
    """Let it run meanwhile. The other end resumes first and stops last, so that it is there.

    An interrupt passes through, and the taker is stopped first.
    """
    try:
        taker.other.resume()
        taker.tested.resume()
        if not taker.begun:
            taker.begun = True
            taker.go()
        with interruptible():
            yield
    finally:
        try:
            taker.tested.stop()
        except GroupEndedError:
            taker.lost = "the worker ended in its turn"
        taker.stopped_at = time.monotonic()
        try:
            taker.look()
            taker.other.stop()
        except GroupEndedError:
            taker.lost = taker.lost or "the process at the other end ended"


def _settle(taker: Taker, before: int) -> None:
    until = time.monotonic() + SETTLE_S
    while taker.count() < before + taker.slots and time.monotonic() < until:
        time.sleep(LOOK_S)


@dataclass(frozen=True, slots=True)
class _TurnReading:
    """What a taker has done so far; ``at`` is on the monotonic clock."""

    exchanges: int
    cpu_s: float
    server_cpu_s: float
    at: float


def _reading(taker: Taker) -> _TurnReading:
    """Time, work and its count as close together as can be: the worker may be running."""
    cpu_s, exchanges, at = taker.tested.cpu_s(), taker.count(), time.monotonic()
    return _TurnReading(exchanges, cpu_s, taker.other.cpu_s(), at)


# --- the same part of each crawl ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a crawl in which turns count, as shares of its exchanges."""

    since: float
    until: float

    def has(self, turn: TurnTaken) -> bool:
        return self.since <= turn.started and turn.reached <= self.until


def level(
    turns: list[TurnTaken], among: Collection[int], dear: float
) -> tuple[list[TurnTaken], Window | None]:
    """Count the turns of these takers only in the same part of each of their crawls.

    The part begins behind ``dear``, the share of pages that cost more, and where all crawls count;
    it ends at the place that each of them reached. Returns it too. It is None, and nothing changes,
    if no turn counts, or if nothing would be left of one of the crawls.

    The first pages of a tree have links to new ones and cost up to twice as much, most of which
    every backend pays alike. So the ratio of two backends depends on how many of them count.
    Slots fill at different shares, since a site is as small as its backend is slow. And if a
    weight is wrong (:mod:`bench.plan.durations`), one crawl comes further than another.
    """
    crawls = [[turn for turn in turns if turn.taker == place and turn.counted] for place in among]
    counted = [crawl for crawl in crawls if crawl]
    if not counted:
        return turns, None
    window = Window(
        since=max(dear, *(crawl[0].started for crawl in counted)),
        until=min(crawl[-1].reached for crawl in counted),
    )
    if not all(any(map(window.has, crawl)) for crawl in counted):
        return turns, None
    return [
        replace(turn, counted=turn.counted and (turn.taker not in among or window.has(turn)))
        for turn in turns
    ], window
