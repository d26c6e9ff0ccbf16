"""The model: from costs that a campaign measured to a load that it did not.

A page takes processor time: what was measured for a crawled page, times a factor for the
number of exchanges in flight and one for a program alone on its processor, and what TLS, a new
connection and the reader's own work add. A page occupies a connection while it waits for the
answer and uses the processor, so by Little's law the connections in use are the rate times that
time.

The costs are those that the report has: each is read from the same answers.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final, Literal

import numpy as np

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import CPU_PER_1000, MemoryFit
from bench.analysis.stats.records import number_param, widest_point
from bench.machine.doctor import MAPS_PER_THREAD, SPARE_MAPS
from bench.plan.participants import SPREADING
from bench.plan.workloads import REFERENCE_SLOTS, mean_delay_s
from bench.questions import churn, tls_pages
from bench.schema import TrialRecord
from bench.show.measured import Measured
from bench.store import Records
from bench.text import count

# --- costs, all of which can be written as JSON ------------------------------------------------

FEWEST_BLOCKS: Final = 2
"""An interval needs two blocks."""

SCANNING: Final = ("SelectSelector", "PollSelector")
"""Selectors that look at every connection at each wake-up, whether anything happened on it."""

FURTHEST: Final = 10
"""Memory is calculated for up to so many times the connections that it was measured with."""


@dataclass(frozen=True, slots=True)
class MemoryHeld:
    """Memory of the client: bytes for a connection, and bytes of a process without any."""

    each: float
    fixed: float
    highest: int  # the most connections of a process at which it was read
    in_all: bool = True  # otherwise user memory alone: not all of the kernel's could be read


@dataclass(frozen=True, slots=True)
class Extra:
    """What a page costs beyond one on a kept connection of plain HTTP; None: not measured."""

    tls: float | None = None  # for each page over TLS
    opening: float | None = None  # for a page on a new connection
    handshake: float | None = None  # for a full handshake of a new connection
    tls_of: str | None = None  # the backend that TLS and handshakes were measured with
    opening_of: str | None = None


@dataclass(frozen=True, slots=True)
class Backend:
    """What one backend costs. Times are microseconds of processor time."""

    name: str
    most: float  # connections that a process can hold, or for which its costs are known
    why_most: str  # what more of them is refused with
    no_tls: str | None  # why it refuses TLS
    page: float | None  # a crawled page at the reference point
    blocks: Mapping[int, float]  # the same in each block
    factors: Sequence[tuple[int, float]]  # slots -> times the page at the reference point
    extra: Extra = field(default_factory=Extra)
    alone: float = 1.0  # a page of a program alone on its processor, over one in turns
    plain: MemoryHeld | None = None
    encrypted: MemoryHeld | None = None


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of every backend of a campaign, and what limits all of them."""

    campaign: str
    machine: str
    point: str | None  # where pages were compared; None where they were not
    slots: int  # at that point
    floor: float  # of the noise, as a log ratio
    files: int | None  # that one process of the measured machine may open
    longest_delay_ms: float
    processors: int  # the most that one backend was spread over
    backends: Sequence[Backend] = ()

    def of(self, name: str) -> Backend:
        return next(backend for backend in self.backends if backend.name == name)


# --- the formulas ------------------------------------------------------------------------------

MOST_LOAD: Final = 0.95
"""Of a processor: a queue without room has no end."""

ROUNDS: Final = 4
"""Cost and exchanges in flight depend on each other; this many rounds settle them."""

ROUNDED: Final = 1.001
"""A process more than that is none: it comes from rounding."""

Limit = Literal["connections", "processor"]


@dataclass(frozen=True, slots=True)
class Need:
    """A load in steady state; times in seconds."""

    connections: int = 1000
    rate: float | None = None  # pages per second, over all processes; None: as many as they can
    delay_s: float = 0.1  # from the request to the answer, at the server and on the way
    tls: bool = False
    work_s: float = 0.0  # of the processor, on top of fetching and reading a page
    share: float = 1.0  # of the pages that need the work
    pages_per_connection: int | None = None  # None: connections are kept
    load: float = 0.7  # of what a processor can do, that you plan to use

    @property
    def mean_work_us(self) -> float:
        """The work of an average page, in microseconds."""
        return 1e6 * self.work_s * self.share


def factor_at(factors: Sequence[tuple[int, float]], in_flight: float) -> float:
    """The factor for a number of exchanges in flight, on a line over its logarithm.

    Outside of what was measured it stays as it is at the nearest end; the advice says so.
    """
    slots, values = zip(*factors, strict=True)
    return float(np.interp(math.log(in_flight), [math.log(n) for n in slots], values))


def added_us(backend: Backend, need: Need) -> float | None:
    """What TLS, new connections and work add to a page; None where that was not measured."""
    extra, total = backend.extra, need.mean_work_us
    parts: list[tuple[float | None, float]] = []
    if need.tls:
        parts.append((extra.tls, 1.0))
    if need.pages_per_connection:
        parts.append((extra.opening, 1.0 / need.pages_per_connection))
        if need.tls:
            parts.append((extra.handshake, 1.0 / need.pages_per_connection))
    for value, weight in parts:
        if value is None:
            return None
        total += value * weight
    return total


def page_us(backend: Backend, in_flight: float) -> float:
    assert backend.page is not None
    return backend.page * factor_at(backend.factors, in_flight) * backend.alone


def full_rate(need: Need, total_us: float) -> float:
    """Pages per second that fill a process up to the planned load."""
    return need.load * 1e6 / total_us


def settled(
    backend: Backend, need: Need, added: float, processes: int
) -> tuple[float, float, float]:
    """Pages per second, what one takes, and the connections in use, with so many processes.

    Without a rate, as many as the processes can do: connections or processor end it. By Little's
    law the connections in use are the rate times the time that a page occupies one.
    """
    total, rate, used = added, need.rate or 0.0, 1.0 if need.rate else float(need.connections)
    for _ in range(ROUNDS):
        total = page_us(backend, used / processes) + added
        occupied_s = need.delay_s + total / 1e6
        rate = need.rate or min(need.connections / occupied_s, full_rate(need, total))
        used = rate * occupied_s
    return rate, total, used


def processes_for(backend: Backend, need: Need, added: float) -> int:
    """The fewest processes that carry the rate at the planned load.

    The interpreter's lock lets a process use about one processor. With more of them, each has
    fewer exchanges in flight, at which a page may cost less.
    """

    def carry(processes: int) -> bool:
        rate, total, _ = settled(backend, need, added, processes)
        return rate <= processes * ROUNDED * full_rate(need, total)

    return 1 + bisect_left(range(1, sys.maxsize), True, key=carry)


# --- the costs of a campaign -------------------------------------------------------------------

PageBlocks = Mapping[tuple[str, str], Mapping[int, float]]
"""(point, label) -> block -> microseconds of processor time per page, in turns or whole trials."""


def costs(analysis: Analysis) -> Costs | None:
    """The costs that a campaign measured; None where it compared interpreters, or no backends."""
    if analysis.campaign.interpreters or not analysis.labels:
        return None
    records = analysis.records
    point = widest_point(records) if analysis.campaign.rungs else None
    point = point or analysis.reference_point("throughput")
    trials = stats.trials_of(records, *CPU_PER_1000.workloads, twins=False)
    pages = stats.block_values(trials, CPU_PER_1000)
    sample = next((t for t in stats.trials_of(records) if t.point == point), None)
    floor = analysis.floor(CPU_PER_1000).log
    backends = [_backend(analysis, label, point, pages) for label in analysis.labels]
    spread = [t.pinning.get("client") for t in records.trials if t.backend in SPREADING]
    delays = {str(trial.params.get("delay") or "none") for trial in records.trials}
    environment = analysis.campaign.environment
    return Costs(
        campaign=analysis.campaign.campaign,
        machine=f"{environment.cpu_model or environment.machine}, {environment.python}",
        point=point if any(where == point for where, _ in pages) else None,
        slots=int((sample and number_param(sample, "slots")) or REFERENCE_SLOTS),
        floor=floor or 0.0,
        files=limits_of(analysis).get("nofile_hard"),
        longest_delay_ms=max((1000 * mean_delay_s(delay) for delay in delays), default=0.0),
        processors=max((len(cores) for cores in spread if isinstance(cores, list)), default=1),
        backends=_alone(analysis, backends),
    )


def limits_of(analysis: Analysis) -> dict[str, int]:
    limits = analysis.campaign.environment.limits
    return {name: value for name, value in limits.items() if isinstance(value, int)}


def _backend(analysis: Analysis, label: str, point: str | None, pages: PageBlocks) -> Backend:
    blocks = pages.get((point or "", label), {})
    trials = [t for t in analysis.records.trials if t.label == label]
    # How a page's cost changes with the slots, by the crawl of throughput, as in the report.
    crawls = stats.trials_of(analysis.records, "throughput", twins=False)
    points = {t.point: int(number_param(t, "slots") or 0) for t in crawls if t.label == label}
    crawled = {
        n: median(known.values()) for at, n in points.items() if (known := pages.get((at, label)))
    }
    base = crawled.get(REFERENCE_SLOTS)
    factors = [(n, value / base) for n, value in sorted(crawled.items()) if n > 1] if base else []
    factors = factors or [(REFERENCE_SLOTS, 1.0)]
    capacity = next((rung.most for rung in analysis.campaign.rungs if rung.name == label), None)
    plain, encrypted = (
        _held(analysis.records, fits, label, over_tls=over_tls) if label in fits else None
        for over_tls, fits in ((False, analysis.memory), (True, analysis.memory_over_tls))
    )
    highest = max((held.highest for held in (plain, encrypted) if held), default=0)
    bounds = list(_bounds(analysis, trials, factors, highest))
    if capacity is not None:
        bounds.append((capacity, f"One process holds at most {count(capacity)} connections."))
    most, why = min(bounds, default=(math.inf, ""))
    return Backend(
        name=label,
        most=most,
        why_most=why,
        no_tls=_no_tls(trials, capacity),
        page=median(blocks.values()) if len(blocks) >= FEWEST_BLOCKS else None,
        blocks=blocks,
        factors=factors,
        extra=_extra(analysis, label),
        plain=plain,
        encrypted=encrypted,
    )


def _alone(analysis: Analysis, backends: Sequence[Backend]) -> list[Backend]:
    """The backends with what a page takes of a program that has its processor to itself.

    In turns, every other backend leaves cold caches behind. One point was measured in whole trials
    as well; a backend without such trials gets the factor of the base.
    """
    point = analysis.reference_point("whole")
    trials = analysis.at_point(point) if point else {}
    known = {}
    for backend in backends:
        opening = backend.extra.opening or 0.0
        taken = [
            (1e6 / trial.pages_per_s - slots * opening / pages) / page_us(backend, slots)
            for trial in trials.get(backend.name, ())
            if backend.page is not None and trial.pages_per_s and (pages := _pages_of(trial))
            for slots in [number_param(trial, "slots") or 1.0]
        ]
        if taken:
            known[backend.name] = median(taken)
    usual = known.get(analysis.base, 1.0)
    return [replace(backend, alone=known.get(backend.name, usual)) for backend in backends]


def _pages_of(trial: TrialRecord) -> int | None:
    """The pages of a trial's site, if it is a tree."""
    kind, *rest = str(trial.params.get("site")).split(":")
    return int(rest[0]) if kind == "tree" else None


def _bounds(
    analysis: Analysis,
    trials: Sequence[TrialRecord],
    factors: Sequence[tuple[int, float]],
    highest: int,
) -> Iterator[tuple[float, str]]:
    """The most connections of a process, with the reason: threads, selector, what was measured."""
    limits = limits_of(analysis)
    threads = [n for name in ("threads_max", "pid_max") if (n := limits.get(name)) is not None]
    if (maps := limits.get("max_map_count")) is not None:
        threads.append((maps - SPARE_MAPS) // limits.get("maps_per_thread", MAPS_PER_THREAD))
    if threads and any(_a_thread_each(t) for t in trials):
        yield (
            min(threads),
            f"The settings of the measured machine allow {count(min(threads))} threads at most: "
            "see python -m bench doctor.",
        )
    if any(t.mechanism.get("selector") in SCANNING for t in trials):
        measured = factors[-1][0]
        yield (
            measured,
            "Its selector looks at every connection at each wake-up, idle or not, and its "
            f"processor time was measured with at most {count(measured)}.",
        )
    if highest:
        yield (
            FURTHEST * highest,
            f"At most {count(highest)} connections in a process were measured: that says nothing "
            f"about more than {count(FURTHEST * highest)}.",
        )


def _a_thread_each(trial: TrialRecord) -> bool:
    """Whether it had as many threads as slots, so that each holds one connection."""
    threads = trial.memory.held.threads if trial.memory else trial.mechanism.get("threads")
    return isinstance(threads, int) and threads >= (number_param(trial, "slots") or 0) > 1


def _no_tls(trials: Sequence[TrialRecord], capacity: int | None) -> str | None:
    """Why it refuses TLS: a refusal that the number of connections does not explain."""
    for trial in trials:
        if trial.status != "refused" or not trial.params.get("tls"):
            continue
        if capacity is None or (number_param(trial, "slots") or 0) <= capacity:
            return (trial.reason or "no reason given").partition("no HTTPS: ")[2] or trial.reason
    return None


def changed(analysis: Analysis, label: str) -> list[str]:
    """A backend, the one that it changes, the one that this changes, and so on.

    A whole HTTP stack does more than a model, so neither stands for the other.
    """
    against = {rung.name: rung.against for rung in analysis.campaign.rungs}
    chain: list[str] = []
    source: str | None = label
    while source is not None and source not in chain:
        chain.append(source)
        base = against.get(source)
        same = (base in analysis.stacks) == (source in analysis.stacks)
        source = base if base in against and same else None
    return chain


def _extra(analysis: Analysis, label: str) -> Extra:
    """What TLS and new connections add, as the report has it.

    What was not measured for a variant is what the backend that it changes has, see
    :data:`bench.plan.participants.TLS_PAGES`.
    """
    opened, encrypted = analysis.once(churn.measured), analysis.once(tls_pages.measured)
    names = changed(analysis, label)
    page = next((name for name in names if encrypted.spread(name, tls_pages.HANDSHAKE)), None)
    opening = next((name for name in names if name in opened.values), None)

    def added(measured: Measured, name: str | None, key: str) -> float | None:
        spread = measured.spread(name, key) if name else None
        return max(spread.median, 0.0) if spread else None

    return Extra(
        tls=added(encrypted, page, tls_pages.ENCRYPTION),
        opening=added(opened, opening, churn.OPENING),
        handshake=added(encrypted, page, tls_pages.HANDSHAKE),
        tls_of=page,
        opening_of=opening,
    )


OWN: Final = {
    "user": "user_bytes",
    "page tables": "page_table_bytes",
    "kernel stacks": "kernel_stack_bytes",
}
"""Parts that a process has before its first connection, and their names in a record."""


def _held(
    records: Records, fits: Mapping[str, MemoryFit], label: str, *, over_tls: bool
) -> MemoryHeld | None:
    """What a backend holds: user memory alone, where a part of the kernel's is missing for any."""
    fit = fits[label]
    if fit.user is None:
        return None
    in_all = stats.read_in_all(fits.values())
    before = [
        t.memory.before
        for t in stats.held_trials(records, over_tls=over_tls)[fit.label]
        if t.memory
    ]

    def fixed(part: str) -> float:
        if (fitted := fit.parts[part].fixed) is not None:
            return max(fitted, 0.0)
        spread = stats.spread(getattr(memory, OWN[part]) for memory in before)
        return max(spread.median, 0.0) if spread else 0.0

    return MemoryHeld(
        each=(fit.total if in_all else None) or fit.user,
        fixed=sum(fixed(part) for part in OWN if in_all or part == "user"),
        highest=max(fit.connections),
        in_all=in_all,
    )
