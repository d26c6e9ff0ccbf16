"""One block of one point with all its labels alive together: start, take turns, finish, record.

Each label gets a server and a worker of its own. All of them start and warm up at the
same time, on both processors, and are stopped; so it does not matter which was ready
first. They take turns (:mod:`bench.run.turns`) until the first crawl runs out of work.
Then all crawls run to their ends at the same time, uncounted, so that every crawl is
complete and its digest and ledger can be checked like those of any other trial.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.controls import CONTROLS, FAMILY, REPEATS
from bench.histograms import FloatArray
from bench.machine import cpu, host, kernel
from bench.plan.plan import Turn
from bench.plan.sizes import once, sized, turn_s
from bench.plan.workloads import SITE_SEED, Point
from bench.run import record, serving
from bench.run.state import Bench, Progress, Trial
from bench.run.trial import FAILURES, START_S, command, fail, start_worker
from bench.run.turns import (
    MOST_TASKS,
    Group,
    GroupEndedError,
    Taker,
    Turns,
    TurnTaken,
    level,
    take_turns,
)
from bench.schema import TrialRecord, TurnsRecord
from bench.schema import Turns as TurnsSummary
from bench.sides.process import WorkerProcess, threads
from bench.sides.servers import ModelServer, Server, ServerError
from bench.turnlog import FEWEST_ROUNDS

TURNS_DEADLINE_S: Final = 120.0
"""The longest that the turns of one block may take, whatever is still alive."""

ALIKE: Final = "the pages of a list are alike"
BEYOND: Final = "some crawl had gone further in its first counted turn than another in its last"

ENDLESS: Final = 10**12
"""Answers of a load, which stops when it is told to."""

MARGIN: Final = 2
"""A crawl with so many times the exchanges that it should have is broken, and may fail."""

PATIENCE: Final = 10.0
"""A crawl that takes turns may last so many times a point's deadline: it waits for the others."""


NO_WAIT: Final = (
    f"of a label with more than {MOST_TASKS} threads not recorded: its threads wait for each "
    "other, and all of them for each stop, so their sum says nothing about other programs"
)
"""Why a turn has no wait for a processor."""


@dataclass(slots=True)
class Member:
    """One label of the block: its trial, its worker, and its place among the takers."""

    trial: Trial
    worker: WorkerProcess
    taker: Taker
    progress: Progress | None = None

    def end(self) -> None:
        """End its processes at once, stopped or not, and whatever they have started."""
        self.taker.worker.kill()
        self.taker.server.kill()
        if self.progress is not None:
            self.progress.close()

    def forget(self) -> None:
        scratch = self.trial.bench.scratch
        of_tls = scratch / f"authorities-{self.trial.number}.pem"
        for file in (of_tls, *scratch.glob(f"{self.trial.times.name}.*")):
            file.unlink(missing_ok=True)


def run(
    bench: Bench, point: Point, turns: Mapping[int, Turn]
) -> tuple[list[TrialRecord], TurnsRecord]:
    """Run the trials of one block together; records in the order of ``turns``.

    ``turns`` maps the numbers of the trials to their turns.

    A label whose worker or server fails gives a record that says so, and the others
    go on. Raises :class:`bench.sides.servers.ServerError` when no server starts.
    """
    began = time.monotonic()
    noise = host.start()
    with ExitStack() as stack:
        members = [
            start(stack, bench, point, turn, number, noise) for number, turn in turns.items()
        ]
        try:
            for member in members:
                member.trial.server.ready()
                set_to_work(member)
            for member in members:
                warm(member)
            before = kernel.counters()
            taken = take_turns(
                [member.taker for member in members],
                random.Random(members[0].trial.hash_seed),
                deadline=time.monotonic() + TURNS_DEADLINE_S,
                rounds=point.rounds,
            )
            taken, until = evenly(taken, members)
            finish(members)
        finally:
            # Together and at once: SIGTERM would wait until a stopped process is resumed.
            for member in members:
                member.end()
    # The machine keeps these for all processes together.
    moved, after = kernel.delta(before, kernel.counters()), host.finish(noise)
    record.drain()
    records = []
    for place, member in enumerate(members):
        member.trial.kernel, member.trial.host = moved, after
        member.trial.turns = summary(taken, place, member.trial)
        records.append(record.finish(member.trial))
        member.forget()
    # Each has its share of the time that they spent together.
    share = (time.monotonic() - began) / len(records)
    records = [one.model_copy(update={"trial_s": share}) for one in records]
    return records, log(taken, point, members[0].trial.turn.block, until)


def evenly(turns: Turns, members: Sequence[Member]) -> tuple[Turns, float | None]:
    """Count turns up to the same place of each crawl, where pages differ by their place.

    Those of a list are all alike. A control goes through its work several times. A crawl that
    broke off did not get so far as the others; one that ended in its turn is done.
    """
    if members[0].trial.point.urls is not None:
        return turns, None
    crawls = [
        place
        for place, member in enumerate(members)
        if member.trial.turn.label.name not in CONTROLS and not broke_off(member)
    ]
    return level(turns, crawls)


def uneven(point: Point, until: float | None) -> dict[str, str]:
    if point.urls is not None:
        return {"until": ALIKE}
    return {"until": BEYOND} if until is None else {}


def start(
    stack: ExitStack, bench: Bench, point: Point, turn: Turn, number: int, noise: host.Before
) -> Member:
    """Start a label's server and its worker; neither is waited for."""
    server: Server
    if point.role == "server":
        server = serving.start(bench, point, turn)
    else:
        point = sized(point, turn.label)
        server = Server(
            point.site,
            delay=point.delay,
            seed=SITE_SEED,
            cores=bench.pinning.server,
            wait=False,
            tls=point.way(turn.label).tls,
        )
    stack.enter_context(server)
    trial = Trial(bench, point, turn, server, number, noise=noise, together=True)
    worker = stack.enter_context(start_worker(trial))
    pids = [worker.pid, server.pid]
    if isinstance(server, ModelServer):  # they have each other's places in the turns
        pids.reverse()
    taker = Taker(
        name=str(turn.label),
        worker=Group(pids[0]),
        server=Group(pids[1]),
        count=int,  # see set_to_work
        begin=worker.go,
        total=ENDLESS,
        slots=point.slots,
        processors=trial.pinning.client,
        turn_s=turn_s(point, turn.label),
        once=once(point, turn.label),
    )
    return Member(trial, worker, taker)


def set_to_work(member: Member) -> None:
    """Tell a worker what to crawl, now that its server is there; it warms up at once."""
    trial, taker = member.trial, member.taker
    if trial.point.role == "server":
        member.progress = Progress(serving.PLACES)
        taker.count = member.progress.told
        member.worker.command(serving.load(trial, member.progress.file))
        return
    taker.total = trial.server.urls * (REPEATS if trial.backend.family == FAMILY else 1)
    if not trial.turn.label.null_recorder:
        member.progress = Progress(MARGIN * taker.total)
        taker.count = member.progress.count
    if trial.point.null_recorder:  # for all labels: one way of counting for what is compared
        ledger = LedgerCount(trial.server)
        taker.count, taker.look = ledger.count, ledger.look
    patience_s = PATIENCE * trial.deadline_s
    kept = None if member.progress is None else member.progress.file
    member.worker.command(command(trial, progress=kept, timeout_s=patience_s))


def warm(member: Member) -> None:
    """Wait until a worker has warmed up, warm its server, and stop both until their turn."""
    trial, taker = member.trial, member.taker
    began = time.monotonic()
    try:
        member.worker.ready(START_S)
        taker.worker.stop()
        if isinstance(trial.server, ModelServer):
            trial.page_faults = trial.server.page_faults()
        else:
            trial.server.warm()
            trial.server.reset()
            if trial.server_polls:
                trial.server.poll(True)
        taker.server.stop()
    except GroupEndedError:
        lose(member, "a process ended before its first turn")
    except (TimeoutError, *FAILURES) as error:
        lose(member, str(error))
    trial.extra["ready_s"] = time.monotonic() - began


def lose(member: Member, reason: str) -> None:
    """A label is out: note why, and keep it from taking turns."""
    member.taker.lost = reason
    fail(member.trial, member.worker, reason)


def finish(members: Sequence[Member]) -> None:
    """Let all crawls run to their ends at the same time, and ask the servers what they saw."""
    going = [member for member in members if may_finish(member)]
    if members[0].trial.point.role == "server":
        for member in going:
            unload(member)
        return
    for member in going:
        sleep_again(member)
    for member in going:
        if member.trial.status == "ok":
            trial, taker = member.trial, member.taker
            pinning = trial.bench.pinning
            if pinning.client:  # nothing is timed any more
                cpu.pin(member.worker.pid, [*pinning.client, *pinning.server])
            taker.worker.resume()
            if not taker.begun:
                taker.begin()
            trial.threads = threads(member.worker.pid)
    for member in going:
        if member.trial.status == "ok":
            collect(member, patience=len(going))


def unload(member: Member) -> None:
    trial, taker = member.trial, member.taker
    trial.threads = taker.worker.threads
    for group in (taker.worker, taker.server):
        group.resume()
    if not taker.begun:
        taker.begin()
    assert member.progress is not None
    member.progress.stop()
    try:
        serving.finish(trial, member.worker)
    except (TimeoutError, *FAILURES) as error:
        lose(member, str(error))


def may_finish(member: Member) -> bool:
    """Whether a crawl can still end well; a label whose worker or server is gone is lost."""
    if member.trial.status == "failed":
        return False
    if broke_off(member):
        lose(member, f"{member.taker.lost}: {member.worker.ending()}")
        return False
    return True


def broke_off(member: Member) -> bool:
    """Whether a crawl was lost before its end. A worker that is done may end in its turn."""
    return member.taker.lost is not None and member.worker.process.poll() != 0


def sleep_again(member: Member) -> None:
    """Read what a server did in the turns; it polls no longer: others need the processor."""
    trial = member.trial
    member.taker.server.resume()
    try:
        user_s, system_s = trial.server.cpu()
        trial.server_working = trial.server.work_s() / (user_s + system_s)
        if trial.server_polls:
            trial.server.poll(False)
    except ServerError as error:
        lose(member, str(error))


def collect(member: Member, patience: int) -> None:
    """Wait for a worker's result, and ask its server what it served.

    ``patience`` is how many crawls share the processors meanwhile.
    """
    trial = member.trial
    limit_s = patience * trial.deadline_s
    try:
        trial.result = member.worker.result(time.monotonic() + limit_s)
        trial.server_cpu = trial.server.cpu()
        trial.ledger = trial.server.ledger()
    except TimeoutError:
        member.worker.abort()
        lose(member, f"no result in {limit_s:g} s; the worker was ended")
    except FAILURES as error:
        lose(member, str(error))


def summary(turns: Turns, place: int, trial: Trial) -> TurnsSummary | None:
    """What one label's turns add up to; also keeps the service times without a stop inside."""
    mine = [turn for turn in turns.taken if turn.taker == place]
    counted = [turn for turn in mine if turn.counted]
    if not mine:
        return None
    spanned = None
    if trial.result is not None and trial.result.ended is not None and trial.result.service:
        service = record.seconds(trial.times, "service", trial.result.service)
        ended = record.seconds(trial.times, "ended", trial.result.ended)
        first, last = turn_of(counted, ended - service), turn_of(counted, ended)
        inside = (first == last) & (last >= 0)
        trial.within_turns = service[inside]
        spanned = int((last >= 0).sum() - inside.sum())
    stolen = [turn.steal_s for turn in counted]
    trial.waited_s = sum(turn.wait_s or 0.0 for turn in counted)
    return TurnsSummary(
        turn_s=turn_s(trial.point, trial.turn.label),
        taken=len(mine),
        counted=len(counted),
        exchanges=sum(turn.exchanges for turn in counted),
        wall_s=sum(turn.wall_s for turn in counted),
        cpu_s=sum(turn.cpu_s for turn in counted),
        server_cpu_s=sum(turn.server_cpu_s for turn in counted),
        aside_s=sum(turn.aside_s for turn in counted),
        steal_s=None if None in stolen else sum(s for s in stolen if s is not None),
        beside=turns.takers,
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
        "for this machine: give the point more pages (bench/plan/profiles.py)"
    )


def log(turns: Turns, point: Point, block: int, until: float | None = None) -> TurnsRecord:
    taken = turns.taken
    start_s = taken[0].began if taken else 0.0

    def us(times: Iterable[float]) -> list[int]:
        return [round(1e6 * time_s) for time_s in times]

    waits = [None if t.wait_s is None else round(1e6 * t.wait_s) for t in taken]
    return TurnsRecord(
        block=block,
        point=point.id,
        labels=turns.takers,
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
        warning=too_few(point.id, block, turns.rounds),
        reasons=({"wait_us": NO_WAIT} if None in waits else {}) | uneven(point, until),
    )


# --- how exchanges are counted -----------------------------------------------------------


@dataclass(slots=True)
class LedgerCount:
    """Exchanges counted at the server, where the cost of counting in the worker is measured.

    After a turn the server has answered what was still asked, so the number is ahead of the
    worker's by the requests in flight: as many after each turn, one or none for each slot.
    """

    server: Server
    served: int = 0

    def count(self) -> int:
        return self.served

    def look(self) -> None:
        try:
            self.served = self.server.served()
        except ServerError:
            raise GroupEndedError from None
