"""What the model is made from: the costs of each backend, as a campaign measured them.

All of it can be written as JSON, so that the page of a campaign calculates the same. What the
report says too, such as the cost of opening a connection, is read from the same analysis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy import stats as sps

from bench.analysis import stats
from bench.analysis.analysis import REFERENCE_SLOTS, Analysis
from bench.analysis.ladder import STACK
from bench.analysis.stats import CPU_PER_1000, MEMORY_PARTS, OWN_PARTS, MemoryFit
from bench.analysis.stats.records import number_param
from bench.machine.doctor.limits import MAPS_PER_THREAD, SPARE_MAPS
from bench.plan.cast import SPREADING
from bench.plan.workloads import mean_delay_s
from bench.questions import churn
from bench.schema import TrialRecord
from bench.show.measured import Measured
from bench.store import Records
from bench.text import count
from crawlers.catalogue import HANDED_OVER

USER: Final = "user"
FEWEST_BLOCKS: Final = 2
"""An interval needs two blocks."""

SCANNING: Final = ("SelectSelector", "PollSelector")
"""Selectors that look at every connection at each wake-up, whether anything happened on it."""

FURTHEST: Final = 10
"""Memory is calculated for up to so many times the connections that it was measured with."""


@dataclass(frozen=True, slots=True)
class Held:
    """Memory of the client: bytes for a connection, and bytes of a process without any."""

    user: float
    kernel: float
    fixed_user: float
    fixed_kernel: float
    highest: int  # the most connections of a process at which it was read
    missing: tuple[str, ...] = ()  # parts of the kernel's memory that could not be read


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
    in_turn: bool  # work on one page lets others go on, so they are not in one queue
    most: float  # connections that a process can hold, or for which its costs are known
    why_most: str  # what more of them is refused with
    no_tls: str | None  # why it refuses TLS
    page: float | None  # a crawled page at the reference point
    blocks: Mapping[int, float]  # the same in each block
    factors: Sequence[tuple[int, float]]  # slots -> times the page at the reference point
    extra: Extra = field(default_factory=Extra)
    plain: Held | None = None
    encrypted: Held | None = None


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of every backend of a campaign, and what limits all of them."""

    campaign: str
    machine: str
    point: str | None  # where pages were compared; None where they were not
    slots: int  # at that point
    floor: float  # of the noise, as a log ratio
    quantiles: Mapping[int, float]  # of Student's t, by the number of blocks
    files: int | None  # that one process of the measured machine may open
    longest_delay_ms: float
    processors: int  # the most that one backend was spread over
    alone: float = 1.0  # a page of a program alone on its processor, over one in turns
    backends: Sequence[Backend] = ()

    def of(self, name: str) -> Backend:
        """The costs of one backend."""
        return next(each for each in self.backends if each.name == name)


def costs(analysis: Analysis) -> Costs | None:
    """The costs that a campaign measured; None where it compared interpreters, or no backends."""
    if analysis.releases or not analysis.labels:
        return None
    records = analysis.records
    point = analysis.ladder.point if analysis.ladder else analysis.reference_point("throughput")
    pages, opened = page_blocks(records), churn.measured(analysis)
    at_point = {label: blocks for (where, label), blocks in pages.items() if where == point}
    sample = next((t for t in stats.trials_of(records) if t.point == point), None)
    most = max((len(blocks) for blocks in at_point.values()), default=0)
    floor = stats.aa_noise_floor(records, CPU_PER_1000, "turns").log
    if floor is None:
        floor = analysis.floor(CPU_PER_1000).log
    environment, limits = analysis.campaign.environment, limits_of(analysis)
    spread = [t.pinning.get("client") for t in records.trials if t.backend in SPREADING]
    return Costs(
        campaign=analysis.campaign.campaign,
        machine=f"{environment.cpu_model or environment.machine}, {environment.python}",
        point=point if at_point else None,
        slots=int((sample and number_param(sample, "slots")) or REFERENCE_SLOTS),
        floor=floor or 0.0,
        quantiles={n: float(sps.t.ppf(0.5 + stats.LEVEL / 2, n - 1)) for n in range(2, most + 1)},
        files=limits.get("nofile_hard"),
        longest_delay_ms=max(
            (1000 * delay for t in records.trials if (delay := delay_of(t)) is not None),
            default=0.0,
        ),
        processors=max((len(cores) for cores in spread if isinstance(cores, list)), default=1),
        backends=[_backend(analysis, label, point, pages, opened) for label in analysis.labels],
    )


def limits_of(analysis: Analysis) -> dict[str, int]:
    """The limits of the measured machine that are numbers."""
    limits = analysis.campaign.environment.limits
    return {name: value for name, value in limits.items() if isinstance(value, int)}


Pages = Mapping[tuple[str, str], Mapping[int, float]]
"""(point, label) -> block -> microseconds of processor time per page."""


def delay_of(trial: TrialRecord) -> float | None:
    """The mean of the server's delay in seconds; None where the record's cannot be read."""
    try:
        found = mean_delay_s(str(trial.params.get("delay") or "none"))
    except (ValueError, IndexError, OverflowError):
        return None
    return found if math.isfinite(found) and found >= 0 else None


def page_blocks(records: Records) -> Pages:
    """What pages cost, in turns or in whole trials."""
    trials = stats.trials_of(records, *CPU_PER_1000.workloads, twins=False)
    return stats.block_values(trials, CPU_PER_1000)


def middle(blocks: Mapping[int, float]) -> float:
    """The geometric mean over blocks, as ratios have it."""
    return float(np.exp(np.mean(np.log(list(blocks.values())))))


def _backend(
    analysis: Analysis, label: str, point: str | None, pages: Pages, opened: Measured
) -> Backend:
    blocks = pages.get((point or "", label), {})
    mine = [t for t in analysis.records.trials if t.label == label]
    factors = _factors(analysis, label, pages)
    rung = next((rung for rung in analysis.campaign.rungs if rung.name == label), None)
    capacity = rung.most if rung else None
    plain, encrypted = (
        _held(analysis.records, fits[label], over_tls=over_tls) if label in fits else None
        for over_tls, fits in ((False, analysis.memory), (True, analysis.memory_over_tls))
    )
    bounds = [*_bounds(analysis, mine, factors), *_held_bounds(plain, encrypted)]
    if capacity is not None:
        bounds.append((capacity, f"A process of it holds at most {count(capacity)} connections."))
    most, why = min(bounds, default=(math.inf, ""))
    handed_over = any(t.backend in (*HANDED_OVER, *SPREADING) for t in mine)
    return Backend(
        name=label,
        in_turn=handed_over or any(_a_thread_each(t) for t in mine),
        most=most,
        why_most=why,
        no_tls=_no_tls(mine, capacity),
        page=middle(blocks) if len(blocks) >= FEWEST_BLOCKS else None,
        blocks=blocks,
        factors=factors,
        extra=_extra(analysis, label, opened),
        plain=plain,
        encrypted=encrypted,
    )


def _bounds(
    analysis: Analysis, trials: Sequence[TrialRecord], factors: Sequence[tuple[int, float]]
) -> Iterator[tuple[float, str]]:
    """The most connections of a process, with the reason, by its threads and its selector."""
    limits = limits_of(analysis)
    threads = [n for name in ("threads_max", "pid_max") if (n := limits.get(name)) is not None]
    if (maps := limits.get("max_map_count")) is not None:
        threads.append((maps - SPARE_MAPS) // MAPS_PER_THREAD)
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


def _held_bounds(*held: Held | None) -> Iterator[tuple[float, str]]:
    highest = max((each.highest for each in held if each), default=None)
    if highest is not None:
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


def _factors(analysis: Analysis, label: str, pages: Pages) -> list[tuple[int, float]]:
    """How a page's cost changes with the slots, by the crawl of throughput."""
    found: dict[int, float] = {}
    for trial in stats.trials_of(analysis.records, "throughput", twins=False):
        slots = int(number_param(trial, "slots") or 0)
        if trial.label == label and slots > 1 and (trial.point, label) in pages:
            found[slots] = middle(pages[trial.point, label])
    base = found.get(REFERENCE_SLOTS)
    if base is None:
        return [(REFERENCE_SLOTS, 1.0)]
    return [(slots, value / base) for slots, value in sorted(found.items())]


def changed(analysis: Analysis, label: str) -> Iterator[str]:
    """A backend, the one that it changes, the one that this changes, and so on.

    A whole HTTP stack does more than a model, so neither stands for the other.
    """
    rungs = {rung.name: rung for rung in analysis.campaign.rungs}
    families = {name: rung.family == STACK for name, rung in rungs.items()}
    seen: set[str | None] = {None}
    source: str | None = label
    while source is not None and source not in seen:
        yield source
        seen.add(source)
        against = rungs[source].against if source in rungs else None
        source = against if families.get(against or "") == families.get(source) else None


def _extra(analysis: Analysis, label: str, opened: Measured) -> Extra:
    """What TLS and new connections add, as the report has it.

    What was not measured for a variant is what the backend that it changes has, see
    :data:`bench.plan.over_tls.PAGES_OF`.
    """
    tls = {row.label: row for row in analysis.encryption.pages if row.handshake}
    names = list(changed(analysis, label))
    page, opening = (next((n for n in names if n in of), None) for of in (tls, opened.values))
    row = tls[page] if page else None
    return Extra(
        tls=max(row.encryption.median - 1, 0.0) * row.costs["plain"].median
        if row and row.encryption
        else None,
        opening=max(opened.median(opening, churn.OPENING), 0.0) if opening else None,
        handshake=max(row.handshake.median, 0.0) if row and row.handshake else None,
        tls_of=page,
        opening_of=opening,
    )


def _held(records: Records, fit: MemoryFit, *, over_tls: bool) -> Held | None:
    trials = stats.held_trials(records, over_tls=over_tls)[fit.label]
    part = fit.parts[USER]
    user = fit.at_highest[USER] if part.slope is None else part.slope
    if user is None:
        return None
    rest = {
        name: fit.at_highest[name] if fit.parts[name].slope is None else fit.parts[name].slope
        for name in MEMORY_PARTS
        if name != USER
    }
    fixed = {
        name: before if (before := fit.parts[name].fixed) is not None else _before(trials, name)
        for name in MEMORY_PARTS
        if name in OWN_PARTS
    }
    return Held(
        user=max(user, 0.0),
        kernel=sum(max(value, 0.0) for value in rest.values() if value is not None),
        fixed_user=max(fixed.pop(USER), 0.0),
        fixed_kernel=sum(max(value, 0.0) for value in fixed.values()),
        highest=max(fit.connections),
        missing=tuple(name for name, value in rest.items() if value is None),
    )


def _before(trials: Sequence[TrialRecord], name: str) -> float:
    """Bytes of a process before its first connection."""
    field_of = {
        USER: "user_bytes",
        "page tables": "page_table_bytes",
        "kernel stacks": "kernel_stack_bytes",
    }
    values = [getattr(t.memory.before, field_of[name]) for t in trials if t.memory]
    found = stats.spread(values)
    return found.median if found else 0.0
