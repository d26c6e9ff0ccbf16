"""What does a new connection cost?

A backend takes turns with itself on plain HTTP: pages of a list on kept connections, and the same
pages with a connection for each. So the cost of opening and closing is a difference within a
block.
"""

from __future__ import annotations

from operator import sub
from typing import Final

from bench.questions.columns import Columns, Follows, Read
from bench.questions.question import RANGES
from bench.show.measured import US

NAME: Final = "churn"
ASKS: Final = "What does a new connection cost?"
OPENING: Final = "opening"
COLUMNS: Final = Columns(
    workloads=[NAME],
    columns={
        "kept": Read("kept", "a page on a kept connection, processor time", US, mode="plain"),
        "new": Read("new", "… with a connection of its own", US, mode="churn"),
        OPENING: Follows(
            "the connection",
            "to open and close a connection, processor time",
            US,
            sub,
            "new",
            "kept",
        ),
    },
    needs=[OPENING],
    head=OPENING,
    says="Opening and closing a connection costs",
    caption="A connection for each page",
    about="Processor time per page on plain HTTP, in turns: on kept connections, and with a new "
    "connection for each page.",
    further="; the connection is the difference within a block",
    title="Processor time per page, kept and new connections",
    subtitle="Processor time of the client per page of a list on plain HTTP at 100 slots, in turns",
    panels={
        "processor time per page": ("kept", "new"),
        "to open and close a connection": (OPENING,),
    },
    pair=("a kept connection", "a new one for each page (in colour)"),
    notes=[
        "A connection: the mean of the differences within blocks. Each request asks the server to "
        f"close, and it nearly always closes first. {RANGES}"
    ],
    prose="What a connection of its own adds to a page of a list, at 100 slots on plain HTTP, as a "
    "difference within blocks. All pay the kernel for `socket`, `connect` and `close`. A loop "
    "also watches the socket until it is connected and forgets it at the end; streams make a "
    "transport, a protocol, a reader and a writer for each connection as well. To measure it: "
    "`python -m bench run --only churn`; `python -m bench study costs --workload churn` counts "
    "instructions and system calls.",
)
measured, answer = COLUMNS.measured, COLUMNS.answer
