"""Two campaigns compared, on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from bench.analysis import stats
from bench.analysis.compare import METRICS, Comparison, Difference, Held, Row
from bench.analysis.stats import Metric
from bench.report.tables import terminal
from bench.show import cells
from bench.show.table import Cell, Column, Table, Tone, name, words
from bench.text import count, plural

TONES: dict[str, Tone] = {"worse": "bad", "better": "good"}


def show(comparison: Comparison, console: Console) -> None:
    """Print the comparison, the environments first."""
    console.print(f"A: {comparison.a}\nB: {comparison.b}")
    if comparison.differences:
        terminal.show(environments(comparison.differences), console)
    else:
        console.print("The two environments are the same.")
    if comparison.other_machine:
        hint = (
            "The ratios below are as much about the machines as about the backends."
            if comparison.rows
            else "Ratios would mislead; use --force to see them anyway."
        )
        listed = ", ".join(comparison.other_machine)
        console.print(f"These are different machines ({listed}). {hint}", style="yellow")
    if comparison.other_build:
        console.print(
            f"The interpreters are built differently (A: {comparison.other_build[0]}; "
            f"B: {comparison.other_build[1]}). Ratios between A and B are as much about the builds "
            "as about the releases.",
            style="yellow",
        )
    for which, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            console.print(f"Only in {which}: {', '.join(names)}.")
    for metric in METRICS:
        terminal.show(table(metric, comparison.rows), console)
    for campaign in comparison.incomplete:
        console.print(f"{campaign}: what it lacks cannot be compared.", style="red")
    if comparison.missing:
        listed = ", ".join(f"{label} at {point}" for point, label in comparison.missing)
        console.print(f"Valid in A, but not measured or not valid in B: {listed}.", style="red")
    if comparison.unlike:
        listed = ", ".join(comparison.unlike)
        console.print(f"Not compared, because A and B ask for different work: {listed}.")
    if comparison.rows and not comparison.judged:
        console.print(
            "No verdict: it takes at least "
            f"{plural(stats.MIN_BLOCKS, 'block')} of a point in each campaign.",
            style="yellow",
        )
    elif comparison.rows:
        worse = len(comparison.regressions)
        console.print(
            f"{worse} of {len(comparison.rows)} comparisons got worse by more than the noise floor."
            if worse
            else "Nothing got worse by more than the noise floor.",
        )


def show_held(found: Sequence[Held], console: Console) -> None:
    """Print how the verdicts of both campaigns agree, and those that do not."""
    if not found:
        return
    totals = Counter(one.agreement for one in found)
    terminal.show(
        Table(
            "Ratios to the base within each campaign: verdicts that do not agree",
            [name("backend"), name("point"), words("metric"), Column("A"), Column("B"), words("")],
            [
                [one.label, one.point, one.metric, cells.ratio(one.a), cells.ratio(one.b), said]
                for one in found
                if (said := one.agreement) in ("opposite", "A only", "B only")
            ],
            grouped=True,
        ),
        console,
    )
    console.print(
        f"Of {plural(len(found), 'ratio')}: {totals['agree']} differ from 1 in the same direction, "
        f"{totals['opposite']} in opposite ones, {totals['A only']} in A only, "
        f"{totals['B only']} in B only, {totals['neither']} in neither."
    )


def environments(differences: Sequence[Difference]) -> Table:
    """How the two environments differ."""
    rows = [[difference.what, difference.a, difference.b] for difference in differences]
    return Table(
        "How the environments differ", [words("environment"), words("A"), words("B")], rows
    )


def table(metric: Metric, every: Sequence[Row]) -> Table:
    """One metric's rows; all of them have the same noise floor."""
    rows = [row for row in every if row.metric == metric.name]
    floor = stats.floor_words(min(row.floor for row in rows)) if rows else ""
    return Table(
        f"{metric.title}, {metric.unit}: B over A, 95 % interval (noise floor {floor})",
        [
            name("backend"),
            name("point"),
            Column("A"),
            Column("B"),
            Column("B / A"),
            words("verdict"),
        ],
        [
            [
                row.label,
                row.point,
                count(row.a),
                count(row.b),
                _ratio(row),
                Cell(row.verdict, row.verdict, TONES.get(row.verdict, "plain")),
            ]
            for row in rows
        ],
        grouped=True,
    )


def _ratio(row: Row) -> str:
    interval = f" [{row.low:.2f}–{row.high:.2f}]" if row.low and row.high else ""
    return f"{row.ratio:.2f}{interval}"
