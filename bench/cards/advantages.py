"""Where a backend is ahead: by the verdicts of the campaign, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.analysis import crossover, processors, stats
from bench.analysis.analysis import Analysis
from bench.analysis.ladder import Step
from bench.analysis.stats import Comparison, Metric, Ratio
from bench.show import cells
from bench.text import listing, plural

BY: Final[tuple[tuple[Metric, str], ...]] = (
    (stats.PAGES_PER_S, "more pages per second"),
    (stats.CPU_PER_1000, "less processor time for a page"),
    (stats.SERVICE_P99, "a shorter service time at p99"),
    (stats.USER_PER_CONNECTION, "less user memory for a connection"),
)
"""What a backend can be ahead by. More is better for the rate alone."""


def better(metric: Metric, ratio: Ratio) -> bool:
    """Whether a difference is shown, to the better."""
    more = metric.name == stats.PAGES_PER_S.name
    return ratio.shown and ratio.value is not None and (ratio.value > 1) == more


def advantages(analysis: Analysis, label: str) -> list[str]:
    """Sentences in Markdown; empty where no difference to the better is shown."""
    return [
        *_against_the_base(analysis, label),
        *_against_its_rung(analysis, label),
        *_threads_or_async(analysis, label),
        *_on_all_processors(analysis, label),
    ]


def _against_the_base(analysis: Analysis, label: str) -> Iterator[str]:
    for metric, words in BY:
        found = [c for c in analysis.compare(metric) if c.label == label]
        ahead = [c for c in found if better(metric, c.ratio)]
        if ahead:
            points = listing([f"`{c.point}` ({cells.ratio(c.ratio)}{_capped(c)})" for c in ahead])
            yield f"Compared with `{analysis.base}`, {words} at {points}, of {len(found)} points."


def _capped(found: Comparison) -> str:
    return ", the server was the limit" if found.server_limited else ""


def _against_its_rung(analysis: Analysis, label: str) -> Iterator[str]:
    step = rung_of(analysis, label)
    if step is None or step.rung.against in (None, analysis.base):
        return  # the comparison with the base has said it
    for words, ratio in (
        ("less processor time for a page", step.cpu_ratio),
        ("less memory for a connection", step.memory_ratio),
    ):
        if ratio is not None and ratio.value is not None and ratio.shown and ratio.value < 1:
            yield (
                f"Compared with `{step.rung.against}`, which it changes in one thing, {words} "
                f"({cells.ratio(ratio)})."
            )


def _threads_or_async(analysis: Analysis, label: str) -> Iterator[str]:
    """Threads against async_await: each is ahead of the other somewhere."""
    compared = [
        cell.against if cell.label == label else cell.against.inverse
        for cell in (analysis.crossover.cells if analysis.crossover else ())
        if cell.against
        and label in (cell.label, crossover.AGAINST)
        # Against the threads of Python's switch interval only.
        and (cell.label in (label, crossover.DEFAULT))
    ]
    ahead = [c for c in compared if better(crossover.RATE, c.ratio)]
    if ahead:
        points = listing([f"`{c.point}` ({cells.ratio(c.ratio)})" for c in ahead])
        yield (
            f"Compared with `{ahead[0].base}`, more pages per second at {points}, of "
            f"{plural(len(compared), 'point')}."
        )


def _on_all_processors(analysis: Analysis, label: str) -> Iterator[str]:
    found = analysis.processors
    for row in found.rows if found else ():
        if row.label == label and row.ratio and row.spreads and better(processors.RATE, row.ratio):
            yield (
                f"On {plural(len(row.client), 'processor')}, "
                f"{processors.PLACES.get(row.how, row.how)}, more pages per second than "
                f"`{row.base}` on one ({cells.ratio(row.ratio)})."
            )


def rung_of(analysis: Analysis, label: str) -> Step | None:
    """The rung of a backend; None where there is no ladder, or it was not measured."""
    steps = analysis.ladder.steps if analysis.ladder else ()
    return next((step for step in steps if step.rung.name == label), None)
