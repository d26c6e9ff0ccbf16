"""A duet: two crawls at the same time, each with its server on a processor of its own.

Turns and whole trials share one processor between backends, one after the other. A duet
shares the time instead: the client and the server of A have one processor, those of B have
the other, and both are measured over the same stretch of time (L. Bulej et al., "Duet
Benchmarking", ICPE 2020). Then the sides are swapped, with fresh processes, so that a
processor that is faster, or one that is disturbed more, favours neither. Nothing is stopped,
and no other program comes between two pages of a crawl, except its own server.

The measured stretch begins when every slot of both crawls is busy and ends when the first
crawl runs out of work. Both then run to their ends, and digest and ledger are checked.
The server shares the client's processor, so it does not poll, and pages per second include
its work. Processor time per page is the client's alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

from bench.machine.probes import host, kernel
from bench.machine.probes.cpu import Pinning
from bench.plan.labels import SIDES
from bench.plan.order import Turn
from bench.plan.workloads import Point
from bench.run import record, together
from bench.run.interrupts import interruptible
from bench.run.process import ProcessError
from bench.run.servers import ServerError
from bench.run.state import Bench
from bench.run.together import Member
from bench.run.trial import START_S
from bench.run.turns import steal_s, undisturbed
from bench.run.workers import WorkerError, threads
from bench.schema import TrialRecord, Turns

SAMPLE_S: Final = 0.01
"""Between two looks at both crawls. A look takes about 0.1 ms, on the harness's processor."""


@dataclass(frozen=True, slots=True)
class Sight:
    """One crawl at one moment: totals since it began."""

    at: float
    exchanges: int
    cpu_s: float
    server_cpu_s: float
    steal_s: float | None


def impossible(pinning: Pinning) -> str | None:
    """Why there can be no duet on this machine; None where there can."""
    if pinning.client and pinning.server:
        return None
    return f"a duet needs two processors: {pinning.reason or 'nothing can be pinned'}"


def run(bench: Bench, point: Point, turns: Mapping[int, Turn]) -> list[TrialRecord]:
    """Run the trials of one block, two at a time; records in the order of ``turns``.

    ``turns`` maps the numbers of the trials to their turns: two labels, each on both sides.
    Needs two processors (:func:`impossible`). Raises
    :class:`bench.run.servers.ServerError` when a server does not start.
    """
    found: dict[int, TrialRecord] = {}
    for leg in legs(turns):
        found |= play(bench, point, leg)
    return [found[number] for number in turns]


def legs(turns: Mapping[int, Turn]) -> list[dict[int, Turn]]:
    """The trials that run at the same time: two labels on different sides."""
    left = dict(turns)
    found = []
    while left:
        number, turn = next(iter(left.items()))
        other = next(
            n
            for n, t in left.items()
            if t.label.recorded != turn.label.recorded and t.label.side != turn.label.side
        )
        found.append({number: left.pop(number), other: left.pop(other)})
    return found


def play(bench: Bench, point: Point, leg: Mapping[int, Turn]) -> dict[int, TrialRecord]:
    """Run both trials of a leg; the number of each with its record."""
    began, noise = time.monotonic(), host.start()
    pinning = bench.pinning
    core_of = dict(zip(SIDES, (pinning.client, pinning.server), strict=True))
    with ExitStack() as stack:
        members = []
        for number, turn in leg.items():
            assert turn.label.side is not None, "a duet has sides"
            core = core_of[turn.label.side]
            own = replace(bench, pinning=replace(pinning, client=core, server=core))
            members.append(together.start(stack, own, point, turn, number, noise))
        try:
            for member in members:
                member.trial.server.ready()
                together.set_to_work(member)
            for member in members:
                prepare(member)
            before = kernel.counters()
            seen = watch(members)
            for member in members:
                if member.trial.status == "ok":
                    together.collect(member, patience=len(members))
        finally:
            for member in members:
                member.end()
    moved, after = kernel.delta(before, kernel.counters()), host.finish(noise)
    share_s = (time.monotonic() - began) / len(members)
    records = {}
    for place, (number, member) in enumerate(zip(leg, members, strict=True)):
        trial = member.trial
        trial.kernel, trial.host = moved, after
        trial.turns = summary([both[place] for both in seen], [str(t.label) for t in leg.values()])
        found = record.finish(trial)
        records[number] = found.model_copy(update={"trial_s": share_s})
        member.forget()
    return records


def prepare(member: Member) -> None:
    """Wait until a worker has warmed up, and warm its server."""
    trial = member.trial
    began = time.monotonic()
    try:
        member.worker.ready(START_S)
        trial.server.warm()
        trial.server.reset()
    except (TimeoutError, ProcessError, WorkerError, ServerError) as error:
        together.lose(member, str(error))
    trial.ready_s = time.monotonic() - began


def watch(members: Sequence[Member]) -> list[tuple[Sight, ...]]:
    """Start both crawls and look at them for as long as all slots of both have work.

    Without both there is no duet: nobody starts if one of them failed to get ready.
    """
    if any(member.trial.status != "ok" for member in members):
        for member in members:
            if member.trial.status == "ok":
                together.lose(member, "the other side of the duet failed")
        return []
    deadline = time.monotonic() + max(member.trial.deadline_s for member in members)
    for member in members:
        member.taker.begin()
    seen: list[tuple[Sight, ...]] = []
    with undisturbed():
        while time.monotonic() < deadline:
            with interruptible():
                time.sleep(SAMPLE_S)
            if not seen:
                for member in members:
                    member.taker.worker.look_for_children()
                    member.trial.threads = threads(member.worker.pid)
            sights = tuple(map(look, members))
            if all(member.taker.busy for member in members):
                seen.append(sights)
            elif seen or not all(map(may_still_fill, members)):
                break
    return seen


def may_still_fill(member: Member) -> bool:
    """Whether a crawl may yet have work for all its slots: not if it is past that, or gone."""
    taker = member.taker
    alive = member.worker.process.poll() is None
    return alive and taker.count() <= taker.total - 2 * taker.slots


def look(member: Member) -> Sight:
    """What a crawl and its server have done so far."""
    taker = member.taker
    return Sight(
        at=time.monotonic(),
        exchanges=taker.count(),
        cpu_s=taker.worker.cpu_s(),
        server_cpu_s=taker.server.cpu_s(),
        steal_s=steal_s(member.trial.bench.pinning.client),
    )


def summary(seen: Sequence[Sight], beside: list[str]) -> Turns | None:
    """The time in which both crawls were busy, as one turn; without a count if there is none."""
    if not seen:
        return Turns(
            turn_s=0.0,
            taken=0,
            counted=0,
            exchanges=0,
            wall_s=0.0,
            cpu_s=0.0,
            server_cpu_s=0.0,
            steal_s=None,
            beside=beside,
            spanned=None,
        )
    first, last = seen[0], seen[-1]
    wall_s = last.at - first.at
    stolen = None
    if first.steal_s is not None and last.steal_s is not None:
        stolen = last.steal_s - first.steal_s
    return Turns(
        turn_s=wall_s,
        taken=1,
        counted=1 if last.exchanges > first.exchanges else 0,
        exchanges=last.exchanges - first.exchanges,
        wall_s=wall_s,
        cpu_s=last.cpu_s - first.cpu_s,
        server_cpu_s=last.server_cpu_s - first.server_cpu_s,
        steal_s=stolen,
        beside=beside,
        spanned=None,
    )
