"""What does a new connection cost?

A backend takes turns with itself on plain HTTP: pages of a list on kept connections, and the same
pages with a connection for each. So the cost of opening and closing is a difference within a
block.
"""

from __future__ import annotations

from operator import sub
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.questions.question import RANGES, Answer, bars, of_models
from bench.show.measured import TIMES, US, Measure, Measured, within

NAME: Final = "churn"
ASKS: Final = "What does a new connection cost?"
KEPT, OPENED = "plain", "churn"
"""The modes: a kept connection, and one for each page."""

OPENING: Final = "opening"
MEASURES: Final = {
    "kept": Measure("kept", "a page on a kept connection, processor time", US),
    "new": Measure("new", "… with a connection of its own", US),
    OPENING: Measure("the connection", "to open and close a connection, processor time", US),
    "pages": Measure("in kept pages", "… in pages on a kept one", TIMES),
}
PROSE: Final = (
    "What a connection of its own adds to a page of a list, at 100 slots on plain HTTP, as a "
    "difference within blocks. All pay the kernel for `socket`, `connect` and `close`. A loop "
    "also watches the socket until it is connected and forgets it at the end; streams make a "
    "transport, a protocol, a reader and a writer for each connection as well. To measure it: "
    "`python -m bench run --only churn`; `python -m bench costs --workload churn` counts "
    "instructions and system calls."
)


def measured(analysis: Analysis) -> Measured:
    values, trials = {}, stats.trials_of(analysis.records, NAME, twins=False)
    for label, costs in stats.costs_in_modes(analysis.records, NAME).items():
        kept, new = costs.get(KEPT, {}), costs.get(OPENED, {})
        if opening := within(new, kept, sub):
            values[label] = {
                "kept": kept,
                "new": new,
                OPENING: opening,
                "pages": within(new, kept, lambda new, kept: new / kept - 1),
            }
    return Measured(MEASURES, values, stats.asleep(trials))


def answer(analysis: Analysis) -> Answer | None:
    found = measured(analysis)
    if not found.values:
        return None
    head = of_models(found, OPENING, "Opening and closing a connection costs")
    return Answer(
        found,
        head,
        PROSE,
        tables=[
            found.table(
                "A connection for each page",
                "Processor time per page on plain HTTP, in turns: on kept connections, and with a "
                "new connection for each page.",
                "; the connection is the difference within a block, in µs and in pages of the same "
                "backend",
            )
        ],
        figures=[
            bars(
                found,
                head,
                NAME,
                "Processor time per page, kept and new connections",
                "Processor time of the client per page of a list on plain HTTP at 100 slots, in "
                "turns",
                {
                    "processor time per page": ("kept", "new"),
                    "the connection, in kept pages": ("pages",),
                },
                ("a kept connection", "a new one for each page (in colour)"),
                notes=[
                    "Each request asks the server to close, and it nearly always closes first. "
                    + RANGES
                ],
            )
        ],
    )
