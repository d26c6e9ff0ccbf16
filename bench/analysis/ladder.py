"""The ladder: every backend compared with the one it changes a single thing of.

The campaign record says what each backend changes and against which other, as
the registry described it at the time. A step's ratio is paired like any other. Steps of
CPU belong to the family of that metric, steps of memory are a family of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import stats
from bench.analysis.family import Family
from bench.analysis.stats import CPU_PER_1000, Comparison, Metric, Pair, Ratio, Spread
from bench.schema import Rung, TrialRecord
from bench.store import Records

STACK = "stack"
"""The family of whole HTTP stacks: not concurrency models, so they are shown apart."""

PAIRED_FROM = 1000
"""Memory is paired from this many connections up; below, whole pages and slabs blur it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One rung that was measured: its figures, and its ratios to the rung it changes."""

    rung: Rung
    cpu: Spread | None  # ms per 1000 pages
    cpu_ratio: Ratio | None  # None on the lowest rung, or when the other was not measured
    memory: Spread | None  # bytes per connection, at the ladder's number of connections
    memory_ratio: Ratio | None
    memory_missing: str | None  # why there is none


@dataclass(frozen=True, slots=True)
class Ladder:
    """All steps in the order of the rungs, and the backends that could not be measured."""

    steps: tuple[Step, ...]
    point: str  # where the CPU was measured
    connections: int | None  # held where memory is shown
    missing: Mapping[str, str]  # backend -> reason


def memory_per_connection(trial: TrialRecord) -> float | None:
    """Bytes that each held connection added on the client's side, over all parts that were read."""
    growth = stats.memory_growth(trial)
    if growth is None or growth["user"] is None or trial.memory is None:
        return None
    known = [growth[name] for name in stats.MEMORY_PARTS]
    return sum(value for value in known if value is not None) / trial.memory.connections


MEMORY = Metric(
    "memory_per_connection",
    "memory per connection",
    "bytes",
    "more memory",
    "less memory",
    ("c10k",),
    memory_per_connection,
)


def point_of(records: Records) -> str | None:
    """The point of the ladder's CPU, the one with the most backends.

    None where the records do not say what a backend changes, or have no trial.
    """
    backends: dict[str, set[str]] = defaultdict(set)
    for trial in stats.trials_of(records, "ladder", "throughput"):
        backends[trial.point].add(trial.backend)
    if not records.campaign.rungs or not backends:
        return None
    return max(backends, key=lambda point: len(backends[point]))


def pairs(records: Records) -> list[Pair]:
    """The steps of CPU: each backend with the one that it changes; none without a ladder."""
    point = point_of(records)
    rungs = records.campaign.rungs if point else []
    return [(point or "", rung.against, rung.name) for rung in rungs if rung.against]


def ladder(records: Records, family: Family) -> Ladder | None:
    """The ladder of a campaign; None where :func:`point_of` finds no point.

    ``family`` holds the comparisons of :func:`pairs` by processor time.
    """
    point = point_of(records)
    if point is None:
        return None
    rungs = sorted(records.campaign.rungs, key=lambda rung: rung.rung)
    cpu = _by_label(stats.trials_of(records, twins=False), lambda t: t.point == point, CPU_PER_1000)
    held = stats.trials_of(records, "c10k", twins=False)
    shown = _connections(held)
    at_shown = _by_label(held, lambda t: bool(t.memory and t.memory.connections == shown), MEMORY)
    steps = [(rung.name, rung.against) for rung in rungs if rung.against]
    cpu_ratios = {c.label: c.ratio for c in family.of(pairs(records))}
    memory_ratios = _memory_ratios(held, steps)
    measured = set(cpu) | set(at_shown)
    return Ladder(
        steps=tuple(
            Step(
                rung,
                stats.spread(cpu.get(rung.name, ())),
                cpu_ratios.get(rung.name),
                stats.spread(at_shown.get(rung.name, ())),
                memory_ratios.get(rung.name),
                None if rung.name in at_shown else _why(records, rung, shown),
            )
            for rung in rungs
            if rung.name in measured
        ),
        point=point,
        connections=shown,
        missing={rung.name: rung.missing for rung in rungs if rung.missing is not None},
    )


def _connections(held: Sequence[TrialRecord]) -> int | None:
    """The number at which most backends held connections, the largest of these; None without any.

    Only some hold as many as a campaign has, and bars at two numbers do not compare. Small numbers
    are left to campaigns that have no other.
    """
    backends: dict[int, set[str]] = defaultdict(set)
    for trial in held:
        if trial.memory:
            backends[trial.memory.connections].add(trial.backend)
    enough = [number for number in backends if number >= PAIRED_FROM] or list(backends)
    return max(enough, key=lambda number: (len(backends[number]), number), default=None)


def _by_label(
    trials: Iterable[TrialRecord], wanted: Callable[[TrialRecord], bool], metric: Metric
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        value = metric.value(trial) if wanted(trial) else None
        if value is not None:
            found[trial.label].append(value)
    return found


def _memory_ratios(
    held: Sequence[TrialRecord], steps: Sequence[tuple[str, str]]
) -> dict[str, Ratio]:
    """Each step's ratio, paired within blocks at every number of connections from 1,000 on."""
    values: dict[str, dict[int, float]] = defaultdict(dict)
    places: dict[tuple[str, int], int] = {}
    for trial in held:
        value = memory_per_connection(trial)
        if trial.memory and trial.memory.connections >= PAIRED_FROM and value and value > 0:
            place = places.setdefault((trial.point, trial.block), len(places))
            values[trial.label][place] = value
    found = [
        Comparison(
            "c10k",
            "c10k",
            MEMORY,
            against,
            name,
            stats.ratio(values[against], values[name], metric=MEMORY),
            server_limited=False,
        )
        for name, against in steps
        if name in values and against in values
    ]
    return {c.label: c.ratio for c in stats.corrected(found)}


def _why(records: Records, rung: Rung, shown: int | None) -> str:
    """Why a rung has no memory at the number of connections that is shown."""
    if shown is not None and rung.most is not None and rung.most < shown:
        return f"holds at most {rung.most:,}"
    status = {
        t.status
        for t in stats.trials_of(records, "c10k", status=None)
        if t.label == rung.name and stats.number_param(t, "connections") == shown
    }
    return f"trial {min(status)}" if status - {"ok"} else "not measured"
