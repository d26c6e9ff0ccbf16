"""How long it takes until an interrupted crawl has closed everything."""

from __future__ import annotations

from bench.analysis.analysis import Analysis
from bench.analysis.cancelling import Ended
from bench.analysis.stats import Spread
from bench.show import cells
from bench.show.table import MISSING, Column, Row, Table, name
from bench.text import count


def cancelling(analysis: Analysis) -> Table:
    """One row per number of exchanges in flight and backend, the control last."""
    found = analysis.cancellations
    return Table(
        "Interrupted crawls: until everything is closed, ms",
        [
            name("backend"),
            Column("in flight"),
            Column("all closed, median [min–max]"),
            Column("call returned", drop=2),
            Column("client CPU"),
            Column("µs each"),
            Column("server at work", drop=1),
            Column("trials", drop=3),
        ],
        [
            _row(row)
            for size in found.sizes
            for row in (*found.at(size), *(each for each in [found.control(size)] if each))
        ],
        about=(
            "All exchanges were in flight, and the server held the answers. Times count from the "
            "moment when the crawl noticed the interrupt. All closed: its call had returned, and "
            "the server had seen the last connection end. Server at work: the share of that time "
            "in which the server worked. bare_close is the control, which closes sockets in a loop."
        ),
        notes=[f"{label} left something behind: see the void trials." for label in found.left],
        grouped=True,
    )


def _row(row: Ended) -> Row:
    share = row.server_share
    return [
        row.label,
        count(row.in_flight),
        cells.spread(_ms(row.closed)),
        cells.spread(_ms(row.returned)),
        cells.spread(_ms(row.client_cpu)),
        cells.figure(row.each_us),
        MISSING if share is None else f"{100 * share:.0f} %",
        count(row.closed.count),
    ]


def _ms(found: Spread) -> Spread:
    return Spread(1000 * found.median, 1000 * found.low, 1000 * found.high, found.count)
