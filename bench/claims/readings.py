"""From records to the number now, with its interval, or the reason why there is none.

A ratio is the paired bootstrap of :mod:`bench.analysis.stats`; where the statistics show
no difference, its interval is drawn out to 1, because 1 is not excluded. A
slope of memory has Theil and Sen's interval, a share Clopper and Pearson's, and
an experiment's value the bootstrap over its repeats or, if values may be 0, the whole
range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import median

from scipy import stats as sps

from bench import store
from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.claims import records as experiments
from bench.claims.definition import (
    BarrierReading,
    ExperimentReading,
    MemoryRatioReading,
    MemoryReading,
    RatioReading,
    Reading,
    UntriedReading,
)
from bench.text import KIB, plural


@dataclass(frozen=True, slots=True)
class Number:
    """A value, its 95 % interval or whole range, and its basis."""

    value: float
    low: float
    high: float
    basis: str  # "10 blocks", "3 trials"
    campaign: str
    note: str = ""  # a caveat


@dataclass(frozen=True, slots=True)
class Missing:
    """The reason for a missing number; ``absent`` if nothing was measured that could give one."""

    reason: str
    absent: bool = False
    untried: bool = False  # cannot be measured here at all


@dataclass(slots=True)
class Evidence:
    """One campaign's numbers, and the experiments run beside it."""

    name: str  # the campaign's folder, for commands in messages
    analysis: Analysis
    measured: list[experiments.AnyLine]

    @classmethod
    def load(cls, campaign: Path) -> Evidence:
        """Read a campaign's folder; raises :class:`bench.store.StoreError`."""
        file = store.trials_file(campaign)
        return cls(file.parent.name, Analysis(store.load(file)), experiments.load(file.parent))

    @property
    def id(self) -> str:
        """The campaign's id."""
        return self.analysis.campaign.campaign


def read(reading: Reading, evidence: Sequence[Evidence]) -> Number | Missing:
    """The number now, from the first campaign that has one."""
    missing: list[Missing] = []
    for one in evidence:
        match reading:
            case RatioReading():
                found = _ratio(reading, one)
            case MemoryReading():
                found = _memory(reading, one)
            case MemoryRatioReading():
                found = _memory_ratio(reading, one)
            case BarrierReading():
                found = _barrier(reading, one)
            case ExperimentReading():
                found = _experiment(reading, one)
            case UntriedReading():
                found = Missing(reading.reason, untried=True)
        if isinstance(found, Number):
            return found
        missing.append(found)
    # A campaign with some data gives a better reason than one with none.
    return min(missing, key=lambda one: one.absent)


def _ratio(reading: RatioReading, evidence: Evidence) -> Number | Missing:
    metric = next(m for m in stats.METRICS if m.name == reading.metric)
    mine = [t for t in stats.trials_of(evidence.analysis.records) if t.point == reading.point]
    labels = {t.label for t in mine}
    lacking = [name for name in (reading.backend, reading.base) if name not in labels]
    if lacking:
        return _no_trials(lacking, reading.point, [reading.base, reading.backend])
    found = next(
        (
            c
            for c in evidence.analysis.compare(metric, reading.base)
            if c.point == reading.point and c.label == reading.backend
        ),
        None,
    )
    if found is None or found.ratio.value is None:
        return Missing(f"no block of {reading.point} has both with {metric.title}")
    ratio = found.ratio
    if ratio.value is None or ratio.low is None or ratio.high is None:
        return Missing(f"no interval at {reading.point}: {ratio.reason}")
    low, high = ratio.low, ratio.high
    if not ratio.shown:
        low, high = min(low, 1.0), max(high, 1.0)
    note = "" if ratio.shown else f"{ratio.verdict}: {ratio.reason}"
    if found.server_limited:
        note = "; ".join(filter(None, (note, "limited by the server, so no bound on the backend")))
    return Number(ratio.value, low, high, plural(ratio.blocks, "block"), evidence.id, note)


def _memory(reading: MemoryReading, evidence: Evidence) -> Number | Missing:
    fit = evidence.analysis.memory.get(reading.backend)
    if fit is None:
        return _no_trials([reading.backend], "c10k", [reading.backend])
    found = _slope(fit, reading.part)
    if isinstance(found, Missing):
        return found
    value, low, high = (number / KIB for number in found)
    return Number(value, low, high, plural(fit.trials, "trial"), evidence.id)


def _slope(fit: stats.MemoryFit, which: str) -> tuple[float, float, float] | Missing:
    """Bytes per connection of the user part or of all parts, with their interval."""
    value = low = high = 0.0
    for name in ("user",) if which == "user" else stats.MEMORY_PARTS:
        part = fit.parts[name]
        if part.slope is None or part.low is None or part.high is None:
            return Missing(f"{name} was not read: {part.reason}")
        value, low, high = value + part.slope, low + part.low, high + part.high
    return value, low, high


def _memory_ratio(reading: MemoryRatioReading, evidence: Evidence) -> Number | Missing:
    over_tls = reading.over_tls
    fits = evidence.analysis.memory_over_tls if over_tls else evidence.analysis.memory
    names = [reading.backend, reading.base]
    if lacking := [name for name in names if name not in fits]:
        return _no_trials(lacking, stats.OVER_TLS if over_tls else "c10k", names)
    mine, base = (_slope(fits[name], reading.part) for name in names)
    if isinstance(mine, Missing):
        return mine
    if isinstance(base, Missing):
        return base
    if min(base) <= 0:
        return Missing(f"the slope of {reading.base} is not above 0")
    # Both ends at their worst: wider than an interval of the ratio would be.
    low, high = max(mine[1], 0.0) / base[2], mine[2] / base[1]
    trials = sum(fits[name].trials for name in names)
    return Number(mine[0] / base[0], low, high, plural(trials, "trial"), evidence.id)


def _barrier(reading: BarrierReading, evidence: Evidence) -> Number | Missing:
    mine = [
        t
        for t in stats.trials_of(evidence.analysis.records, status=None, twins=False)
        if t.point == reading.point and t.label == reading.backend and t.status != "refused"
    ]
    if not mine:
        return _no_trials([reading.backend], reading.point, [reading.backend])
    reached = sum(t.status == "ok" for t in mine)
    interval = sps.binomtest(reached, len(mine)).proportion_ci(stats.LEVEL)
    basis = f"{reached} of {plural(len(mine), 'trial')}"
    return Number(
        100 * reached / len(mine),
        100 * float(interval.low),
        100 * float(interval.high),
        basis,
        evidence.id,
    )


def _experiment(reading: ExperimentReading, evidence: Evidence) -> Number | Missing:
    mine = experiments.latest(evidence.measured, reading.experiment)
    if not mine:
        return Missing(
            f"the experiment {reading.experiment} was not run beside this campaign; run "
            f"`python -m bench claims results/{evidence.name} --measure`",
            absent=True,
        )
    values = [m.values[reading.value] for m in mine if reading.value in m.values]
    kept = [value for value in values if value is not None]
    if not kept:
        reasons = (m.reasons.get(reading.value) or m.reasons.get("experiment") for m in mine)
        return Missing(next(filter(None, reasons), f"it has no value {reading.value}"))
    value, low, high = interval_of(kept)
    return Number(value, low, high, plural(len(kept), "repeat"), evidence.id, _stopped(mine))


def interval_of(values: Sequence[float]) -> tuple[float, float, float]:
    """Value and interval over repeats: bootstrap if possible, otherwise the whole range."""
    if len(set(values)) > 1 and len(values) >= stats.MIN_BLOCKS and min(values) > 0:
        low, high = stats.log_interval(_logs(values))
        return exp(sum(_logs(values)) / len(values)), exp(low), exp(high)
    return float(median(values)), float(min(values)), float(max(values))


def _logs(values: Sequence[float]) -> list[float]:
    return [log(value) for value in values]


def _stopped(mine: Sequence[experiments.MeasurementRecord]) -> str:
    """The note of an experiment, from its last repeat."""
    return str(mine[-1].facts.get("note", ""))


def _no_trials(lacking: Sequence[str], where: str, backends: Sequence[str]) -> Missing:
    names = " and ".join(lacking)
    asked = ",".join(dict.fromkeys(backends))
    blocks = (
        "" if where.startswith(("c10k", stats.OVER_TLS)) else f" --blocks {2 * stats.MIN_BLOCKS}"
    )
    return Missing(
        f"this campaign has no valid trials of {names} at {where}; run "
        f"`python -m bench run --only {where} --backends {asked}{blocks}`",
        absent=True,
    )
