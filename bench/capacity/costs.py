"""The costs that a campaign measured, in the form that the advice calculates with.

They are those that the report has: each is read from the same answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import CPU_PER_1000, MemoryFit
from bench.analysis.stats.memory import OWN_PARTS, PART_FIELDS
from bench.analysis.stats.records import number_param, widest_point
from bench.machine.doctor import MAPS_PER_THREAD, SPARE_DESCRIPTORS, SPARE_MAPS
from bench.plan.participants import SPREADING
from bench.plan.workloads import REFERENCE_SLOTS, mean_delay_s
from bench.questions import churn, tls_pages
from bench.schema import TrialRecord
from bench.store import Records
from bench.text import count

SCANNING: Final = ("SelectSelector", "PollSelector")
"""Selectors that look at every connection at each wake-up, whether anything happened on it."""

FURTHEST: Final = 10
"""Memory is calculated for up to so many times the connections that it was measured with."""

ADDED: Final = {
    "TLS": (tls_pages.measured, tls_pages.ENCRYPTION),
    "opening a connection": (churn.measured, churn.OPENING),
    "a handshake": (tls_pages.measured, tls_pages.HANDSHAKE),
}
"""What is added to a page on a kept connection of plain HTTP: to each page over TLS, to a page on a
new connection, for a full handshake of one. Where that was measured, and under which key."""


@dataclass(frozen=True, slots=True)
class MemoryHeld:
    """Memory of the client: bytes for a connection, and bytes of a process without any."""

    each: float
    fixed: float
    highest: int  # the most connections of a process at which it was read
    in_all: bool = True  # otherwise user memory alone: not all of the kernel's could be read


@dataclass(frozen=True, slots=True)
class Added:
    """What one of :data:`ADDED` costs, and the backend that it was measured with."""

    us: float
    of: str


@dataclass(frozen=True, slots=True)
class Bound:
    """The most connections that one thing allows, or for which costs are known."""

    most: float
    why: str  # a sentence
    in_all: bool = False  # of all processes of a machine together; otherwise of each


@dataclass(frozen=True, slots=True)
class Backend:
    """What one backend costs. Times are microseconds of processor time."""

    name: str
    bounds: Sequence[Bound]
    no_tls: str | None  # why it refuses TLS
    page: float | None  # a crawled page at the reference point
    blocks: Mapping[int, float]  # the same in each block
    factors: Sequence[tuple[int, float]]  # slots -> times the page at the reference point
    added: Mapping[str, Added] = field(default_factory=dict)  # what was measured of ADDED
    alone: float = 1.0  # a page of a program alone on its processor, over one in turns
    plain: MemoryHeld | None = None
    encrypted: MemoryHeld | None = None

    def factor(self, in_flight: float) -> float:
        """The factor for a number of exchanges in flight, on a line over its logarithm.

        Outside of what was measured it stays as it is at the nearest end; the advice says so.
        """
        slots, values = zip(*self.factors, strict=True)
        return float(np.interp(math.log(in_flight), [math.log(n) for n in slots], values))

    def page_us(self, in_flight: float) -> float:
        assert self.page is not None
        return self.page * self.factor(in_flight) * self.alone


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of every backend of a campaign, and what limits all of them."""

    campaign: str
    machine: str
    point: str | None  # where pages were compared; None where they were not
    slots: int  # at that point
    floor: float  # of the noise, as a log ratio
    longest_delay_ms: float
    processors: int  # the most that one backend was spread over
    backends: Sequence[Backend] = ()

    def of(self, name: str) -> Backend:
        return next(backend for backend in self.backends if backend.name == name)


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
    spread = [t.pinning.get("client") for t in records.trials if t.backend in SPREADING]
    delays = {str(trial.params.get("delay") or "none") for trial in records.trials}
    environment = analysis.campaign.environment
    measured = [_backend(analysis, label, point, pages) for label in analysis.labels]
    return Costs(
        campaign=analysis.campaign.campaign,
        machine=f"{environment.cpu_model or environment.machine}, {environment.python}",
        point=point if any(where == point for where, _ in pages) else None,
        slots=int((sample and number_param(sample, "slots")) or REFERENCE_SLOTS),
        floor=analysis.floor(CPU_PER_1000).log or 0.0,
        longest_delay_ms=max((1000 * mean_delay_s(delay) for delay in delays), default=0.0),
        processors=max((len(cores) for cores in spread if isinstance(cores, list)), default=1),
        backends=_alone(analysis, measured),
    )


def _backend(
    analysis: Analysis,
    label: str,
    point: str | None,
    pages: Mapping[tuple[str, str], Mapping[int, float]],  # by point and label, of each block
) -> Backend:
    blocks = pages.get((point or "", label), {})
    trials = [t for t in analysis.records.trials if t.label == label]
    # How a page's cost changes with the slots, by the crawl of throughput, as in the report.
    crawls = stats.trials_of(analysis.records, "throughput", twins=False)
    points = {t.point: int(number_param(t, "slots") or 0) for t in crawls if t.label == label}
    crawled = {
        n: stats.average([*known.values()])
        for at, n in points.items()
        if (known := pages.get((at, label)))
    }
    base = crawled.get(REFERENCE_SLOTS)
    factors = [(n, value / base) for n, value in sorted(crawled.items()) if n > 1] if base else []
    factors = factors or [(REFERENCE_SLOTS, 1.0)]
    capacity = next((rung.most for rung in analysis.campaign.rungs if rung.name == label), None)
    plain = _held(analysis.records, analysis.memory, label, over_tls=False)
    encrypted = _held(analysis.records, analysis.memory_over_tls, label, over_tls=True)
    highest = max((held.highest for held in (plain, encrypted) if held), default=0)
    bounds = list(_bounds(analysis, trials, factors, highest))
    if capacity is not None:
        bounds.append(Bound(capacity, f"One process holds at most {count(capacity)} connections."))
    return Backend(
        name=label,
        bounds=bounds,
        no_tls=_no_tls(trials),
        page=stats.middle(blocks.values()) if len(blocks) > 1 else None,  # or there is no interval
        blocks=blocks,
        factors=factors,
        added=dict(_added(analysis, label)),
        plain=plain,
        encrypted=encrypted,
    )


def _alone(analysis: Analysis, backends: Sequence[Backend]) -> list[Backend]:
    """The backends with what a page takes of a program that has its processor to itself.

    In turns, every other backend leaves cold caches behind. One point was measured in whole trials
    as well; a backend without such trials gets the factor of the base.
    """
    point = analysis.reference_point("whole")
    trials_of = analysis.at_point(point) if point else {}
    known = {}
    for backend in backends:
        opening = backend.added.get("opening a connection", Added(0.0, "")).us
        ratios = [
            (1e6 / trial.pages_per_s - slots * opening / trial.pages) / backend.page_us(slots)
            for trial in trials_of.get(backend.name, ())
            if backend.page is not None and trial.pages_per_s and trial.pages
            for slots in [number_param(trial, "slots") or 1.0]
        ]
        if ratios and (ratio := stats.average(ratios)) > 0:
            known[backend.name] = ratio
    usual = known.get(analysis.base, 1.0)
    return [replace(backend, alone=known.get(backend.name, usual)) for backend in backends]


def _bounds(
    analysis: Analysis,
    trials: Sequence[TrialRecord],
    factors: Sequence[tuple[int, float]],
    highest: int,
) -> Iterator[Bound]:
    """What the machine allows, what a selector scans, and what was measured."""
    known = analysis.campaign.environment.limits
    limits = {name: value for name, value in known.items() if isinstance(value, int)}
    threads = [limits[name] for name in ("threads_max", "pid_max") if name in limits]
    if "max_map_count" in limits:
        each = limits.get("maps_per_thread", MAPS_PER_THREAD)
        threads.append((limits["max_map_count"] - SPARE_MAPS) // each)
    if threads and any(_a_thread_each(t) for t in trials):
        yield Bound(
            min(threads),
            f"The settings of the measured machine allow {count(min(threads))} threads at most: "
            "see python -m bench doctor.",
            in_all=True,
        )
    if descriptors := limits.get("nofile_hard"):
        yield Bound(
            descriptors - SPARE_DESCRIPTORS,
            f"A process of the measured machine may open {count(descriptors)} descriptors at most "
            "(ulimit -Hn).",
        )
    if any(t.mechanism.get("selector") in SCANNING for t in trials):
        measured = factors[-1][0]
        yield Bound(
            measured,
            "Its selector looks at every connection at each wake-up, idle or not, and its "
            f"processor time was measured with at most {count(measured)}.",
        )
    if highest:
        yield Bound(
            FURTHEST * highest,
            f"At most {count(highest)} connections in a process were measured: that says nothing "
            f"about more than {count(FURTHEST * highest)}.",
        )


def _a_thread_each(trial: TrialRecord) -> bool:
    """Whether it had as many threads as slots, so that each holds one connection."""
    threads = trial.memory.held.threads if trial.memory else trial.mechanism.get("threads")
    return isinstance(threads, int) and threads >= (number_param(trial, "slots") or 0) > 1


def _no_tls(trials: Sequence[TrialRecord]) -> str | None:
    """Why it refuses TLS, as preflight says it."""
    reasons = (trial.reason or "" for trial in trials)
    return next((why for text in reasons if (why := text.partition("no HTTPS: ")[2])), None)


def _added(analysis: Analysis, label: str) -> Iterator[tuple[str, Added]]:
    """What TLS and new connections add, as the report has it.

    What was not measured for a variant is what the backend that it changes has, see
    :data:`bench.plan.participants.TLS_PAGES`.
    """
    for what, (measured, key) in ADDED.items():
        for name in changed(analysis, label):
            if spread := analysis.once(measured).spread(name, key):
                yield what, Added(max(spread.value, 0.0), name)
                break


def changed(analysis: Analysis, label: str) -> list[str]:
    """A backend, the one that it changes, the one that this changes, and so on.

    A whole HTTP stack does more than a model, so neither stands for the other.
    """
    against = {rung.name: rung.against for rung in analysis.campaign.rungs}
    chain = [label]
    while (base := against.get(chain[-1])) in against and base not in chain:
        if (base in analysis.stacks) != (label in analysis.stacks):
            break
        chain.append(base)
    return chain


def _held(
    records: Records, fits: Mapping[str, MemoryFit], label: str, *, over_tls: bool
) -> MemoryHeld | None:
    """What a backend holds: user memory alone, where a part of the kernel's is missing for any."""
    fit = fits.get(label)
    if fit is None or fit.user is None:
        return None
    in_all = stats.read_in_all(fits.values())
    trials = stats.held_trials(records, over_tls=over_tls)[label]
    before = [trial.memory.before for trial in trials if trial.memory]

    def fixed(part: str) -> float:
        # Without a line, what was there before the first connection.
        value = fit.parts[part].fixed
        if value is None:
            parts = (getattr(memory, PART_FIELDS[part]) for memory in before)
            value = stats.middle(parts, "median")
        return max(value or 0.0, 0.0)

    own = [part for part in PART_FIELDS if part in (OWN_PARTS if in_all else {"user"})]
    return MemoryHeld(
        each=(fit.total if in_all else None) or fit.user,
        fixed=sum(map(fixed, own)),
        highest=max(fit.connections),
        in_all=in_all,
    )
