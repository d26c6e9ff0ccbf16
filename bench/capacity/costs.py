"""What the model is made from: the costs of each backend, as a campaign measured them.

All of it can be written as JSON, so that the page of a campaign calculates the same.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypedDict

import numpy as np
from scipy import stats as sps

from bench.analysis import stats
from bench.analysis.analysis import REFERENCE_SLOTS, Analysis
from bench.analysis.encryption import EACH_PAGE, FETCHED
from bench.analysis.ladder import STACK
from bench.analysis.segments import per_exchange
from bench.analysis.stats import CPU_PER_1000, MEMORY_PARTS, OWN_PARTS, MemoryFit
from bench.analysis.stats.records import number_param
from bench.plan.cast import SPREADING
from bench.plan.workloads import mean_delay_s
from bench.schema import TrialRecord
from bench.store import Records
from crawlers.catalogue import HANDED_OVER

USER: Final = "user"
FEWEST_BLOCKS: Final = 2
"""An interval needs two blocks."""


@dataclass(frozen=True, slots=True)
class Held:
    """Memory of the client: bytes for a connection, and bytes of a process without any."""

    user: float
    kernel: float
    low: float  # 95 % interval of the user part; the part itself where there is none
    high: float
    fixed_user: float
    fixed_kernel: float
    highest: int  # the most connections of a process at which it was read
    missing: tuple[str, ...] = ()  # parts of the kernel's memory that could not be read


@dataclass(frozen=True, slots=True)
class Answered:
    """Response time of the open loop at one rate, medians over blocks."""

    rate: float
    load: float  # of what one processor could do
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Extra:
    """What a page takes beyond one on a kept connection of plain HTTP."""

    source: str | None = None  # the backend it was measured with; None where it was not
    tls: float | None = None  # for each page over TLS
    opening: float | None = None  # for a page on a new connection
    handshake: float | None = None  # for a full handshake of a new connection


@dataclass(frozen=True, slots=True)
class Backend:
    """What one backend costs. Times are microseconds of processor time."""

    name: str
    stack: bool
    threaded: bool
    in_turn: bool  # work on one page lets others go on, so they are not in one queue
    most: int | None  # connections that a process can hold
    no_tls: str | None  # why it refuses TLS
    page: float | None  # a crawled page at the reference point
    blocks: Mapping[int, float]  # the same in each block
    factors: Sequence[tuple[int, float]]  # slots -> times the page at the reference point
    extra: Extra = field(default_factory=lambda: Extra())
    plain: Held | None = None
    encrypted: Held | None = None
    answered: Sequence[Answered] = ()


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of every backend of a campaign, and what limits all of them."""

    campaign: str
    machine: str
    point: str | None  # where pages were compared; None where they were not
    slots: int  # at that point
    floor: float  # of the noise, as a log ratio
    quantiles: Mapping[int, float]  # of Student's t, by the number of blocks
    limits: Mapping[str, int]  # of the machine that was measured
    longest_delay_ms: float
    tls_slots: int | None
    processors: int  # the most that a client was measured on
    alone: float = 1.0  # a page of a program alone on its processor, over one in turns
    backends: Sequence[Backend] = field(default_factory=list)

    def of(self, name: str) -> Backend:
        """The costs of one backend."""
        return next(each for each in self.backends if each.name == name)


def costs(analysis: Analysis) -> Costs | None:
    """The costs that a campaign measured; None where it compared interpreters, or no backends."""
    if analysis.releases or not analysis.labels:
        return None
    records = analysis.records
    point = analysis.ladder.point if analysis.ladder else analysis.reference_point("throughput")
    pages, modes = page_blocks(records), _modes(records)
    at_point = {label: blocks for (where, label), blocks in pages.items() if where == point}
    sample = next((t for t in stats.trials_of(records) if t.point == point), None)
    slots = int(number_param(sample, "slots") or REFERENCE_SLOTS) if sample else REFERENCE_SLOTS
    most = max((len(blocks) for blocks in at_point.values()), default=0)
    floor = stats.aa_noise_floor(records, CPU_PER_1000, "turns").log
    if floor is None:
        floor = analysis.floor(CPU_PER_1000).log
    environment = analysis.campaign.environment
    return Costs(
        campaign=analysis.campaign.campaign,
        machine=f"{environment.cpu_model or environment.machine}, {environment.python}",
        point=point if at_point else None,
        slots=slots,
        floor=floor or 0.0,
        quantiles={n: float(sps.t.ppf(0.5 + stats.LEVEL / 2, n - 1)) for n in range(2, most + 1)},
        limits={k: v for k, v in environment.limits.items() if isinstance(v, int)},
        longest_delay_ms=max(
            (1000 * delay for t in records.trials if (delay := delay_of(t)) is not None),
            default=0.0,
        ),
        tls_slots=next(
            (int(number_param(t, "slots") or 0) for t in stats.trials_of(records, FETCHED)), None
        ),
        processors=max(
            (len(c) for t in records.trials if isinstance(c := t.pinning.get("client"), list)),
            default=1,
        ),
        backends=[
            Backend(
                name=label,
                page=middle(blocks) if len(blocks) >= FEWEST_BLOCKS else None,
                blocks=blocks,
                factors=_factors(analysis, label, pages),
                extra=_extra(analysis, label, modes),
                answered=_answered(analysis, label, pages),
                **_of_records(analysis, label),
            )
            for label in analysis.labels
            for blocks in [at_point.get(label, {})]
        ],
    )


Pages = Mapping[tuple[str, str], Mapping[int, float]]
"""(point, label) -> block -> microseconds of processor time per page."""

Modes = Mapping[tuple[str, str], Sequence[float]]
"""(label, mode) -> microseconds per page, one for each block."""


def delay_of(trial: TrialRecord) -> float | None:
    """The mean of the server's delay in seconds; None where the record's cannot be read."""
    try:
        found = mean_delay_s(str(trial.params.get("delay") or "none"))
    except (ValueError, IndexError, OverflowError):
        return None
    return found if math.isfinite(found) and found >= 0 else None


def page_blocks(records: Records) -> Pages:
    """What pages cost, in turns or in whole trials."""
    trials = stats.trials_of(records, *CPU_PER_1000.workloads, "openloop", twins=False)
    return stats.block_values(trials, CPU_PER_1000)


def middle(blocks: Mapping[int, float]) -> float:
    """The geometric mean over blocks, as ratios have it."""
    return float(np.exp(np.mean(np.log(list(blocks.values())))))


class _OfRecords(TypedDict):
    """What the records say of a backend, its costs apart."""

    stack: bool
    threaded: bool
    in_turn: bool
    most: int | None
    no_tls: str | None
    plain: Held | None
    encrypted: Held | None


def _of_records(analysis: Analysis, label: str) -> _OfRecords:
    rung = next((rung for rung in analysis.campaign.rungs if rung.name == label), None)
    trial = next(t for t in analysis.records.trials if t.label == label)
    plain, over = analysis.memory.get(label), analysis.memory_over_tls.get(label)
    most = rung.most if rung else None
    return {
        "stack": (rung.family if rung else trial.family) == STACK,
        "threaded": _starts_threads(analysis, label),
        "in_turn": trial.backend in (*HANDED_OVER, *SPREADING) or _has_threads(analysis, label),
        "most": most,
        "no_tls": _no_tls(analysis, label, most),
        "plain": _held(analysis.records, plain, over_tls=False) if plain else None,
        "encrypted": _held(analysis.records, over, over_tls=True) if over else None,
    }


def _starts_threads(analysis: Analysis, label: str) -> bool:
    """Whether it held its connections with as many threads, by the records of memory."""
    return any(
        t.memory.held.threads >= t.memory.connections > 1
        for t in stats.held_trials(analysis.records).get(label, ())
        if t.memory
    )


def _has_threads(analysis: Analysis, label: str) -> bool:
    """Whether it crawled with as many threads as slots, so that work does not stop the others."""
    return any(
        isinstance(threads := t.mechanism.get("threads"), int)
        and threads >= (number_param(t, "slots") or 0) > 1
        for t in analysis.records.trials
        if t.label == label
    )


def _no_tls(analysis: Analysis, label: str, most: int | None) -> str | None:
    """Why it refuses TLS: a refusal that the number of connections does not explain."""
    refused = [
        trial
        for trial in stats.trials_of(analysis.records, status="refused", twins=False)
        if trial.label == label and trial.params.get("tls")
    ]
    for trial in refused:
        if most is None or (number_param(trial, "slots") or 0) <= most:
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
    """A backend, the one that it changes, the one that this changes, and so on."""
    against = {rung.name: rung.against for rung in analysis.campaign.rungs}
    seen: set[str] = set()
    source: str | None = label
    while source is not None and source not in seen:
        yield source
        seen.add(source)
        source = against.get(source)


def _extra(analysis: Analysis, label: str, modes: Modes) -> Extra:
    """What TLS and new connections add, by the measurements of the backend.

    A rung that was not measured over TLS does it as the backend that it changes, see
    :data:`bench.plan.over_tls.PAGES_OF`.
    """
    for source in changed(analysis, label):
        if (source, "plain") in modes:
            tls, plain, churn, handshake = (
                modes.get((source, mode), ()) for mode in ("tls", "plain", "churn", "handshake")
            )
            return Extra(source, _added(tls, plain), _added(churn, plain), _added(handshake, churn))
    return Extra()


def _modes(records: Records) -> Modes:
    """Microseconds per page of each backend in each mode, one value for each block."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for trial in stats.trials_of(records, FETCHED, EACH_PAGE, twins=False):
        value = per_exchange(trial)
        if value is not None:
            found[trial.label, str(trial.params.get("mode"))].append(value)
    return found


def _added(one: Sequence[float], other: Sequence[float]) -> float | None:
    """The difference of the medians, at least 0: below is noise."""
    if not one or not other:
        return None
    return max(float(np.median(one)) - float(np.median(other)), 0.0)


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
        low=user if part.low is None else part.low,
        high=user if part.high is None else part.high,
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


def _answered(analysis: Analysis, label: str, pages: Pages) -> list[Answered]:
    """The open loop at each rate; its load is by the cost of a page that is only fetched."""
    blocks = pages.get((analysis.reference_point("fetch") or "", label))
    if not blocks:
        return []
    found = []
    for rate, trials in analysis.by_size("openloop", "rate").get(label, {}).items():
        times = [t.response_time for t in trials if t.response_time]
        p50, p99 = (
            stats.spread(getattr(time, name) for time in times) for name in ("p50_ms", "p99_ms")
        )
        if p50 and p99:
            load = rate * middle(blocks) / 1e6
            found.append(Answered(rate, load, p50.median, p99.median))
    return found
