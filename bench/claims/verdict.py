"""A claim, the number now, and the verdict that follows from both.

A claim is a file of ``sentences/``: its source, and readings, each with the bounds within which it
counts as true. A ratio is the paired one of :mod:`bench.analysis.stats`; where the statistics show
no difference, its interval is drawn out to 1, because 1 is not excluded. A slope of memory has
Theil and Sen's interval, and an experiment's value Student's over its repeats or, if values may be
0 or are fewer than five, the whole range. The interval of a reading lies inside the claim's bounds,
outside them, or overlaps a bound: that is the verdict on it. A reading without bounds is of a case
of which the claim says nothing: it is there for comparison, and has no verdict.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import exp, inf, log
from pathlib import Path
from statistics import median
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from bench import BenchError, filesystem, store
from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.claims.experiments import EXPERIMENTS, ExperimentResult
from bench.questions import analysis_of
from bench.schema import Change
from bench.show.table import MISSING
from bench.study import Run, Study
from bench.tasks import study as tasks
from bench.tasks.study import TaskSample
from bench.text import KIB, listing, plural

TASKS: Final = "tasks"
"""The folder of the studies, beside those of campaigns."""
SENTENCES: Final = Path(__file__).parent / "sentences"
VALUES: Final = TypeAdapter(dict[str, Change | None])
"""Of an experiment; not declared with its field, because what is measured imports no pydantic."""


def _as_in_records(result: ExperimentResult) -> ExperimentResult:
    VALUES.validate_python(result.values)
    return result


STUDY: Final[Study[ExperimentResult]] = Study(
    "experiments",
    "experiments",
    Annotated[ExperimentResult, AfterValidator(_as_in_records)],
    command="claims --measure",
)
"""``experiments.jsonl`` beside the trials of a campaign."""
ExperimentRuns = Sequence[Run[ExperimentResult]]
"""All runs beside a campaign; for each experiment, the last that includes it counts."""

Range = tuple[float, float]
ValueRange = tuple[float, float, float]
"""A value and its interval."""

Topic = Literal["memory", "threads", "waiting", "speed", "language", "safety", "today"]
TOPICS: Final[dict[Topic, str]] = {
    "memory": "What a connection costs",
    "threads": "How many there can be",
    "waiting": "How to wait for many sockets",
    "speed": "Which is faster",
    "language": "What await does",
    "safety": "What goes wrong",
    "today": "Claims of today",
}
"""The topics, in the order of the page."""


# --- the number now ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClaimNumber:
    """A value, its interval or whole range, and its basis."""

    value: float
    low: float
    high: float
    basis: str  # "10 blocks", "3 trials"
    python: str  # the interpreter that was measured
    note: str = ""  # a caveat


class Missing(Exception):
    """There is no number; ``measured``: the campaign has trials, but none can be had from them."""

    def __init__(self, reason: str, *, measured: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.measured = reason, measured


@dataclass(slots=True)
class Evidence:
    """One campaign's numbers, and the experiments run beside it."""

    name: str  # the campaign's folder, for commands in messages
    analysis: Analysis
    measured: ExperimentRuns
    tasks: Run[TaskSample] | None = None  # of the same interpreter

    @classmethod
    def load(cls, campaign: Path) -> Evidence:
        """Read a campaign's folder; raises :class:`bench.store.StoreError`."""
        folder = store.trials_file(campaign).parent
        return cls.of(folder.name, analysis_of(store.load(store.trials_file(campaign))), folder)

    @classmethod
    def of(cls, name: str, analysis: Analysis, folder: Path) -> Evidence:
        """With what was measured in the campaign's folder, and waiting tasks in one beside it."""
        here = analysis.campaign.environment
        waiting = next(reversed(tasks.STUDY.runs(folder.parent / TASKS)), None)
        there = waiting and waiting.head.environment
        # Bytes do not depend on the make of a processor, as times do.
        if there and (there.machine, there.python) != (here.machine, here.python):
            waiting = None
        return cls(name, analysis, STUDY.runs(folder), waiting)

    def number(
        self, values: ValueRange, basis: str, note: str = "", python: str = ""
    ) -> ClaimNumber:
        here = self.analysis.campaign.environment.python
        return ClaimNumber(*values, basis, python or here, note)


def latest(runs: ExperimentRuns, experiment: str) -> Run[ExperimentResult] | None:
    """The last run with this experiment."""
    of_it = (run for run in reversed(runs) if any(s.program == experiment for s in run.samples))
    return next(of_it, None)


# --- a claim and its readings --------------------------------------------------------------


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _AnyReading(_Strict):
    """One way to measure the claim.

    ``meant`` completes the verdict "reproduced here if …": it says how to understand
    the claim. ``then`` is the number that its author gave, or both ends of a range.
    The claim counts as true if the number lies within ``holds``; it says nothing of a case that
    has none. ``number`` raises :class:`Missing`.
    """

    meant: str
    whose: Literal["author", "suite"] = "suite"  # whose experiment it is, or comes closest to
    unit: str
    then: Annotated[
        Range | None, BeforeValidator(lambda v: (v, v) if isinstance(v, int | float) else v)
    ] = None
    holds: Range | None = None


class RatioReading(_AnyReading):
    """A backend divided by a base at one point of a campaign, paired within blocks."""

    kind: Literal["ratio"]
    metric: str
    point: str
    backend: str
    base: str

    def number(self, evidence: Evidence) -> ClaimNumber:
        trials = stats.trials_of(evidence.analysis.records)
        labels = {trial.label for trial in trials if trial.point == self.point}
        if lacking := [name for name in (self.backend, self.base) if name not in labels]:
            raise _no_trials(lacking, self.point, [self.base, self.backend])
        metric = next(m for m in stats.METRICS if m.name == self.metric)
        if (workload := self.point.rpartition("-")[0]) not in metric.workloads:
            metric = replace(metric, workloads=(workload,))  # a family of its own
        comparisons = evidence.analysis.compare(metric, self.base)
        own = (c for c in comparisons if (c.point, c.label) == (self.point, self.backend))
        comparison = next(own, None)
        if comparison is None:
            raise Missing(f"no block of {self.point} has both with {metric.title}")
        ratio = comparison.ratio
        if ratio.value is None or ratio.low is None or ratio.high is None:
            raise Missing(f"no interval at {self.point}: {ratio.reason}")
        low, high, notes = ratio.low, ratio.high, []
        if not ratio.shown:
            low, high = min(low, 1.0), max(high, 1.0)
            notes.append(f"{ratio.verdict}: {ratio.reason}")
        if comparison.server_limited:
            notes.append("limited by the server, so no bound on the backend")
        blocks = plural(ratio.blocks, "block")
        return evidence.number((ratio.value, low, high), blocks, "; ".join(notes))


class CrossingReading(_AnyReading):
    """Up to how many connections a backend has less than a base, at points by rising number.

    The interval begins with the number up to which that is shown, and ends with the last one
    before the opposite is; 0 where not even the first point shows it.
    """

    kind: Literal["crossing"]
    metric: str
    points: tuple[str, ...]
    backend: str
    base: str

    def number(self, evidence: Evidence) -> ClaimNumber:
        same = self.model_dump(exclude={"kind", "points"})
        sizes = [0, *(int(point.rpartition("-")[2]) for point in self.points)]
        readings = [RatioReading(kind="ratio", point=point, **same) for point in self.points]
        ratios = [reading.number(evidence) for reading in readings]
        low, value, high = (
            sizes[len(list(takewhile(below, ratios)))]
            for below in (lambda r: r.high < 1, lambda r: r.value < 1, lambda r: r.low <= 1)
        )
        values = [f"{r.value:.2f} at {n}" for r, n in zip(ratios, sizes[1:], strict=True)]
        return evidence.number((value, low, high), ratios[0].basis, listing(values))


class MemoryReading(_AnyReading):
    """KiB per connection, or a multiple of another backend's: slopes over held connections."""

    kind: Literal["memory"]
    backend: str
    base: str | None = None
    part: Literal["user", "total"]
    over_tls: bool = False

    def number(self, evidence: Evidence) -> ClaimNumber:
        analysis, names = evidence.analysis, [self.backend, *([self.base] if self.base else [])]
        fits = analysis.memory_over_tls if self.over_tls else analysis.memory
        if lacking := [name for name in names if name not in fits]:
            raise _no_trials(lacking, stats.OVER_TLS if self.over_tls else "c10k", names)
        trials = plural(sum(fits[name].trials for name in names), "trial")
        value, low, high = _slope(fits[self.backend], self.part)
        if self.base is None:
            return evidence.number((value / KIB, low / KIB, high / KIB), trials)
        base, least, most = _slope(fits[self.base], self.part)
        if least <= 0:
            raise Missing(f"the slope of {self.base} is not above 0")
        # Both ends at their worst: wider than an interval of the ratio would be.
        return evidence.number((value / base, max(low, 0.0) / most, high / least), trials)


class ExperimentReading(_AnyReading):
    kind: Literal["experiment"]
    experiment: str
    value: str

    def number(self, evidence: Evidence) -> ClaimNumber:
        run = latest(evidence.measured, self.experiment)
        if run is None:
            raise Missing(
                f"the experiment {self.experiment} was not run beside this campaign; run "
                f"`python -m bench study claims results/{evidence.name} --measure`",
                measured=False,
            )
        results = list(run.by_program().get(self.experiment, {}).values())
        values = [v for result in results if (v := result.values.get(self.value)) is not None]
        if not values:
            reasons = [result.reasons.get(self.value) for result in results]
            failed = run.reasons().get(self.experiment, f"it has no value {self.value}")
            raise Missing(next(filter(None, reasons), failed))
        _, repeats = EXPERIMENTS.get(self.experiment, ("", None))
        if len(values) == 1 and repeats != 1:
            raise Missing(f"one repeat of {self.experiment} does not say how far others lie apart")
        note, python = str(results[-1].facts.get("note", "")), run.head.environment.python
        return evidence.number(interval_of(values), plural(len(values), "repeat"), note, python)


class TaskReading(_AnyReading):
    """KiB of a task that waits without a connection, or a multiple of another's."""

    kind: Literal["task"]
    task: str
    base: str | None = None

    def number(self, evidence: Evidence) -> ClaimNumber:
        if evidence.tasks is None:
            raise Missing(
                "waiting tasks were not measured beside this campaign, on its interpreter; run "
                "`python -m bench study tasks`"
            )
        values = tasks.measured(evidence.tasks).values
        sizes, bases = (
            values.get(task or "", {}).get(tasks.TOTAL, {}) for task in (self.task, self.base)
        )
        results = [
            size / (bases[repeat] if self.base else KIB)
            for repeat, size in sizes.items()
            if not self.base or bases.get(repeat)
        ]
        if len(results) < 2:
            raise Missing(f"all memory of {self.task} was read in {plural(len(results), 'repeat')}")
        return evidence.number(interval_of(results), plural(len(results), "repeat"))


Reading = Annotated[
    RatioReading | CrossingReading | MemoryReading | ExperimentReading | TaskReading,
    Field(discriminator="kind"),
]


def _slope(fit: stats.MemoryFit, which: str) -> ValueRange:
    """Bytes per connection of the user part or of all parts, with their interval."""
    value = low = high = 0.0
    for name in ("user",) if which == "user" else stats.MEMORY_PARTS:
        part = fit.parts[name]
        if part.slope is None or part.low is None or part.high is None:
            raise Missing(f"{name} was not read: {part.reason}")
        value, low, high = value + part.slope, low + part.low, high + part.high
    return value, low, high


def interval_of(values: Sequence[float]) -> ValueRange:
    """Value and interval over repeats: Student's if possible, otherwise the whole range."""
    if len(set(values)) > 1 and len(values) >= stats.MIN_BLOCKS and min(values) > 0:
        logs = [log(value) for value in values]
        low, high, _ = stats.student(logs)
        return exp(sum(logs) / len(logs)), exp(low), exp(high)
    return float(median(values)), float(min(values)), float(max(values))


def _no_trials(lacking: Sequence[str], where: str, backends: Sequence[str]) -> Missing:
    once = where.startswith(("c10k", stats.OVER_TLS))
    return Missing(
        f"this campaign has no valid trials of {' and '.join(lacking)} at {where}; run "
        f"`python -m bench run --only {where} --backends {','.join(dict.fromkeys(backends))}"
        f"{'' if once else f' --blocks {2 * stats.MIN_BLOCKS}'}`",
        measured=False,
    )


class Claim(_Strict):
    name: str  # the file's, without its ending
    title: str  # a few words, for headings and charts
    topic: Topic
    step: str = ""  # of the chapter that says it: its name in crawlers/chapter
    sentence: str
    quote: bool = False  # the exact words of the source; otherwise a paraphrase
    conditions: str = ""  # under which its author made the claim
    source: str
    url: str
    place: str = ""  # where in the source: a section, a message
    date: str  # when it was made: "2016", "2016-01-11"
    measured: str  # how, in words for the page
    reading: tuple[Reading, ...] = Field(min_length=1)


def load(file: Path) -> Claim:
    """Read one claim. Raises :class:`bench.BenchError`."""
    try:
        written = tomllib.loads(filesystem.read_text(file))
        return Claim.model_validate({**written, "name": file.stem})
    except ValueError as error:
        raise BenchError(f"{file}: {' '.join(str(error).split())}") from None


def load_all() -> list[Claim]:
    order = list(TOPICS)
    claims = [load(file) for file in SENTENCES.glob("*.toml")]
    return sorted(claims, key=lambda claim: (order.index(claim.topic), claim.name))


def counted(figure: str, unit: str) -> str:
    """A number and its unit, which is written for many: ``1 handler per fetch``."""
    if figure == "1" and not unit.startswith(("times", "%")):
        unit = re.sub(r"^((?:\w+ )?\w{3,})s\b", r"\1", unit)
    return f"{figure} {unit}"


def bounds_words(holds: Range | None, unit: str) -> str:
    """The bounds within which the claim counts as true: ``25 to 100 KiB``, ``2 times or more``."""
    if holds is None:
        return MISSING
    low, high = holds
    if low == high:
        return counted(f"{low:g}", unit)
    if high == inf:
        return f"{counted(f'{low:g}', unit)} or more"
    if low in (0.0, -inf):
        return f"{counted(f'{high:g}', unit)} or less"
    return f"{low:g} to {high:g} {unit}"


# --- the verdict ---------------------------------------------------------------------------

Position = Literal["inside", "outside", "undecided", "beside", "missing"]
PHRASES: Final[dict[Position, str]] = {
    "inside": "reproduced here",
    "outside": "not reproduced here",
    "undecided": "undecided",
    "beside": "for comparison",
    "missing": "not tested",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One reading: the number now, and its position relative to the bounds."""

    reading: Reading
    now: ClaimNumber | Missing

    @property
    def position(self) -> Position:
        if isinstance(self.now, Missing):
            return "missing"
        if self.reading.holds is None:
            return "beside"
        low, high = self.reading.holds
        if low <= self.now.low and self.now.high <= high:
            return "inside"
        if self.now.high < low or self.now.low > high:
            return "outside"
        return "undecided"

    @property
    def tested(self) -> bool:
        """Whether there is a verdict."""
        return self.position not in ("missing", "beside")

    @property
    def phrase(self) -> str:
        return PHRASES[self.position]

    @property
    def words(self) -> str:
        """``reproduced here if you measure a crawl``; with the reason if there is no number."""
        why = f": {self.now.reason}" if isinstance(self.now, Missing) else ""
        return f"{self.phrase} if {self.reading.meant}{why}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim is true under the conditions under which a reading of it is."""

    claim: Claim
    judged: tuple[Judged, ...]

    @property
    def known(self) -> bool:
        """Whether any reading has a verdict."""
        return any(judged.tested for judged in self.judged)

    @property
    def words(self) -> str:
        return "; ".join(judged.words for judged in self.judged)


def read(reading: Reading, evidence: Sequence[Evidence]) -> ClaimNumber | Missing:
    """The number of the first campaign that has one, or why one with trials has none."""
    reasons = []
    for campaign in evidence:
        try:
            return reading.number(campaign)
        except Missing as missing:
            reasons.append(missing)
    return next((missing for missing in reasons if missing.measured), reasons[0])


def judge(evidence: Sequence[Evidence], claims: Sequence[Claim] | None = None) -> list[Verdict]:
    return [
        Verdict(claim, tuple(Judged(r, read(r, evidence)) for r in claim.reading))
        for claim in (load_all() if claims is None else claims)
    ]


def of_campaign(analysis: Analysis, folder: Path) -> list[Verdict]:
    """The verdicts from one campaign and the experiments in its folder.

    Leaves out claims without a number. Raises :class:`bench.store.StoreError`.
    """
    evidence = Evidence.of(analysis.campaign.campaign, analysis, folder)
    return [verdict for verdict in judge([evidence]) if verdict.known]
