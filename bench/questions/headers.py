"""What does a response header cost?

A backend takes turns with itself on a list: its pages have 5, 20 and 80 header lines, each of which
differs from page to page. So the cost of a line is a difference within a block.
"""

from __future__ import annotations

from typing import Final

from bench.conditions.ways import LINES
from bench.questions.columns import Columns, Follows, Read
from bench.questions.question import RANGES
from bench.show.measured import US

NAME: Final = "headers"
ASKS: Final = "What does a response header cost?"
FEW, _, MANY = LINES
COLUMNS: Final = Columns(
    workloads=[NAME],
    columns={
        **{
            f"with_{lines}": Read(
                f"{lines} lines",
                f"a page with {lines} header lines of its own, processor time",
                US,
                mode=f"headers={lines}",
            )
            for lines in LINES
        },
        "line": Follows(
            "a line",
            "one more header line, processor time",
            US,
            lambda many, few: (many - few) / (MANY - FEW),
            f"with_{MANY}",
            f"with_{FEW}",
        ),
    },
    needs=["line"],
    head="line",
    says="A new header line costs",
    caption="Response headers",
    about="Processor time per page of a list on plain HTTP, in turns, by the number of header "
    "lines that differ from page to page.",
    further="; a line is the difference between most and fewest, within a block",
    title="Processor time per page, by header lines",
    subtitle="Processor time of the client per page of a list on plain HTTP at 100 slots, in turns",
    panels={
        "processor time per page": (f"with_{FEW}", f"with_{MANY}"),
        "one more header line": ("line",),
    },
    pair=(f"{FEW} header lines", f"{MANY} (in colour)"),
    notes=[f"No line is on two pages that follow each other closely. {RANGES}"],
    prose="What a line costs a client that has not seen it before, at 100 slots on plain HTTP: "
    "the price of this suite’s parser, which remembers lines that repeat. For a new one httptools "
    "takes 0.2 µs, http.client 1.4. To measure it: `python -m bench run --only headers`.",
)
measured, answer = COLUMNS.measured, COLUMNS.answer
