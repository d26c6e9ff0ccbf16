"""The ladder: each backend against the one it changes a single thing of."""

from __future__ import annotations

from typing import Final

from bench.analysis.analysis import Analysis
from bench.analysis.ladder import PAIRED_FROM, Ladder, Step
from bench.analysis.stats import EQUIVALENT, Ratio
from bench.show import cells
from bench.show.table import MISSING, Column, Row, Table, name, words
from bench.text import KIB, plural

CAPTION: Final = "The ladder: one change per rung"
COLUMNS: Final = (
    name("backend"),
    words("what it changes"),
    Column("CPU ms"),
    Column("CPU ratio [95 %]"),
    Column("KiB per connection"),
    Column("memory ratio [95 %]"),
)


def ladder(analysis: Analysis) -> Table:
    """One row per rung; no rows where the records do not say what a backend changes."""
    found = analysis.ladder
    if found is None:
        return Table(CAPTION, COLUMNS, [])
    held = "" if found.connections is None else f" at {found.connections:,} connections"
    return Table(
        CAPTION,
        COLUMNS,
        [_row(step) for step in found.steps],
        about=(
            "Each backend is compared with the one it names. CPU is per 1000 pages, at "
            f"{found.point}; memory is per connection{held}, its ratio paired over all numbers of "
            f"connections from {PAIRED_FROM:,} up. HTTP stacks are not concurrency models."
        ),
        notes=[
            *([analysis.places.words] if analysis.places else []),
            *([tally(compared)] if (compared := _compared(found)) else []),
            *(f"Not run: {label}: {reason}" for label, reason in sorted(found.missing.items())),
        ],
    )


def _compared(found: Ladder) -> list[tuple[str, Ratio]]:
    """Each rung that has a step by CPU."""
    return [(step.rung.name, step.cpu_ratio) for step in found.steps if step.cpu_ratio]


def tally(compared: list[tuple[str, Ratio]]) -> str:
    """How many steps of CPU are decided one way or the other, and what the rest would take."""
    shown = sum(ratio.shown for _, ratio in compared)
    same = sum(ratio.verdict == EQUIVALENT for _, ratio in compared)
    rest = [(name, r) for name, r in compared if not r.shown and r.verdict != EQUIVALENT]
    text = (
        f"By CPU, of {plural(len(compared), 'step')}: {shown} different, {same} equivalent, "
        f"{len(rest)} undecided."
    )
    if rest:
        text += " Undecided, with the blocks that would decide: "
        text += "; ".join(f"{name}: {_needed(ratio)}" for name, ratio in rest)
        text += "."
    return text


def _needed(ratio: Ratio) -> str:
    """The blocks that would decide an undecided step; without an interval, those it has."""
    return ratio.reason if ratio.low is None else cells.blocks(ratio.blocks_to_settle)


def _row(step: Step) -> Row:
    memory = step.memory_missing or MISSING
    return [
        step.rung.name,
        step.rung.changes,
        cells.figure(step.cpu.median if step.cpu else None),
        cells.judged_ratio(step.cpu_ratio),
        cells.tenths(step.memory.median / KIB) if step.memory else memory,
        cells.judged_ratio(step.memory_ratio),
    ]
