"""What does a request cost a server?

The four models once more, as servers. All servers of a block are alive together, each with a load
of its own, and take turns on the processor that is measured. The control ``bare`` is a loop that
accepts, receives and sends, and nothing else.
"""

from __future__ import annotations

from operator import truediv
from typing import Final

from bench.questions.columns import BARE, Follows, Read, ServedColumns
from bench.show.measured import TIMES, US

NAME: Final = "serve"
ASKS: Final = "What does a request cost a server?"
CONNECTIONS: Final = ("10", "100", "1000")
MAIN: Final = "100"
COLUMNS: Final = ServedColumns(
    workloads=[NAME],
    point=f"{NAME}-{MAIN}",
    columns={
        **{
            n: Read(
                f"at {n}", f"a request at {n} connections, processor time", US, at=f"{NAME}-{n}"
            )
            for n in CONNECTIONS
        },
        "over": Follows(
            f"× {BARE}", f"… at {MAIN}, over sockets alone", TIMES, truediv, MAIN, MAIN, base=BARE
        ),
    },
    head=MAIN,
    says="{serving} a request costs",
    caption="A request, served",
    about="Processor time of the server per request on kept connections, in turns, by the number "
    f"of connections; and the same at {MAIN} over that of {BARE}, within blocks. {{where}}",
    title=f"Processor time of a server per request, at {MAIN} connections",
    subtitle="Kept connections, one request in flight on each, pages of 2 KB. {where}",
    panels={
        "processor time per request": (MAIN,),
        f"the same over {BARE}, sockets alone": ("over",),
    },
    prose="Processor time of the server for a page of 2 KB from a list, on kept connections with "
    "one request in flight on each. The load has a processor of its own, never sleeps, and "
    "compares every byte. A server with several threads has all processors but the load's. Where "
    "that is one, threads do not pay for handing the interpreter's lock from one processor to "
    "another. To measure it: `python -m bench run --profile servers`.",
    server="{label} at {at}",
    slow="The load was slower than {servers}: a server that waits for a request pays for going to "
    "sleep and waking up, so a request costs it more than under full load.",
)
pairs, measured, answer = COLUMNS.pairs, COLUMNS.measured, COLUMNS.answer
