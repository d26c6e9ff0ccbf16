"""Two campaigns compared: each backend in A and in B, the ratio, and whether the verdicts agree.

Trials of two campaigns cannot be paired, so the interval of a ratio is Welch's (B. L. Welch, "The
generalization of 'Student's' problem", 1947) on the logarithms of the trials' values. It allows for
two different spreads and for different numbers of blocks. A difference is shown if that interval
excludes 1 *and* the difference exceeds the larger of the two campaigns' noise floors. The interval
does not cover what all trials of one campaign share, such as the hour and the state of the machine.
That is why the floor counts too, and why a single comparison deserves care.

Ratios to the base are taken within the blocks of each campaign, so their verdicts may be compared
even if the machines or the Python releases differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal

import numpy as np
from rich.console import Console
from scipy import special

from bench import BenchError
from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import AT_LEVEL, LEVEL, MIN_BLOCKS, Metric, Ratio
from bench.report import tables
from bench.schema import Environment
from bench.show import cells
from bench.show.table import MISSING, CellMakers, Column, Table, name, tabled, words
from bench.store import Records
from bench.text import count, listing, plural

Direction = Literal["better", "worse", "no difference shown", "too few blocks", "another machine"]
Agreement = Literal["agree", "opposite", "A only", "B only", "neither"]
METRICS: Final = (stats.PAGES_PER_S, stats.CPU_PER_1000, stats.USER_PER_CONNECTION)
SHORT: Final = {
    stats.PAGES_PER_S.name: "pages/s",
    stats.CPU_PER_1000.name: "µs/page",
    stats.USER_PER_CONNECTION.name: "user B/conn",
}
"""How a table names them, with units; a ms per 1000 pages is a µs per page."""
MORE_IS_BETTER: Final = stats.PAGES_PER_S.name
MACHINE: Final = ("machine", "cpu_model", "cpu_count", "cpu_quota")
MEMORY_TOLERANCE: Final = 0.02
"""The total memory of one machine differs a little from boot to boot."""
INCOMPLETE: Final = "What is missing cannot be compared"
LOST: Final = "Valid in A, planned and not valid in B"
TOGETHER: Final = "Another hour alone can do that, and leaves ratios to the base as they are"


class CompareError(BenchError):
    """The two campaigns cannot be compared; the message is one line."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One backend at one point by one metric."""

    point: str
    label: str
    metric: str
    unit: str
    a: float  # geometric means over blocks
    b: float
    ratio: float | None  # B over A, by geometric means
    low: float | None
    high: float | None
    verdict: Direction
    blocks_a: int
    blocks_b: int
    floor: float
    agreement: Agreement | None  # on a difference to the base, which each campaign measured


@dataclass(frozen=True, slots=True)
class MachineComparison:
    """The result of comparing campaign B with campaign A."""

    a: str
    b: str
    differences: Sequence[tuple[str, str, str]]  # of the environments: what, in A, in B
    rows: Sequence[ComparedRow]
    notes: Mapping[str, Sequence[str]]  # what else to know -> what it is true of

    @property
    def failed(self) -> bool:
        """Whether something got worse, or cannot be judged because a campaign lacks it."""
        worse = any(row.verdict == "worse" for row in self.rows)
        return worse or INCOMPLETE in self.notes or LOST in self.notes


def compare(first: Analysis, second: Analysis, *, force: bool = False) -> MachineComparison:
    """Compare campaign B with campaign A; other machines get no verdict without ``force``.

    Raises :class:`CompareError` when nothing was measured in both.
    """
    a, b = first.records, second.records
    environments = a.campaign.environment, b.campaign.environment
    machines = machine_differences(*environments)
    asked_a, asked_b = asked(a), asked(b)
    rows = []
    for metric in METRICS:
        floors = first.floor(metric), second.floor(metric)
        blocks_of = [
            stats.block_values(stats.trials_of(records, *metric.workloads, twins=False), metric)
            for records in (a, b)
        ]
        agreed = agreements(first, second, metric)
        # The same id may stand for another amount of work in another profile.
        points = stats.points_of(a, *metric.workloads)
        alike = [point for point in points if asked_a.get(point) == asked_b.get(point)]
        for point, label in product(alike, stats.labels_of(a)):
            in_a, in_b = ([*blocks.get((point, label), {}).values()] for blocks in blocks_of)
            if not in_a or not in_b:
                continue
            floor = max(floor.at(point, label) or 0.0 for floor in floors)
            judged = judge(metric, in_a, in_b, floor) if force or not machines else ELSEWHERE
            ratio, low, high, verdict = judged
            rows.append(
                ComparedRow(
                    point=point,
                    label=label,
                    metric=metric.name,
                    unit=metric.unit,
                    a=stats.average(in_a),
                    b=stats.average(in_b),
                    ratio=ratio,
                    low=low,
                    high=high,
                    verdict=verdict,
                    blocks_a=len(in_a),
                    blocks_b=len(in_b),
                    floor=floor,
                    agreement=agreed.get((point, label)),
                )
            )
    if not rows:
        raise CompareError(
            "these two campaigns have no crawl of a closed loop or with connections held that is "
            "the same in both, and nothing else is judged (were they run with the same profile?)"
        )
    unlike = [point for point, params in asked_a.items() if params != asked_b.get(point, params)]
    found = Counter((row.metric, row.verdict) for row in rows if row.low is not None)
    every = Counter(row.metric for row in rows if row.low is not None)
    together = [
        f"{number} of {every[metric]} by {SHORT[metric]} are {verdict}"
        for (metric, verdict), number in found.items()
        if verdict in ("better", "worse") and 2 * number > every[metric]
    ]
    notes = {
        TOGETHER: together,
        "These are different machines: --force judges them all the same": machines,
        "Not compared, because A and B ask for different work": unlike,
        INCOMPLETE: [why for records in (a, b) if (why := unfinished(records))],
        LOST: [f"{label} at {point}" for point, label in lost(a, b)],
    }
    return MachineComparison(
        a.campaign.campaign,
        b.campaign.campaign,
        environment_differences(*environments),
        rows,
        {what: names for what, names in notes.items() if names},
    )


JudgedRatio = tuple[float | None, float | None, float | None, Direction]
"""A ratio, its interval and the verdict."""
ELSEWHERE: Final[JudgedRatio] = (None, None, None, "another machine")


def judge(metric: Metric, a: Sequence[float], b: Sequence[float], floor: float) -> JudgedRatio:
    """Judge one backend's values.

    With fewer than :data:`bench.analysis.stats.MIN_BLOCKS` blocks on either side there is neither
    interval nor verdict.
    """
    if min(len(a), len(b)) < MIN_BLOCKS:
        return stats.average(b) / stats.average(a), None, None, "too few blocks"
    value, low, high = welch(a, b)
    if not (low > 1 or high < 1) or abs(math.log(value)) <= floor:
        return value, low, high, "no difference shown"
    better = (value > 1) == (metric.name == MORE_IS_BETTER)
    return value, low, high, "better" if better else "worse"


def welch(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """Ratio of geometric means, b over a, with its interval; needs two values each."""
    x, y = np.log(np.asarray(a)), np.log(np.asarray(b))
    difference = float(y.mean() - x.mean())
    va, vb = float(x.var(ddof=1)) / len(x), float(y.var(ddof=1)) / len(y)
    if va + vb <= 0:
        return math.exp(difference), math.exp(difference), math.exp(difference)
    freedom = (va + vb) ** 2 / (va**2 / (len(x) - 1) + vb**2 / (len(y) - 1))
    half = float(special.stdtrit(freedom, (1 + LEVEL) / 2)) * math.sqrt(va + vb)
    return math.exp(difference), math.exp(difference - half), math.exp(difference + half)


def agreements(a: Analysis, b: Analysis, metric: Metric) -> dict[tuple[str, str], Agreement]:
    """(point, label) -> whether the verdicts on its ratio to the base agree."""
    in_b = {(c.point, c.base, c.label): c.ratio for c in b.compare(metric)}
    return {
        (c.point, c.label): agreement(c.ratio, ratio)
        for c in a.compare(metric)
        if (ratio := in_b.get((c.point, c.base, c.label))) and None not in (c.ratio.low, ratio.low)
    }


def agreement(a: Ratio, b: Ratio) -> Agreement:
    """``A only`` and ``B only``: a difference is shown in one of them."""
    if a.shown and b.shown:
        return "agree" if a.verdict == b.verdict else "opposite"
    if a.shown or b.shown:
        return "A only" if a.shown else "B only"
    return "neither"


def environment_differences(a: Environment, b: Environment) -> list[tuple[str, str, str]]:
    """What differs, the most important first."""
    names = (*MACHINE, "memory_total_bytes", "os", "kernel")
    software = ("python", "implementation", "openssl", "commit", "dirty")
    pairs = [(name, getattr(a, name), getattr(b, name)) for name in (*names, *software)]
    for group in ("python_build", "limits", "packages"):
        in_a, in_b = getattr(a, group), getattr(b, group)
        keys = sorted(in_a.keys() | in_b.keys())
        pairs += [(f"{group}.{key}", in_a.get(key), in_b.get(key)) for key in keys]
    return [
        (what, MISSING if in_a is None else str(in_a), MISSING if in_b is None else str(in_b))
        for what, in_a, in_b in pairs
        if in_a != in_b
    ]


def machine_differences(a: Environment, b: Environment) -> list[str]:
    """Signs that these are two machines; empty when they look like one."""
    signs = [name for name in MACHINE if getattr(a, name) != getattr(b, name)]
    memory = a.memory_total_bytes, b.memory_total_bytes
    apart = max(memory) - min(memory) > MEMORY_TOLERANCE * max(memory)
    return [*signs, "memory_total_bytes"] if apart else signs


def unfinished(records: Records) -> str | None:
    """Why a campaign is not complete; None if it is."""
    if records.unfinished is None:
        return None
    trials = records.planned
    done = f", {len(records.trials)} of {trials} trials" if trials else ""
    return f"campaign {records.campaign.campaign} is incomplete ({records.unfinished}{done})"


def lost(a: Records, b: Records) -> list[tuple[str, str]]:
    """Pairs of point and label with valid trials in A that B planned too, without a valid one."""
    asked_a, asked_b = asked(a), asked(b)
    valid = {(t.point, t.label) for t in b.trials if t.status == "ok"}
    wanted = {(entry.point, label) for entry in b.campaign.plan for label in entry.labels}
    pairs = dict.fromkeys((t.point, t.label) for t in a.trials if t.status == "ok")
    return [
        pair
        for pair in pairs
        if pair in wanted and pair not in valid and asked_a.get(pair[0]) == asked_b[pair[0]]
    ]


def asked(records: Records) -> dict[str, dict[str, object]]:
    """Each point's parameters; one that is not set counts as one that did not exist yet."""
    return {
        entry.point: {name: value for name, value in entry.params.items() if value is not None}
        for entry in records.campaign.plan
    }


def show(comparison: MachineComparison, console: Console) -> None:
    """Print how the environments differ, the table, and the totals."""
    heads = [words(""), words(f"A: {comparison.a}"), words(f"B: {comparison.b}")]
    differences = comparison.differences or [("no difference", "", "")]
    tables.show(Table("The environments", heads, differences), console)
    caption = "B over A; worse and better are beyond the interval and the noise floor"
    tables.show(tabled(caption, COLUMNS, comparison.rows, grouped=True), console)
    for what, names in comparison.notes.items():
        console.print(f"{what}: {'; '.join(names)}.", soft_wrap=True, markup=False)
    verdicts = _totals(row.verdict for row in comparison.rows)
    console.print(f"Of {plural(len(comparison.rows), 'comparison')}: {verdicts}.")
    if agreed := [row.agreement for row in comparison.rows if row.agreement]:
        console.print(f"Differences to the base, A and B: {_totals(agreed)}.")


def _ratio(row: ComparedRow) -> str:
    if row.ratio is None or not (row.low and row.high):
        return MISSING if row.ratio is None else cells.hundredths(row.ratio)
    return cells.ranged(cells.hundredths, row.ratio, row.low, row.high)


COLUMNS: Final[CellMakers[ComparedRow]] = (
    (name("backend"), lambda row: row.label),
    (name("point"), lambda row: row.point),
    (words("metric"), lambda row: SHORT[row.metric]),
    (Column("A"), lambda row: count(row.a)),
    (Column("B"), lambda row: count(row.b)),
    (Column(f"B / A [{AT_LEVEL}]"), _ratio),
    (words("verdict"), lambda row: row.verdict),
    (words("ratio to the base", drop=1), lambda row: row.agreement or MISSING),
)


def _totals(verdicts: Iterable[str]) -> str:
    return listing([f"{number} {what}" for what, number in Counter(verdicts).most_common()])
