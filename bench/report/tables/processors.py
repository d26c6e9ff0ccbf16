"""Backends that use every processor, beside the models on one."""

from __future__ import annotations

from typing import Final

from bench.analysis.analysis import Analysis
from bench.show import cells
from bench.show.table import MISSING, Column, Table, name, words

CAPTION: Final = "On all processors, against the models on one"
SIDES: Final = {"apart": "server apart", "shared": "server shares the processors"}


def processors(analysis: Analysis) -> Table:
    """One row per backend and place of the server; no rows where it was not measured."""
    found = analysis.processors
    return Table(
        CAPTION,
        [
            name("backend"),
            name("server"),
            Column("client’s processors"),
            Column("server’s processors"),
            Column("pages/s, median [min–max]"),
            Column("ratio [95 %]"),
            words("verdict"),
            Column("CPU ms per 1000 pages"),
            Column("trials"),
        ],
        [
            [
                row.label,
                SIDES.get(row.how, row.how),
                listed(row.client),
                listed(row.server),
                cells.spread(row.rate),
                cells.ratio(row.ratio, base=row.label == row.base),
                row.ratio.verdict if row.ratio else "",
                cells.figure(row.cpu_ms.median if row.cpu_ms else None),
                str(row.trials),
            ]
            for row in (found.rows if found else ())
        ],
        about=(
            "Whole trials of one crawl at 100 slots, without delay; ratios of pages per second are "
            "to callbacks in the same blocks. Loops have one processor. What can use more gets "
            "all but the server’s where the server is apart, and all of them, as the server does, "
            "where it shares them. The server sleeps between requests in all of these trials, so "
            "their rates are not those of points whose server polls. CPU is that of all the "
            "client’s processes." + untried(analysis)
        ),
        grouped=True,
    )


def listed(processors: tuple[int, ...]) -> str:
    """``0, 1``."""
    return ", ".join(map(str, processors)) or MISSING


def untried(analysis: Analysis) -> str:
    """What is not in the table, and why."""
    found = analysis.processors
    return "".join(
        f" Not tried: {what.replace('`', '')}, because {why}."
        for what, why in (found.not_tried if found else ())
    )
