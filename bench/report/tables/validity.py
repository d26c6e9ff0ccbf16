"""Turns against whole trials of the same crawl."""

from __future__ import annotations

from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.validity import Reading, Row
from bench.show import cells
from bench.show.table import Column, Table, name, words

CAPTION: Final = "Turns against whole trials"
SHORT: Final = {stats.CPU_PER_1000.name: "CPU, µs per page", stats.PAGES_PER_S.name: "pages/s"}


def validity(analysis: Analysis) -> Table:
    """One row per label and metric; no rows where no crawl was measured by both methods."""
    found = analysis.validity
    rows = found.rows if found else ()
    base = analysis.base
    return Table(
        CAPTION,
        [
            name("backend"),
            name("figure"),
            Column("in turns [95 %]"),
            Column("whole trials [95 %]"),
            Column("turns ÷ whole"),
            Column(f"÷ {base}, in turns"),
            Column(f"÷ {base}, whole"),
            words("do the ratios agree?"),
        ],
        [
            [
                row.label,
                SHORT[row.metric.name],
                figure(row.turns),
                figure(row.whole),
                cells.ratio(row.over),
                cells.ratio(row.in_turns, base=row.label == base),
                cells.ratio(row.in_whole, base=row.label == base),
                agreement(row),
            ]
            for row in rows
        ],
        about=(
            f"The crawl of {found.point} in turns, and again as {found.repeated}, one trial after "
            "the other, in the same campaign. Turns come to colder caches, and whole trials "
            "include connecting, so a figure may differ by method; the ratio of two backends "
            f"should not. A twin (#2) is the control."
            if found
            else ""
        ),
        notes=found.sentences if found else (),
        grouped=True,
    )


def figure(found: Reading) -> str:
    """A figure with its interval; milliseconds per 1000 pages are microseconds per page."""
    text = cells.figure(found.value)
    if found.low is None or found.high is None:
        return text
    return f"{text} [{cells.figure(found.low)}–{cells.figure(found.high)}]"


def agreement(row: Row) -> str:
    """``yes, within ±5 %``, ``no: 1.12 [1.03–1.22]``, or what could have been seen."""
    found = row.agreement
    if found is None:
        return ""
    if found.margin is not None and found.verdict == stats.EQUIVALENT:
        return f"yes, within ±{100 * found.margin:.0f} %"
    if found.shown:
        return f"no: {cells.ratio(found)}"
    if found.smallest is None:
        return found.reason
    seen = f"no difference shown, ±{100 * found.smallest:.0f} % would have been"
    return f"{seen}; {cells.settling(found)}" if found.verdict == stats.UNDECIDED else seen
