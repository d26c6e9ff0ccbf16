"""Compare two campaigns: first their environments, then what was measured.

Trials of two campaigns cannot be paired, so the interval of a ratio is Welch's
(B. L. Welch, "The generalization of 'Student's' problem", 1947) on the
logarithms of the trials' values. It allows for two different spreads and for
different numbers of blocks. A difference is shown if that interval excludes 1
*and* the difference exceeds the larger of the two campaigns' noise floors. The
interval does not cover what all trials of one campaign share, such as the hour
and the state of the machine. That is why the floor counts too, and why a single
comparison deserves care.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats as sps

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.releases import build_words
from bench.analysis.stats import LEVEL, MIN_BLOCKS, Metric, Ratio
from bench.errors import BenchError
from bench.plan.labels import Label
from bench.schema import Environment
from bench.store import Records

Verdict = Literal["better", "worse", "no difference shown", "too few blocks"]
METRICS = (stats.PAGES_PER_S, stats.CPU_PER_1000, stats.USER_PER_CONNECTION)
MORE_IS_BETTER = frozenset({stats.PAGES_PER_S.name})
MEMORY_TOLERANCE = 0.02
"""The total memory of one machine differs a little from boot to boot."""


class CompareError(BenchError):
    """The two campaigns cannot be compared; the message is one line."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between the two environments."""

    what: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Row:
    """One backend at one point by one metric, campaign B over campaign A."""

    point: str
    label: str
    metric: str
    unit: str
    a: float
    b: float
    ratio: float
    low: float | None
    high: float | None
    blocks_a: int
    blocks_b: int
    floor: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing campaign B with campaign A."""

    a: str
    b: str
    differences: tuple[Difference, ...]
    other_machine: tuple[str, ...]
    rows: tuple[Row, ...]
    incomplete: tuple[str, ...] = ()  # campaigns that did not finish, with the reason
    missing: tuple[tuple[str, str], ...] = ()  # (point, label) valid in A, planned in B, not valid
    unlike: tuple[str, ...] = ()  # points of both that stand for different work
    only_a: tuple[str, ...] = ()  # backends planned in A alone
    only_b: tuple[str, ...] = ()
    other_build: tuple[str, ...] = ()  # how each interpreter was built; empty if alike

    @property
    def failed(self) -> bool:
        """Whether something got worse, or cannot be judged because B lacks it."""
        return bool(self.regressions or self.incomplete or self.missing)

    @property
    def judged(self) -> bool:
        """Whether any comparison has enough blocks for a verdict."""
        return any(row.verdict != "too few blocks" for row in self.rows)

    @property
    def regressions(self) -> list[Row]:
        """What got worse by more than the noise floor."""
        return [row for row in self.rows if row.verdict == "worse"]


def environment_differences(a: Environment, b: Environment) -> list[Difference]:
    """What differs, the most important first."""
    found = []
    plain = ("machine", "cpu_model", "cpu_count", "cpu_quota", "memory_total_bytes", "os", "kernel")
    software = ("python", "implementation", "openssl", "commit", "dirty")
    for name in (*plain, *software):
        mine, other = getattr(a, name), getattr(b, name)
        if mine != other:
            found.append(Difference(name, str(mine), str(other)))
    nested: list[tuple[str, Mapping[str, object], Mapping[str, object]]] = [
        ("python_build", a.python_build, b.python_build),
        ("limits", a.limits, b.limits),
        ("packages", a.packages, b.packages),
    ]
    for group, mine_all, other_all in nested:
        for name in sorted(mine_all.keys() | other_all.keys()):
            mine, other = mine_all.get(name), other_all.get(name)
            if mine != other:
                found.append(Difference(f"{group}.{name}", str(mine), str(other)))
    return found


def machine_differences(a: Environment, b: Environment) -> list[str]:
    """Signs that these are two machines; empty when they look like one."""
    names = ("machine", "cpu_model", "cpu_count", "cpu_quota")
    found = [name for name in names if getattr(a, name) != getattr(b, name)]
    larger = max(a.memory_total_bytes, b.memory_total_bytes)
    if abs(a.memory_total_bytes - b.memory_total_bytes) > MEMORY_TOLERANCE * larger:
        found.append("memory_total_bytes")
    return found


def build_differences(a: Environment, b: Environment) -> list[str]:
    """How the two interpreters were built, if that is known and differs."""
    builds = [build_words(each.python_build) for each in (a, b) if each.python_build]
    return builds if len(set(builds)) == 2 else []


def planned(records: Records) -> list[str]:
    """The backends of a campaign's plan."""
    labels = (label for entry in records.campaign.plan for label in entry.labels)
    return list(dict.fromkeys(Label.parse(label).name for label in labels))


def welch(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """Ratio of geometric means, b over a, with its interval; needs two values each."""
    x, y = np.log(np.asarray(a)), np.log(np.asarray(b))
    difference = float(y.mean() - x.mean())
    va, vb = float(x.var(ddof=1)) / len(x), float(y.var(ddof=1)) / len(y)
    if va + vb <= 0:
        return math.exp(difference), math.exp(difference), math.exp(difference)
    freedom = (va + vb) ** 2 / (va**2 / (len(x) - 1) + vb**2 / (len(y) - 1))
    half = float(sps.t.ppf((1 + LEVEL) / 2, freedom)) * math.sqrt(va + vb)
    return math.exp(difference), math.exp(difference - half), math.exp(difference + half)


def row(
    point: str, label: str, metric: Metric, a: Sequence[float], b: Sequence[float], floor: float
) -> Row:
    """Compare one backend's values at one point.

    With fewer than :data:`bench.analysis.stats.MIN_BLOCKS` blocks on either side there
    is a ratio but neither interval nor verdict.
    """
    low = high = None
    verdict: Verdict = "too few blocks"
    value = math.exp(float(np.mean(np.log(b)) - np.mean(np.log(a))))
    if min(len(a), len(b)) >= MIN_BLOCKS:
        value, low, high = welch(a, b)
        verdict = "no difference shown"
        if (low > 1 or high < 1) and abs(math.log(value)) > floor:
            good = (value > 1) == (metric.name in MORE_IS_BETTER)
            verdict = "better" if good else "worse"
    middle_a, middle_b = float(np.median(a)), float(np.median(b))
    return Row(
        *(point, label, metric.name, metric.unit, middle_a, middle_b, value, low, high),
        *(len(a), len(b), floor, verdict),
    )


def compare(a: Records, b: Records, *, force: bool = False) -> Comparison:
    """Compare campaign B with campaign A.

    Raises :class:`CompareError` when nothing was measured in both. For different
    machines there are no rows unless ``force`` is given.
    """
    first, second = a.campaign.environment, b.campaign.environment
    machines = machine_differences(first, second)
    rows = []
    params, other_params = asked(a), asked(b)
    for metric in METRICS:
        floors = [stats.aa_noise_floor(records, metric) for records in (a, b)]
        values = [
            stats.block_values(stats.trials_of(records, *metric.workloads, twins=False), metric)
            for records in (a, b)
        ]
        for point in stats.points_of(a, *metric.workloads):
            # The same id may stand for another amount of work in another profile.
            if params.get(point) != other_params.get(point):
                continue
            for label in stats.labels_of(a):
                mine, other = (found.get((point, label)) for found in values)
                if mine and other:
                    rows.append(
                        row(
                            point,
                            label,
                            metric,
                            [*mine.values()],
                            [*other.values()],
                            max(floor.at(point, label) for floor in floors),
                        )
                    )
    if not rows:
        raise CompareError(
            "these two campaigns have no backend at the same workload point in common "
            "(were they run with the same profile?)"
        )
    return Comparison(
        a=a.campaign.campaign,
        b=b.campaign.campaign,
        differences=tuple(environment_differences(first, second)),
        other_machine=tuple(machines),
        rows=tuple(rows) if force or not machines else (),
        incomplete=tuple(filter(None, map(unfinished, (a, b)))),
        missing=tuple(lost(a, b)),
        unlike=tuple(
            point for point, mine in params.items() if mine != other_params.get(point, mine)
        ),
        only_a=tuple(name for name in planned(a) if name not in planned(b)),
        only_b=tuple(name for name in planned(b) if name not in planned(a)),
        other_build=tuple(build_differences(first, second)),
    )


@dataclass(frozen=True, slots=True)
class Held:
    """A ratio to the base within each campaign: do the two verdicts agree?

    Ratios are taken within a campaign's blocks, so they may be held against each other even if
    the machines or the Python releases differ.
    """

    point: str
    label: str
    metric: str
    a: Ratio
    b: Ratio

    @property
    def agreement(self) -> str:
        """``agree``, ``opposite``, ``A only``, ``B only`` (a difference), or ``neither``."""
        if self.a.shown and self.b.shown:
            return "agree" if self.a.verdict == self.b.verdict else "opposite"
        if self.a.shown or self.b.shown:
            return "A only" if self.a.shown else "B only"
        return "neither"


def held(a: Analysis, b: Analysis) -> list[Held]:
    """Every ratio to the base that both campaigns have."""
    found = []
    for metric in (stats.CPU_PER_1000, stats.PAGES_PER_S):
        others = {(c.point, c.base, c.label): c.ratio for c in b.compare(metric)}
        for c in a.compare(metric):
            other = others.get((c.point, c.base, c.label))
            if other is not None and None not in (c.ratio.low, other.low):
                found.append(Held(c.point, c.label, metric.name, c.ratio, other))
    return found


def unfinished(records: Records) -> str | None:
    """Why a campaign is not complete; None if it is."""
    if records.end is not None and records.end.complete:
        return None
    why = records.end.reason if records.end is not None else "it has no end record"
    planned = sum(entry.trials for entry in records.campaign.plan)
    done = f", {len(records.trials)} of {planned} trials" if planned else ""
    return f"campaign {records.campaign.campaign} is incomplete ({why}{done})"


def lost(a: Records, b: Records) -> list[tuple[str, str]]:
    """Pairs of point and label with valid trials in A that B planned too, without a valid one."""
    params, other_params = asked(a), asked(b)
    valid = {(t.point, str(t.label)) for t in b.trials if t.status == "ok"}
    planned = {(entry.point, str(label)) for entry in b.campaign.plan for label in entry.labels}
    pairs = dict.fromkeys((t.point, str(t.label)) for t in a.trials if t.status == "ok")
    return [
        pair
        for pair in pairs
        if pair in planned and pair not in valid and params.get(pair[0]) == other_params[pair[0]]
    ]


def asked(records: Records) -> dict[str, dict[str, object]]:
    """Each point's parameters; one that is not set counts as one that did not exist yet."""
    return {
        entry.point: {name: value for name, value in entry.params.items() if value is not None}
        for entry in records.campaign.plan
    }
