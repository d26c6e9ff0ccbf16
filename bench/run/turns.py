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
import signal
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bench.machine import cpu, host
from bench.plan.durations import LONG_TURN_SLOTS, TURN_S
from bench.sides.process import interruptible

# --- a process group ---------------------------------------------------------------------


MOST_TASKS = 8
"""A group with more threads than this has many: see :func:`bench.run.turns.take_turn`.

It is not asked how long they waited, either: they wait for each other most of the time.
"""


class GroupEndedError(Exception):
    """A process ended while it was having its turn, or waiting for it."""


class TakerGroup:
    """A child of this process and everything in its process group, as one thing to stop.

    The child must lead a process group of its own (:func:`bench.sides.process.spawn`
    sees to that), and must be a child of the calling process.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.stopped = False
        self.threads = 1
        self._members = [pid]
        self._waits: list[str] | None = None

    @property
    def many(self) -> bool:
        """Whether it has so many threads that stopping them takes a part of a turn."""
        return self.threads > MOST_TASKS

    def stop(self) -> None:
        """Stop every process of the group; returns when the child itself has stopped.

        Raises :class:`GroupEndedError` when the child has ended instead.
        """
        with self._first_in_line() if self.many else nullcontext():
            self._stop()
        self.stopped = True

    def _stop(self) -> None:
        try:
            os.kill(-self.pid, signal.SIGSTOP)
            # WNOWAIT, so that the process that started the child can still collect its exit.
            ended = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if ended is None or ended.si_code not in (os.CLD_STOPPED, os.CLD_TRAPPED):
                raise GroupEndedError
            os.waitid(os.P_PID, self.pid, os.WSTOPPED)
        except (ProcessLookupError, ChildProcessError):
            raise GroupEndedError from None

    @contextmanager
    def _first_in_line(self) -> Iterator[None]:
        """Let the child's main thread have the processor at once, where the harness may.

        That thread takes the signal and passes it on. With many others waiting for the processor,
        it waited for up to 280 ms, and they went on crawling meanwhile.
        """
        self._schedule(os.SCHED_FIFO, 1)
        try:
            yield
        finally:
            self._schedule(os.SCHED_OTHER, 0)

    def _schedule(self, policy: int, priority: int) -> None:
        """Set the policy of the main thread and of nothing that it starts."""
        with suppress(OSError):
            alone = policy | os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(self.pid, alone, os.sched_param(priority))

    def resume(self) -> None:
        self.stopped = False
        with suppress(ProcessLookupError):
            os.kill(-self.pid, signal.SIGCONT)

    def look_for_children(self) -> None:
        """Find the child's own children, whose processor time belongs to it, and all threads."""
        self._members = [self.pid]
        for pid in self._members:
            with suppress(OSError):
                for task in os.listdir(f"/proc/{pid}/task")[:1]:
                    text = Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii")
                    self._members += map(int, text.split())
        self._waits = self._find_waits()

    def _find_waits(self) -> list[str] | None:
        """The files with the waits of all threads; None if unknown, or too many.

        Counts the threads on the way.
        """
        files: list[str] = []
        for pid in self._members:
            try:
                tasks = os.listdir(f"/proc/{pid}/task")
            except OSError:
                return None
            files += [f"/proc/{pid}/task/{task}/schedstat" for task in tasks]
        self.threads = len(files)
        return None if self.many else files

    def wait_s(self) -> float | None:
        """Seconds that the group's threads could have run so far and had no processor.

        Read in the kernel's run queues; None where it does not say, or with many threads.
        """
        try:
            fields = [Path(file).read_text(encoding="ascii").split() for file in self._waits or ()]
        except OSError:
            return None
        return sum(int(row[1]) for row in fields) / 1e9 if fields else None

    def cpu_s(self) -> float:
        return sum(cpu.total_clock(pid) or 0.0 for pid in self._members)


# --- turns -------------------------------------------------------------------------------


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


@dataclass(slots=True)
class Taker:
    """One label that takes turns: its worker, its server, its counter."""

    worker: TakerGroup
    server: TakerGroup
    count: Callable[[], int]  # the exchanges completed so far
    begin: Callable[[], None]  # starts the crawl; called in the first turn
    slots: int
    total: int = ENDLESS  # exchanges of the crawl
    # Called at the end of each turn, between the worker's stop and the server's, because the count
    # may come from the server. It may raise :class:`GroupEndedError`.
    look: Callable[[], None] = lambda: None
    processors: Sequence[int] = ()  # the worker's, whose stolen time is read
    turn_s: float = TURN_S
    once: bool = False  # takes one turn in each round, in the middle of it
    begun: bool = False
    lost: str | None = None

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
    reached: float = 0.0  # the share of its exchanges that the crawl had completed at its end


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
            takers[i].worker.look_for_children()
            while takers[i].filling and time.monotonic() < deadline:
                result.append(take_turn(takers[i], i, FILLING))
        while True:
            here = [i for i, taker in enumerate(takers) if taker.lost is None]
            if not here or time.monotonic() > deadline:
                break
            for i in here:
                takers[i].worker.look_for_children()
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
    """One turn: resume the server and the worker, wait, stop the worker and the server.

    The server resumes first and stops last, so that it is there for all of the turn.

    A worker with few threads is read before it resumes and after it has stopped, when its
    clock is exact. The clock of a running process is exact to its last switch of threads:
    up to 4 ms ago with one thread, microseconds ago with many. So a worker with many is read
    while it runs, after all its threads have resumed and before they stop.
    """
    worker, stolen, waited = taker.worker, host.steal(taker.processors), taker.worker.wait_s()
    many = worker.many and number != FILLING
    before = first = _reading(taker)
    try:
        taker.server.resume()
        worker.resume()
        if not taker.begun:
            taker.begun = True
            taker.begin()
        with interruptible():
            if many:
                time.sleep(RESUME_S * worker.threads)
                if taker.settles:
                    _settle(taker, before.exchanges)
                first = _reading(taker)
            time.sleep(taker.turn_s)
        last = _reading(taker)
    finally:
        try:
            worker.stop()
        except GroupEndedError:
            taker.lost = "the worker ended in its turn"
        stopped_at = time.monotonic()
        try:
            taker.look()
            taker.server.stop()
        except GroupEndedError:
            taker.lost = taker.lost or "the process at the other end ended"
    after = replace(_reading(taker), at=stopped_at)
    if not many:
        last = after
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
        reached=after.exchanges / taker.total,
    )


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
    cpu_s, exchanges, at = taker.worker.cpu_s(), taker.count(), time.monotonic()
    return _TurnReading(exchanges, cpu_s, taker.server.cpu_s(), at)


# --- the same place of each crawl --------------------------------------------------------


def level(turns: list[TurnTaken], among: Collection[int]) -> tuple[list[TurnTaken], float | None]:
    """Count the turns of these takers only up to the place that each of their crawls reached.

    Returns that place too, as a share of a crawl. It is None, and nothing changes, if no turn
    counts, or if a crawl was beyond it in its first counted turn.

    The first fifth of a tree is its inner pages, whose links are new. They cost half as much
    again as the leaves. One label's site is too large if its weight is wrong
    (:mod:`bench.plan.durations`). Then its turns hold more of the first pages than another's, and a
    page seems to cost more. Up to the same place, all crawls have the same pages.
    """
    counted = [[t.reached for t in turns if t.taker == place and t.counted] for place in among]
    reached = [shares for shares in counted if shares]
    until = min((max(shares) for shares in reached), default=None)
    if until is None or any(min(shares) > until for shares in reached):
        return turns, None
    return [
        replace(t, counted=t.counted and (t.taker not in among or t.reached <= until))
        for t in turns
    ], until
