"""One block of one point: start, warm up, run, check, record.

A block in turns has all its labels alive together. Each gets a server and a worker of its own. All
of them start and warm up at the same time, on both processors, and are stopped; so it does not
matter which was ready first. They take turns (:mod:`bench.run.turns`) until the first crawl runs
out of work. Then all crawls run to their ends at the same time, uncounted, so that every crawl is
complete and its digest and ledger can be checked like those of any other trial.

A whole trial is a block with one label, which is never stopped. Only the worker's crawl is timed:
the harness sleeps through it, except that it looks at the number of threads now and then, and does
at the barrier what there is to do.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.controls import CONTROLS
from bench.histograms import FloatArray
from bench.machine import cpu, host, kernel
from bench.plan.plan import Turn
from bench.plan.sizes import once, sized, turn_s
from bench.plan.workloads import Point
from bench.run import record
from bench.run.crawling import Crawling
from bench.run.serving import Serving
from bench.run.trial import Bench, Trial
from bench.run.turns import (
    MOST_TASKS,
    GroupEndedError,
    Taker,
    TakerGroup,
    TurnTaken,
    level,
    take_turns,
)
from bench.schema import TrialRecord, Turns, TurnsRecord
from bench.sides.process import ProcessError, WorkerError, threads
from bench.sides.servers import Server, ServerError
from bench.turnlog import FEWEST_ROUNDS

FAILURES: Final = (ProcessError, WorkerError, ServerError)
LAST_WORDS_S: Final = 0.5

TURNS_DEADLINE_S: Final = 120.0
"""The longest that the turns of one block may take, whatever is still alive."""

ALIKE: Final = "the pages of a list are alike"
BEYOND: Final = "some crawl had gone further in its first counted turn than another in its last"

NO_WAIT: Final = (
    f"of a label with more than {MOST_TASKS} threads not recorded: its threads wait for each "
    "other, and all of them for each stop, so their sum says nothing about other programs"
)
"""Why a turn has no wait for a processor."""


@dataclass(slots=True)
class Member:
    """One label of the block: its trial, both its sides, and its place among the takers."""

    trial: Trial
    sides: Crawling | Serving
    taker: Taker

    @property
    def going(self) -> bool:
        """Whether its crawl can still end well."""
        return self.trial.status != "failed"

    @property
    def broke_off(self) -> bool:
        """Whether a crawl was lost before its end. A worker that is done may end in its turn."""
        return self.taker.lost is not None and self.sides.worker.process.poll() != 0

    def lose(self, reason: str) -> None:
        """Note why it is out, with the last words of what is under test."""
        self.taker.lost = reason
        self.trial.status, self.trial.reason = "failed", reason
        self.sides.worker.end(LAST_WORDS_S)
        self.trial.stderr = self.sides.tested.stderr_tail()

    @contextmanager
    def losing(self, limit_s: float) -> Iterator[None]:
        """A part of the trial that may take so long; whatever fails, the others go on."""
        try:
            yield
        except GroupEndedError:
            self.lose("a process ended before its first turn")
        except TimeoutError:
            self.sides.worker.abort()
            self.lose(f"no result in {limit_s:g} s; the worker was ended")
        except FAILURES as error:
            self.lose(str(error))

    def end(self) -> None:
        """End its processes at once, stopped or not, and whatever they have started."""
        self.taker.worker.kill()
        if self.trial.point.interleaved:
            self.taker.server.kill()
        if self.sides.progress is not None:
            self.sides.progress.close()

    def forget(self) -> None:
        for file in self.trial.bench.scratch.glob(f"{self.trial.times.name}.*"):
            file.unlink()


def run(
    bench: Bench, point: Point, turns: Mapping[int, Turn], server: Server | None = None
) -> tuple[list[TrialRecord], TurnsRecord]:
    """Run the trials of one block, with their numbers; records in the order of ``turns``.

    ``server`` is that of a whole trial, if it is shared. A label whose worker or server fails
    gives a record that says so, and the others go on. Raises
    :class:`bench.sides.servers.ServerError` when a fixture server does not start.
    """
    began, noise = time.monotonic(), host.start()
    labels, taken, until = [str(turn.label) for turn in turns.values()], list[TurnTaken](), None
    with ExitStack() as stack:
        trials = [Trial(bench, sized(point, turn.label), turn, n) for n, turn in turns.items()]
        members = [start(stack, trial, server) for trial in trials]
        try:
            for member in members:
                member.sides.ready()
                tell(member)
            for member in members:
                warm(member)
            before = kernel.counters()
            if point.interleaved:
                taken = take_turns(
                    [member.taker for member in members],
                    random.Random(trials[0].hash_seed),
                    deadline=time.monotonic() + TURNS_DEADLINE_S,
                    rounds=point.rounds,
                )
                taken, until = evenly(taken, members)
                finish(members)
            else:
                alone(members[0])
        finally:
            # Together and at once: SIGTERM would wait until a stopped process is resumed.
            for member in members:
                member.end()
    # The machine keeps these for all processes together.
    moved, after = kernel.delta(before, kernel.counters()), host.finish(noise)
    record.drain()
    records = []
    for place, member in enumerate(members):
        member.trial.turns = summary(taken, labels, place, member)
        records.append(record.finish(member.trial, member.sides, moved, after))
        member.forget()
    # Each has its share of the time that they spent together.
    share = (time.monotonic() - began) / len(records)
    records = [one.model_copy(update={"trial_s": share}) for one in records]
    return records, log(taken, labels, point, trials[0].turn.block, until)


def start(stack: ExitStack, trial: Trial, server: Server | None) -> Member:
    """Start both sides of a trial; neither is waited for."""
    point, label = trial.point, trial.turn.label
    sides = Serving(trial, stack) if point.load else Crawling(trial, stack, server)
    taker = Taker(
        worker=TakerGroup(sides.tested.pid),
        server=TakerGroup(sides.other.pid),
        count=sides.count,
        begin=sides.worker.go,
        total=sides.total,
        slots=point.slots,
        processors=trial.pinning.client,
        turn_s=turn_s(point, label),
        once=once(point, label),
    )
    return Member(trial, sides, taker)


def tell(member: Member) -> None:
    sides, taker = member.sides, member.taker
    with member.losing(sides.start_s):
        sides.tell()
    taker.total, taker.count, taker.look = sides.total, sides.count, sides.look


def warm(member: Member) -> None:
    """Wait until a worker has warmed up, warm its server, and stop both until their turn."""
    if not member.going:
        return
    trial, sides, taker = member.trial, member.sides, member.taker
    in_turns, began = trial.point.interleaved, time.monotonic()
    with member.losing(sides.start_s):
        sides.worker.ready(sides.start_s)
        if in_turns:
            taker.worker.stop()
        sides.warm()
        if in_turns:
            sides.begin()
            taker.server.stop()
    trial.ready_s = time.monotonic() - began


def alone(member: Member) -> None:
    """A whole trial: nothing is stopped, and nothing else runs."""
    trial, sides = member.trial, member.sides
    if not member.going:
        return

    def sample() -> None:
        sides.threads = max(sides.threads, threads(sides.tested.pid))

    with member.losing(trial.deadline_s), ExitStack() as ending:
        ending.callback(sides.release)  # whatever happens, nothing is held in the end
        with ExitStack() as around:
            for one in trial.conditions:
                around.enter_context(one.around(sides))
            sides.begin()
            sides.deadline = time.monotonic() + trial.deadline_s
            sides.worker.go()
        sides.result = sides.worker.result(sides.deadline, sample)
        sample()
        for one in trial.conditions:
            one.ended(sides)
        sides.rest()
        sides.collect()


def finish(members: Sequence[Member]) -> None:
    """Let all crawls run to their ends at the same time, and ask both ends what they saw."""
    for member in members:
        if member.going and member.broke_off:
            member.lose(f"{member.taker.lost}: {member.sides.worker.ending()}")
    going = [member for member in members if member.going]
    for member in going:
        member.taker.server.resume()
        with member.losing(0.0):
            member.sides.rest()
    for member in going:
        if member.going:
            tested, pinning = member.taker.worker, member.trial.bench.pinning
            if pinning.client:  # nothing is timed any more
                cpu.pin(tested.pid, [*pinning.client, *pinning.server])
            tested.resume()
            if not member.taker.begun:
                member.taker.begin()
            member.sides.threads = threads(tested.pid)
    for member in going:
        if member.going:
            # So many share the processors meanwhile.
            limit_s = len(going) * member.trial.deadline_s
            with member.losing(limit_s):
                member.sides.result = member.sides.worker.result(time.monotonic() + limit_s)
                member.sides.collect()


def evenly(
    turns: list[TurnTaken], members: Sequence[Member]
) -> tuple[list[TurnTaken], float | None]:
    """Count turns up to the same place of each crawl, where pages differ by their place.

    Those of a list are all alike. A control goes through its work several times. A crawl that
    broke off did not get so far as the others; one that ended in its turn is done.
    """
    if members[0].trial.point.urls is not None:
        return turns, None
    crawls = [
        place
        for place, member in enumerate(members)
        if member.trial.turn.label.name not in CONTROLS and not member.broke_off
    ]
    return level(turns, crawls)


def summary(turns: list[TurnTaken], labels: list[str], place: int, member: Member) -> Turns | None:
    """What one label's turns add up to; also keeps the service times without a stop inside."""
    mine = [turn for turn in turns if turn.taker == place]
    counted = [turn for turn in mine if turn.counted]
    if not mine:
        return None
    spanned = None
    trial = member.trial
    service, ended = member.sides.seconds("service"), member.sides.seconds("ended")
    if len(service) and len(ended):
        first, last = turn_of(counted, ended - service), turn_of(counted, ended)
        inside = (first == last) & (last >= 0)
        trial.within_turns = service[inside]
        spanned = int((last >= 0).sum() - inside.sum())
    stolen = [turn.steal_s for turn in counted]
    trial.waited_s = sum(turn.wait_s or 0.0 for turn in counted)
    return Turns(
        turn_s=turn_s(trial.point, trial.turn.label),
        taken=len(mine),
        counted=len(counted),
        exchanges=sum(turn.exchanges for turn in counted),
        wall_s=sum(turn.wall_s for turn in counted),
        cpu_s=sum(turn.cpu_s for turn in counted),
        server_cpu_s=sum(turn.server_cpu_s for turn in counted),
        aside_s=sum(turn.aside_s for turn in counted),
        steal_s=None if None in stolen else sum(s for s in stolen if s is not None),
        beside=labels,
        spanned=spanned,
    )


def turn_of(turns: list[TurnTaken], at: FloatArray) -> npt.NDArray[np.int64]:
    """For each moment the index of the turn that it lies in, -1 for none."""
    if not turns:
        return np.full(len(at), -1, dtype=np.int64)
    began = np.array([turn.began for turn in turns])
    ended = began + np.array([turn.wall_s for turn in turns])
    index = np.searchsorted(began, at, side="right") - 1
    found = np.where((index >= 0) & (at <= ended[index]), index, -1)
    return found.astype(np.int64)


def too_few(point: str, block: int, rounds: int) -> str | None:
    if rounds >= FEWEST_ROUNDS:
        return None
    return (
        f"{point}: only {rounds} rounds of turns counted in block {block + 1}; "
        f"with fewer than {FEWEST_ROUNDS} the noise hardly averages out. The crawls are too short "
        "for this machine. More blocks make up for it: --blocks 10"
    )


def log(
    taken: list[TurnTaken],
    labels: list[str],
    point: Point,
    block: int,
    until: float | None = None,
) -> TurnsRecord:
    start_s = taken[0].began if taken else 0.0
    rounds = len({turn.round for turn in taken if turn.counted})

    def us(times: Iterable[float]) -> list[int]:
        return [round(1e6 * time_s) for time_s in times]

    waits = [None if t.wait_s is None else round(1e6 * t.wait_s) for t in taken]
    reasons = {"wait_us": NO_WAIT} if None in waits else {}
    if until is None:
        reasons["until"] = BEYOND if point.urls is None else ALIKE
    return TurnsRecord(
        block=block,
        point=point.id,
        labels=labels,
        label=[turn.taker for turn in taken],
        round=[turn.round for turn in taken],
        counted=[turn.counted for turn in taken],
        began_us=us(turn.began - start_s for turn in taken),
        wall_us=us(turn.wall_s for turn in taken),
        cpu_us=us(turn.cpu_s for turn in taken),
        server_cpu_us=us(turn.server_cpu_s for turn in taken),
        exchanges=[turn.exchanges for turn in taken],
        steal_ms=[None if t.steal_s is None else round(1e3 * t.steal_s) for t in taken],
        wait_us=waits,
        aside_us=us(turn.aside_s for turn in taken),
        reached=[round(turn.reached, 5) for turn in taken],
        until=until,
        warning=too_few(point.id, block, rounds),
        reasons=reasons,
    )
