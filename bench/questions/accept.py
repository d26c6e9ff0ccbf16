"""What does a new connection cost a server?

As in ``serve``, but a client asks for one page and its connection ends. A browser's first request
is like this, and so is every request behind a proxy that does not keep connections.
"""

from __future__ import annotations

from operator import sub, truediv
from typing import Final

from bench.questions.columns import BARE, Follows, Read, ServedColumns
from bench.show.measured import TIMES, US

NAME: Final = "accept"
ASKS: Final = "What does a new connection cost a server?"
POINT: Final = "accept-100"
COLUMNS: Final = ServedColumns(
    workloads=[NAME, "serve"],
    point=POINT,
    columns={
        "kept": Read("kept", "a request on a kept connection", US, at="serve-100", shown=False),
        "all": Read(
            "in all", "a request with a connection of its own, processor time", US, at=POINT
        ),
        "opened": Follows(
            "more than kept",
            "… more than on a kept one",
            US,
            sub,
            "all",
            "kept",
            averaged=True,
        ),
        "over": Follows(
            f"× {BARE}", "… over sockets alone", TIMES, truediv, "all", "all", base=BARE
        ),
    },
    head="all",
    says="{serving} a connection costs",
    caption="A connection for each request, served",
    about="Processor time of the server per request at 100 connections, in turns; what of it a "
    f"kept connection saves; and all of it over that of {BARE}. {{where}}",
    title="Processor time of a server per request with a connection of its own",
    subtitle="100 clients, each with a new connection for each page of 2 KB, in turns. {where}",
    panels={"processor time per request": ("all",)},
    prose="Each of 100 clients opens a connection, asks for a page of 2 KB with `Connection: "
    "close`, compares the answer, and comes back with a new connection. The server accepts, starts "
    "whatever serves a connection (a thread, an object, a task), answers, and closes. The load "
    "opens a connection for each answer too, so a fast server may wait for it. On several "
    "processors threads pay more, because they hand the interpreter's lock over: on two, wrk saw "
    "5.8 times the cost of `callbacks`. To measure it: "
    "`python -m bench run --profile servers --only accept,serve-100`.",
    server="{label}",
    slow="The load was slower than {servers}: a server that waits for a client pays for going to "
    "sleep and waking up.",
)
pairs, measured, answer = COLUMNS.pairs, COLUMNS.measured, COLUMNS.answer
