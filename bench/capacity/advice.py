"""Advice: from costs that a campaign measured to a load that it did not, backend by backend.

A page takes processor time: what was measured for a crawled page, times a factor for the
number of exchanges in flight and one for a program alone on its processor, and what TLS, a new
connection and the reader's own work add. A page occupies a connection while it waits for the
answer and uses the processor, so by Little's law the connections in use are the rate times that
time. Backends that nothing tells apart in processor time stand together, in order of memory.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from bench.analysis import stats
from bench.analysis.stats import Blocks
from bench.analysis.stats.ratios import MARGINS
from bench.capacity.costs import Backend, Bound, Costs
from bench.text import count, listing, plural, significant, times

Can = Literal["yes", "left out", "no"]
Limit = Literal["connections", "processor"]

SMALLEST: Final = math.log1p(max(MARGINS))
"""A smaller difference in processor time is no reason to choose, as a log ratio."""

BEYOND: Final = 1.05
"""What is this many times beyond the measured range is said, or more than you have is refused."""

MOST_LOAD: Final = 0.95
"""Of a processor: a queue without room has no end."""

ROUNDS: Final = 4
"""Cost and exchanges in flight depend on each other; this many rounds settle them."""

ROUNDED: Final = 1.001
"""A process more than that is none: it comes from rounding."""


@dataclass(frozen=True, slots=True)
class Need:
    """A load in steady state; times in seconds."""

    connections: int = 1000
    rate: float | None = None  # pages per second, over all processes; None: as many as they can
    delay_s: float = 0.1  # from the request to the answer, at the server and on the way
    tls: bool = False
    work_s: float = 0.0  # of the processor, on top of fetching and reading an average page
    pages_per_connection: int | None = None  # None: connections are kept
    load: float = 0.7  # of what a processor can do, that you plan to use

    @property
    def added(self) -> dict[str, float]:
        """How much of :data:`bench.capacity.costs.ADDED` an average page needs."""
        opened = 1.0 / self.pages_per_connection if self.pages_per_connection else 0.0
        shares = {
            "TLS": float(self.tls),
            "opening a connection": opened,
            "a handshake": self.tls * opened,
        }
        return {what: share for what, share in shares.items() if share}

    def full_rate(self, total_us: float) -> float:
        """Pages per second that fill a process up to the planned load."""
        return self.load * 1e6 / total_us


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


# --- one backend -------------------------------------------------------------------------


def added_us(backend: Backend, need: Need) -> float:
    """What TLS, new connections and work add to a page; KeyError where that was not measured."""
    parts = (share * backend.added[what].us for what, share in need.added.items())
    return sum(parts, 1e6 * need.work_s)


def settled(
    backend: Backend, need: Need, added: float, processes: int
) -> tuple[float, float, float]:
    """Pages per second, what one takes, and the connections in use, with so many processes.

    Without a rate, as many as the processes can do: connections or processor end it.
    """
    total, rate, used = added, need.rate or 0.0, 1.0 if need.rate else float(need.connections)
    for _ in range(ROUNDS):
        total = backend.page_us(used / processes) + added
        occupied_s = need.delay_s + total / 1e6
        rate = need.rate or min(need.connections / occupied_s, need.full_rate(total))
        used = rate * occupied_s
    return rate, total, used


def tightest(bounds: Iterable[Bound]) -> Bound:
    return min(bounds, key=lambda bound: bound.most, default=Bound(math.inf, ""))


def processes_for(backend: Backend, need: Need, added: float) -> int:
    """The fewest processes that carry the rate at the planned load and may hold the connections.

    The interpreter's lock lets a process use about one processor. With more of them, each has
    fewer exchanges in flight, at which a page may cost less. Without a rate it is one.
    """
    if need.rate is None:
        return 1

    def carry(processes: int) -> bool:
        rate, total, _ = settled(backend, need, added, processes)
        return rate <= processes * ROUNDED * need.full_rate(total)

    fewest = max(1, math.ceil(need.connections / tightest(backend.bounds).most))
    return fewest + bisect_left(range(fewest, sys.maxsize), True, key=carry)


def weigh(backend: Backend, need: Need) -> AdviceRow:
    if need.tls and backend.no_tls:
        return AdviceRow(backend.name, "no", f"It refuses TLS: {backend.no_tls}.")
    # Without a rate there is one process, and processes share the machine's threads.
    bound = tightest(b for b in backend.bounds if b.in_all or need.rate is None)
    if bound.most < need.connections:
        return AdviceRow(backend.name, "no", bound.why)
    if backend.page is None:
        reason = "What a page costs was not measured often enough."
        return AdviceRow(backend.name, "left out", reason)
    if unknown := [what for what in need.added if what not in backend.added]:
        reason = f"What {listing(unknown)} adds to a page was not measured."
        return AdviceRow(backend.name, "left out", reason)
    added = added_us(backend, need)
    processes = processes_for(backend, need, added)
    rate, total, in_use = settled(backend, need, added, processes)
    if in_use > BEYOND * need.connections:
        most = significant(need.connections / (need.delay_s + total / 1e6), 3)
        needs = f"This rate and delay need {plural(math.ceil(in_use), 'connection')}"
        advised = f"--connections {math.ceil(in_use)}, or at most --rate {most.replace(',', '')}"
        return AdviceRow(backend.name, "no", f"{needs}: ask for {advised}.")
    limit: Limit = "connections" if rate < need.full_rate(total) else "processor"
    held = backend.encrypted if need.tls else backend.plain
    return AdviceRow(
        backend.name,
        "yes",
        total_us=total,
        processors=rate * total / 1e6 / need.load,
        processes=processes,
        in_use=in_use,
        rate=rate,
        limit=None if need.rate else limit,
        memory_bytes=processes * held.fixed + need.connections * held.each if held else None,
        notes=tuple(notes(backend, need, processes, max(in_use / processes, 1.0))),
    )


def notes(backend: Backend, need: Need, processes: int, in_flight: float) -> Iterator[str]:
    """What to know about the numbers of one backend."""
    held, share = backend.encrypted if need.tls else backend.plain, need.connections / processes
    bound = tightest(backend.bounds)
    if processes > 1 and (processes - 1) * bound.most < need.connections:
        yield f"It takes {count(processes)} processes to hold the connections. {bound.why}"
    if held is None:
        yield "the memory was not measured"
    elif share >= BEYOND * held.highest:
        yield (
            f"{count(share)} connections in a process, measured up to {count(held.highest)}: "
            f"{times(share / held.highest)} times as many"
        )
    if held and not held.in_all:
        yield "user memory alone: not all of the kernel’s could be read"
    fewest, most = backend.factors[0][0], backend.factors[-1][0]
    at = f"{count(fewest)} to {count(most)}" if fewest != most else f"{count(most)} only"
    if max(in_flight / most, fewest / in_flight) >= BEYOND:
        exchanges = plural(round(in_flight), "exchange")
        yield f"{exchanges} in flight in a process, measured with {at}"
    for what in need.added:
        if (source := backend.added[what].of) != backend.name:
            yield f"what {what} adds is that of {source}"


# --- all rows ----------------------------------------------------------------------------


def grouped(costs: Costs, need: Need, rows: Sequence[AdviceRow]) -> list[AdviceRow]:
    """The rows by what a page takes, then by memory within what cannot be told apart.

    The cheapest backend leads a group. The first that is told apart from it leads the next.
    """
    groups: list[list[AdviceRow]] = []
    for row in sorted(rows, key=lambda row: row.total_us or 0.0):
        if not groups or apart(costs, groups[-1][0], row, need):
            groups.append([])
        groups[-1].append(replace(row, group=len(groups)))
    return [
        row
        for group in groups
        for row in sorted(group, key=lambda row: row.memory_bytes or math.inf)
    ]


def apart(costs: Costs, leader: AdviceRow, row: AdviceRow, need: Need) -> bool:
    """Whether a row takes more than its leader: by its interval, the noise floor, and enough.

    The floor is that of a page in turns, so work that both do alike makes it smaller. Where a
    page of either was measured at one number of slots only, they are compared there: what more
    exchanges in flight cost one of them would count as a difference.
    """
    single = any(len(costs.of(either.name).factors) == 1 for either in (leader, row))

    def blocks(row: AdviceRow) -> Blocks:
        """Microseconds of a page in each block, everything added."""
        backend, in_flight = costs.of(row.name), (row.in_use or 0.0) / (row.processes or 1)
        scale = backend.factor(costs.slots if single else in_flight) * backend.alone
        added = added_us(backend, need)
        return {block: value * scale + added for block, value in backend.blocks.items()}

    first, second = blocks(leader), blocks(row)
    logs = [math.log(second[b] / first[b]) for b in sorted(first.keys() & second.keys())]
    if len(logs) < 2 or leader.total_us is None:
        return False
    measured = 1.0 - 1e6 * need.work_s / leader.total_us
    mean = sum(logs) / len(logs)
    return stats.student(logs)[0] > 0 and mean > max(costs.floor * measured, SMALLEST)
