"""From records to the number that stands now, with its interval, or the reason why there is none.

A ratio is the paired bootstrap of :mod:`bench.stats`; where the statistics show
no difference, its interval is drawn out to 1, because 1 is not excluded. A
slope of memory has Theil and Sen's interval, a share Clopper and Pearson's, and
an experiment's value the bootstrap over its repeats or, where values may be 0,
the whole range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, log
from pathlib import Path
from statistics import median

from scipy import stats as sps

from bench import stats, store
from bench.claims import records as experiments
from bench.claims.definition import (
    BarrierReading,
    ExperimentReading,
    MemoryReading,
    RatioReading,
    Reading,
)
from bench.stats import Comparison

KIB = 1024.0


@dataclass(frozen=True, slots=True)
class Number:
    """What stands now: the value, its 95 % interval or whole range, and what it rests on."""

    value: float
    low: float
    high: float
    basis: str  # "10 blocks", "3 trials"
    campaign: str
    note: str = ""  # what limits the number


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no number, and why; ``absent`` when nothing was measured that could give one."""

    reason: str
    absent: bool = False


@dataclass
class Evidence:
    """One campaign's trials, and the experiments that were run beside it."""

    name: str  # for commands that a reader may type: the campaign's folder
    trials: stats.Records
    measured: list[experiments.AnyLine]
    _compared: dict[tuple[str, str], list[Comparison]] = field(default_factory=dict)

    @classmethod
    def load(cls, campaign: Path) -> Evidence:
        """Read a campaign's folder; raises :class:`bench.store.StoreError`."""
        file = store.trials_file(campaign)
        return cls(file.parent.name, store.load(file).all, experiments.load(file.parent))

    @property
    def id(self) -> str:
        """The campaign's id."""
        head = stats.campaign_of(self.trials)
        return head.campaign if head else "unknown"

    @cached_property
    def memory(self) -> dict[str, stats.MemoryFit]:
        """Memory fits by label."""
        return stats.fit_memory(self.trials)

    def compare(self, metric: stats.Metric, base: str) -> list[Comparison]:
        """All comparisons with a base, as one family, computed once."""
        key = metric.name, base
        if key not in self._compared:
            self._compared[key] = stats.compare(self.trials, metric, base=base)
        return self._compared[key]


def read(reading: Reading, evidence: Sequence[Evidence]) -> Number | Missing:
    """The number now, from the first campaign that has it."""
    missing: list[Missing] = []
    for one in evidence:
        match reading:
            case RatioReading():
                found = _ratio(reading, one)
            case MemoryReading():
                found = _memory(reading, one)
            case BarrierReading():
                found = _barrier(reading, one)
            case ExperimentReading():
                found = _experiment(reading, one)
        if isinstance(found, Number):
            return found
        missing.append(found)
    # A campaign that has something says more than one that has nothing.
    return min(missing, key=lambda one: one.absent)


def _ratio(reading: RatioReading, evidence: Evidence) -> Number | Missing:
    metric = next(m for m in stats.METRICS if m.name == reading.metric)
    mine = [t for t in stats.trials_of(evidence.trials) if t.point == reading.point]
    labels = {t.label for t in mine}
    lacking = [name for name in (reading.backend, reading.base) if name not in labels]
    if lacking:
        return _no_trials(lacking, reading.point, [reading.base, reading.backend])
    found = next(
        (
            c
            for c in evidence.compare(metric, reading.base)
            if c.point == reading.point and c.label == reading.backend
        ),
        None,
    )
    if found is None or found.ratio.value is None:
        return Missing(f"no block of {reading.point} has both with {metric.title}")
    ratio = found.ratio
    if ratio.value is None or ratio.low is None or ratio.high is None:
        return Missing(f"{reading.point} has {ratio.reason} for an interval")
    low, high = ratio.low, ratio.high
    if not ratio.shown:
        low, high = min(low, 1.0), max(high, 1.0)
    note = "" if ratio.shown else f"{ratio.verdict}: {ratio.reason}"
    if found.server_limited:
        note = "; ".join(filter(None, (note, "limited by the server, so no bound on the backend")))
    return Number(ratio.value, low, high, _count(ratio.blocks, "block"), evidence.id, note)


def _memory(reading: MemoryReading, evidence: Evidence) -> Number | Missing:
    fit = evidence.memory.get(reading.backend)
    if fit is None:
        return _no_trials([reading.backend], "c10k", [reading.backend])
    names = ("user",) if reading.part == "user" else stats.MEMORY_PARTS
    value = low = high = 0.0
    for name in names:
        part = fit.parts[name]
        if part.slope is None or part.low is None or part.high is None:
            return Missing(f"{name} was not read: {part.reason}")
        value, low, high = value + part.slope, low + part.low, high + part.high
    basis = _count(fit.trials, "trial")
    return Number(value / KIB, low / KIB, high / KIB, basis, evidence.id)


def _barrier(reading: BarrierReading, evidence: Evidence) -> Number | Missing:
    mine = [
        t
        for t in stats.trials_of(evidence.trials, status=None, twins=False)
        if t.point == reading.point and t.label == reading.backend and t.status != "refused"
    ]
    if not mine:
        return _no_trials([reading.backend], reading.point, [reading.backend])
    reached = sum(t.status == "ok" for t in mine)
    interval = sps.binomtest(reached, len(mine)).proportion_ci(stats.LEVEL)
    basis = f"{reached} of {_count(len(mine), 'trial')}"
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
    return Number(value, low, high, _count(len(kept), "repeat"), evidence.id, _stopped(mine))


def interval_of(values: Sequence[float]) -> tuple[float, float, float]:
    """Value and interval over repeats: bootstrap where it can be had, else the whole range."""
    if len(values) >= stats.MIN_BLOCKS and min(values) > 0:
        low, high = stats.log_interval(_logs(values))
        return exp(sum(_logs(values)) / len(values)), exp(low), exp(high)
    return float(median(values)), float(min(values)), float(max(values))


def _logs(values: Sequence[float]) -> list[float]:
    return [log(value) for value in values]


def _stopped(mine: Sequence[experiments.MeasurementRecord]) -> str:
    """What an experiment says of itself in one line, from its last repeat."""
    return str(mine[-1].facts.get("note", ""))


def _no_trials(lacking: Sequence[str], where: str, backends: Sequence[str]) -> Missing:
    names = " and ".join(lacking)
    asked = ",".join(dict.fromkeys(backends))
    blocks = "" if where.startswith("c10k") else f" --blocks {2 * stats.MIN_BLOCKS}"
    return Missing(
        f"this campaign has no valid trials of {names} at {where}; run "
        f"`python -m bench run --only {where} --backends {asked}{blocks}`",
        absent=True,
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
