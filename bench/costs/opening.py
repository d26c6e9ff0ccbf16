"""What a connection of its own adds to a page: the counts of ``churn`` minus those of ``fetch``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bench.costs.account import Account, Cost
from bench.costs.record import Costs, seed_words
from bench.costs.sites import OPENED
from bench.machine.instruments import INSTRUCTIONS, SYSCALLS
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_rows
from bench.report.charts.slide import Slide
from bench.show.table import MISSING, Column, Table, name
from bench.text import count, listing, number, times
from crawlers.registry import MODELS

NAME = "costs-churn"
TITLE = "Instructions that a connection for each page adds"
LISTED = "fetch"
COMMAND = "python -m bench costs --workload churn"


@dataclass(frozen=True, slots=True)
class Opening:
    """One backend: instructions and system calls, medians over hash seeds."""

    backend: str
    instructions: float  # of opening and closing a connection
    page: float  # instructions of a page on a kept connection
    calls: float | None  # system calls of opening and closing

    @property
    def pages(self) -> float:
        """How many pages on a kept connection take as many instructions."""
        return self.instructions / self.page


def openings(made: Sequence[Account]) -> list[Opening]:
    """Every backend that was counted on both workloads."""
    by_place = {(each.backend, each.workload): each for each in made}
    found = []
    for (backend, workload), each in by_place.items():
        kept = by_place.get((backend, LISTED))
        if workload != OPENED or kept is None:
            continue
        more, page = added(each, kept, INSTRUCTIONS), kept.costs.get(INSTRUCTIONS)
        if more is not None and page is not None:
            found.append(Opening(backend, more, page.middle, added(each, kept, SYSCALLS)))
    return found


def added(opened: Account, kept: Account, key: str) -> float | None:
    """How much more of one cost a page takes; None where one of them was not counted."""
    one: Cost | None = opened.costs.get(key)
    other: Cost | None = kept.costs.get(key)
    return None if one is None or other is None else one.middle - other.middle


def table(made: Sequence[Account]) -> Table:
    """One row for each backend."""
    return Table(
        "A connection of its own adds to a page of fetch",
        [name("backend"), Column("instructions"), Column("in kept pages"), Column("system calls")],
        [
            [
                row.backend,
                count(row.instructions),
                times(row.pages),
                MISSING if row.calls is None else f"{row.calls:.1f}",
            ]
            for row in openings(made)
        ],
        about="The workload churn minus fetch, medians over hash seeds: opening and closing.",
    )


def finding(rows: Sequence[Opening]) -> str | None:
    """The models whose connection takes most and least of their own pages."""
    found = sorted((row for row in rows if row.backend in MODELS), key=lambda row: -row.pages)
    if len(found) < 2:
        return None
    most, least = found[0], found[-1]
    return (
        f"A connection takes the instructions of {times(most.pages)} pages with {most.backend}, "
        f"of {times(least.pages)} with {least.backend}"
    )


def words(made: Sequence[Account]) -> str:
    """A sentence with every backend that was counted, for docs/findings.md."""
    found = sorted(openings(made), key=lambda row: -row.pages)
    if not found:
        return f"(Instructions were not counted: `{COMMAND}`.)"
    each = [f"{times(row.pages)} with `{row.backend}`" for row in found]
    return (
        "In instructions, a connection takes as many as this number of pages on a kept one: "
        f"{listing(each)}."
    )


def design(costs: Costs, made: Sequence[Account]) -> Design | Skip:
    """Bars of instructions; each label says how many kept pages that is."""
    rows = openings(made)
    if not rows:
        return Skip(NAME, TITLE, f"no instructions of churn were counted: {COMMAND}")
    header = costs.header
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding(rows),
        subtitle=(
            f"Instructions in user space to open and close a connection, at {header.slots} slots, "
            f"by {header.tools.get('instructions', 'valgrind')}: a count, not a speed"
        ),
        alt="Bar chart, instructions that a connection for each page adds. "
        + "; ".join(
            f"{row.backend} {row.instructions:,.0f}, or {times(row.pages)} pages" for row in rows
        )
        + ".",
        draw=partial(_draw, rows),
        notes=(
            "Pages with a connection each minus pages on kept ones; medians of "
            f"{seed_words(costs)}. Not in it: the kernel’s time.",
        ),
    )


def _draw(rows: Sequence[Opening], slide: Slide) -> None:
    axes = slide.panels()[0]
    size = slide.label_size(len(rows), 16.0)
    for place, row in enumerate(rows):
        colour = slide.look.of(row.backend).colour
        axes.barh(place, row.instructions, height=0.62, color=colour, zorder=2)
        label = f"{number(row.instructions)} = {times(row.pages)} pages"
        bar_label(axes, label, row.instructions, place, size, bold=True)
    value_axis(axes, [max(row.instructions for row in rows) * 1.35], axis="x", words=number)
    bar_rows(slide, axes, [row.backend for row in rows], size)
    axes.set_xlabel("instructions to open and close a connection")
