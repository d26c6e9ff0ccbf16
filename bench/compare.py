"""Two campaigns side by side: what differs around them, then what differs in them.

Trials of two campaigns cannot be paired, so the interval of a ratio is Welch's
(B. L. Welch, "The generalization of 'Student's' problem", 1947) on the
logarithms of the trials' values: it allows for two different spreads and for
different numbers of blocks. A difference is called one when that interval
leaves 1 out *and* it exceeds the larger of the two campaigns' noise floors.
What two campaigns share that two trials of a block do not (the hour, the
machine's mood) is not in the interval; hence the floor, and hence the care
that a single comparison deserves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text
from scipy import stats as sps

from bench import stats
from bench.errors import BenchError
from bench.schema import Environment
from bench.stats import LEVEL, MIN_BLOCKS, Metric
from bench.store import Records

Verdict = Literal["better", "worse", "no difference shown", "too few blocks"]
METRICS = (stats.PAGES_PER_S, stats.CPU_PER_1000, stats.USER_PER_CONNECTION)
MORE_IS_BETTER = frozenset({stats.PAGES_PER_S.name})
MEMORY_TOLERANCE = 0.02
"""Two boots of one machine differ by a little in their total memory."""


class CompareError(BenchError):
    """The two campaigns cannot be compared; the message is one line."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same in the two environments."""

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
    """Everything that ``compare`` says."""

    a: str
    b: str
    differences: tuple[Difference, ...]
    other_machine: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def regressions(self) -> list[Row]:
        """What got worse beyond the noise."""
        return [row for row in self.rows if row.verdict == "worse"]


def environment_differences(a: Environment, b: Environment) -> list[Difference]:
    """What is not the same, in the order in which it matters."""
    found = []
    plain = ("machine", "cpu_model", "cpu_count", "cpu_quota", "memory_total_bytes", "os", "kernel")
    software = ("python", "implementation", "commit", "dirty")
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
    """Why these are two machines; empty when they look like one."""
    names = ("machine", "cpu_model", "cpu_count", "cpu_quota")
    found = [name for name in names if getattr(a, name) != getattr(b, name)]
    larger = max(a.memory_total_bytes, b.memory_total_bytes)
    if abs(a.memory_total_bytes - b.memory_total_bytes) > MEMORY_TOLERANCE * larger:
        found.append("memory_total_bytes")
    return found


def welch(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """Ratio of geometric means, b over a, with its interval; two values each at least."""
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
    """Compare one backend's values at one point, and say what they show.

    With fewer than :data:`bench.stats.MIN_BLOCKS` blocks on either side there
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
    """Set campaign B against campaign A.

    Raises :class:`CompareError` when nothing was measured in both. Across
    machines there are no rows unless ``force`` is given.
    """
    first, second = a.campaign.environment, b.campaign.environment
    machines = machine_differences(first, second)
    rows = []
    params, other_params = asked(a), asked(b)
    for metric in METRICS:
        floors = [stats.aa_noise_floor(records.all, metric).log or 0.0 for records in (a, b)]
        values = [
            stats.block_values(stats.trials_of(records.all, *metric.workloads, twins=False), metric)
            for records in (a, b)
        ]
        for point in stats.points_of(a.all, *metric.workloads):
            # The same id may stand for another amount of work in another profile.
            if params.get(point) != other_params.get(point):
                continue
            for label in stats.labels_of(a.all):
                mine, other = (found.get((point, label)) for found in values)
                if mine and other:
                    rows.append(
                        row(point, label, metric, [*mine.values()], [*other.values()], max(floors))
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
    )


def asked(records: Records) -> dict[str, dict[str, object]]:
    """What each point asked for; a parameter not set is one that was not there yet."""
    return {
        entry.point: {name: value for name, value in entry.params.items() if value is not None}
        for entry in records.campaign.plan
    }


def show(comparison: Comparison, console: Console) -> None:
    """Print the comparison: the environments first."""
    console.print(f"A: {comparison.a}\nB: {comparison.b}", highlight=False)
    if comparison.differences:
        around = Table("environment", "A", "B", title="What differs around the measurements")
        for difference in comparison.differences:
            around.add_row(difference.what, difference.a, difference.b)
        console.print(around)
    else:
        console.print("The two environments are the same.")
    if comparison.other_machine:
        console.print(
            f"These are different machines ({', '.join(comparison.other_machine)})"
            + (
                "; the ratios below say as much about them as about the backends."
                if comparison.rows
                else ": no ratios. Give --force to see them all the same."
            ),
            style="yellow",
            highlight=False,
        )
    for metric in METRICS:
        rows = [row for row in comparison.rows if row.metric == metric.name]
        if rows:
            console.print(table(metric, rows))
    if comparison.rows:
        worse = comparison.regressions
        console.print(
            f"{len(worse)} of {len(comparison.rows)} comparisons got worse beyond the noise floor."
            if worse
            else "Nothing got worse beyond the noise floor.",
            highlight=False,
        )


def table(metric: Metric, rows: Sequence[Row]) -> Table:
    """One metric's rows; its noise floor stands in the title, for all rows have the same."""
    floor = f"±{100 * math.expm1(rows[0].floor):.1f} %"
    made = Table(
        title=f"{metric.title}, {metric.unit}: B over A, 95 % interval (noise floor {floor})",
        title_justify="left",
    )
    for name in ("point", "backend"):
        made.add_column(name, no_wrap=True)
    for name in ("A", "B", "B / A"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("verdict")
    for row in rows:
        interval = f" [{row.low:.2f}–{row.high:.2f}]" if row.low and row.high else ""
        made.add_row(
            *(row.point, row.label, f"{row.a:,.0f}", f"{row.b:,.0f}"),
            Text(f"{row.ratio:.2f}{interval}"),
            row.verdict,
            style={"worse": "red", "better": "green"}.get(row.verdict),
        )
    return made
