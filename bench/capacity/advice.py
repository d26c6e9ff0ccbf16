"""Advice: each backend weighed against a need, in order, with what nothing tells apart together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from bench.analysis import stats
from bench.analysis.stats import Blocks
from bench.analysis.stats.ratios import MARGINS
from bench.capacity import model
from bench.capacity.model import Backend, Costs, Limit, Need
from bench.text import count, listing, plural, significant, times

Can = Literal["yes", "left out", "no"]

SMALLEST: Final = math.log1p(max(MARGINS))
"""A smaller difference in processor time is no reason to choose, as a log ratio."""

BEYOND: Final = 1.05
"""What is this many times beyond the measured range is said, or more than you have is refused."""


@dataclass(frozen=True, slots=True)
class AdviceRow:
    """One backend for one need; what is not known is None, and ``notes`` say why."""

    name: str
    can: Can
    reason: str = ""  # why not
    total_us: float | None = None  # of the processor, for a page
    processors: float | None = None
    processes: int | None = None
    in_use: float | None = None  # connections
    rate: float | None = None  # pages per second: as asked, or as many as one process can do
    limit: Limit | None = None  # what ends that rate, if none was asked
    memory_bytes: float | None = None  # all of it that was measured
    group: int | None = None  # backends of a group cannot be told apart in processor time
    notes: tuple[str, ...] = ()

    @property
    def in_flight(self) -> float:
        return (self.in_use or 0.0) / (self.processes or 1)


@dataclass(frozen=True, slots=True)
class Advice:
    """Every backend for one need, the cheapest group first."""

    campaign: str
    machine: str
    need: Need
    rows: Sequence[AdviceRow]

    @property
    def able(self) -> list[AdviceRow]:
        return [row for row in self.rows if row.can == "yes"]


def advise(costs: Costs, need: Need) -> Advice:
    rows = [weigh(backend, need) for backend in costs.backends]
    able = grouped(costs, need, [row for row in rows if row.can == "yes"])
    rest = [row for can in ("left out", "no") for row in rows if row.can == can]
    return Advice(costs.campaign, costs.machine, need, [*able, *rest])


def weigh(backend: Backend, need: Need) -> AdviceRow:
    if need.tls and backend.no_tls:
        return AdviceRow(backend.name, "no", f"It refuses TLS: {backend.no_tls}.")
    if backend.most < need.connections:
        return AdviceRow(backend.name, "no", backend.why_most)
    if backend.page is None:
        return AdviceRow(
            backend.name, "left out", "What a page costs was not measured often enough."
        )
    added = model.added_us(backend, need)
    if added is None:
        opening = ["opening a connection"] if need.pages_per_connection else []
        what = listing(["TLS", *opening] if need.tls else opening)
        return AdviceRow(backend.name, "left out", f"What {what} adds to a page was not measured.")
    processes = model.processes_for(backend, need, added) if need.rate else 1
    rate, total, in_use = model.settled(backend, need, added, processes)
    if in_use > BEYOND * need.connections:
        most = significant(need.connections / (need.delay_s + total / 1e6), 3)
        needs = f"This rate and delay need {plural(math.ceil(in_use), 'connection')}"
        advised = f"--connections {math.ceil(in_use)}, or at most --rate {most.replace(',', '')}"
        return AdviceRow(backend.name, "no", f"{needs}: ask for {advised}.")
    limit: Limit = "connections" if rate < model.full_rate(need, total) else "processor"
    memory, notes = _memory(backend, need, processes)
    return AdviceRow(
        backend.name,
        "yes",
        total_us=total,
        processors=rate * total / 1e6 / need.load,
        processes=processes,
        in_use=in_use,
        rate=rate,
        limit=None if need.rate else limit,
        memory_bytes=memory,
        notes=(*notes, *_beyond(backend, need, max(in_use / processes, 1.0))),
    )


def _memory(backend: Backend, need: Need, processes: int) -> tuple[float | None, list[str]]:
    """The memory of all processes, and what to know about it."""
    held = backend.encrypted if need.tls else backend.plain
    if held is None:
        return None, ["the memory was not measured"]
    notes = []
    share = need.connections / processes
    if share >= BEYOND * held.highest:
        notes.append(
            f"{count(share)} connections in a process, measured up to {count(held.highest)}: "
            f"{times(share / held.highest)} times as many"
        )
    if not held.in_all:
        notes.append("user memory alone: not all of the kernel’s could be read")
    return processes * held.fixed + need.connections * held.each, notes


def _beyond(backend: Backend, need: Need, in_flight: float) -> list[str]:
    notes = []
    fewest, most = backend.factors[0][0], backend.factors[-1][0]
    at = f"{count(fewest)} to {count(most)}" if fewest != most else f"{count(most)} only"
    if max(in_flight / most, fewest / in_flight) >= BEYOND:
        exchanges = plural(round(in_flight), "exchange")
        notes.append(f"{exchanges} in flight in a process, measured with {at}")
    extra = backend.extra
    if need.tls and extra.tls_of != backend.name:
        notes.append(f"what TLS adds is that of {extra.tls_of}")
    if need.pages_per_connection and extra.opening_of != backend.name:
        notes.append(f"what opening a connection adds is that of {extra.opening_of}")
    return notes


# --- all rows ----------------------------------------------------------------------------


def grouped(costs: Costs, need: Need, rows: Sequence[AdviceRow]) -> list[AdviceRow]:
    """The rows by what a page takes, then by memory within what cannot be told apart.

    The cheapest backend leads a group. The first that is told apart from it leads the next.
    """
    ordered: list[AdviceRow] = []
    leader: AdviceRow | None = None
    number = 0
    for row in sorted(rows, key=lambda row: row.total_us or 0.0):
        if leader is None or apart(costs, leader, row, need):
            leader, number = row, number + 1
        ordered.append(replace(row, group=number))
    return sorted(
        ordered, key=lambda row: (row.group or 0, row.memory_bytes or math.inf, row.total_us or 0.0)
    )


def apart(costs: Costs, leader: AdviceRow, row: AdviceRow, need: Need) -> bool:
    """Whether a row takes more than its leader: by its interval, the noise floor, and enough.

    The floor is that of a page in turns, so work that both do alike makes it smaller. Where a
    page of either was measured at one number of slots only, they are compared there: what more
    exchanges in flight cost one of them would count as a difference.
    """
    least, more = costs.of(leader.name), costs.of(row.name)
    single = len(least.factors) == 1 or len(more.factors) == 1
    first = _blocks(least, need, costs.slots if single else leader.in_flight)
    second = _blocks(more, need, costs.slots if single else row.in_flight)
    logs = [math.log(second[b] / first[b]) for b in sorted(first.keys() & second.keys())]
    if len(logs) < 2 or leader.total_us is None:
        return False
    measured = 1.0 - need.mean_work_us / leader.total_us
    mean = sum(logs) / len(logs)
    return stats.student(logs)[0] > 0 and mean > max(costs.floor * measured, SMALLEST)


def _blocks(backend: Backend, need: Need, in_flight: float) -> Blocks:
    # Microseconds of a page in each block, everything added.
    scale = model.factor_at(backend.factors, in_flight) * backend.alone
    added = model.added_us(backend, need) or 0.0
    return {block: value * scale + added for block, value in backend.blocks.items()}
