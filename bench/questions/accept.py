"""What does a new connection cost a server?

As in ``serve``, but a client asks for one page and its connection ends. A browser's first request
is like this, and so is every request behind a proxy that does not keep connections.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import truediv
from statistics import median
from typing import Final

from bench.analysis import stats, summary
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Metric, Pair
from bench.questions.question import RANGES, Answer, bars, every_two, of_models
from bench.show.measured import TIMES, US, Blocks, Measure, Measured, within
from bench.show.words import BY_LOAD
from bench.store import Records
from bench.text import listing

NAME: Final = "accept"
ASKS: Final = "What does a new connection cost a server?"
BARE: Final = "bare"
POINT: Final = "accept-100"
KEPT: Final = "serve-100"
ALL, OPENED, OVER = "all", "opened", "over"
MEASURES: Final = {
    ALL: Measure("in all", "a request with a connection of its own, processor time", US),
    OPENED: Measure("more than kept", "… more than the median on a kept one", US),
    OVER: Measure(f"× {BARE}", "… over sockets alone", TIMES),
}
PROSE: Final = (
    "Each of 100 clients opens a connection, asks for a page of 2 KB with `Connection: close`, "
    "compares the answer, and comes back with a new connection. The server accepts, starts "
    "whatever serves a connection (a thread, an object, a task), answers, and closes. The load "
    "opens a connection for each answer too, so a fast server may wait for it. On several "
    "processors threads pay more, because they hand the interpreter's lock over: on two, wrk saw "
    "5.8 times the cost of `callbacks`. To measure it: "
    "`python -m bench run --profile servers --only accept,serve-100`."
)


def pairs(_: Records, metric: Metric) -> list[Pair]:
    return every_two(POINT) if metric is stats.CPU_PER_REQUEST else []


def measured(analysis: Analysis) -> Measured:
    trials = [t for name in (NAME, "serve") for t in stats.served(analysis.records, name)]
    costs = stats.block_values(trials, stats.CPU_PER_REQUEST)
    bare = costs.get((POINT, BARE), {})
    values: dict[str, Mapping[str, Blocks]] = {}
    for label in (*analysis.labels, BARE):
        if found := costs.get((POINT, label)):
            mine: dict[str, Blocks] = {ALL: found}
            if kept := costs.get((KEPT, label)):  # its blocks may be others
                middle = median(kept.values())
                mine[OPENED] = {block: cost - middle for block, cost in found.items()}
            if over := within(found, bare, truediv):
                mine[OVER] = over
            values[label] = mine
    return Measured(MEASURES, values)


def answer(analysis: Analysis) -> Answer | None:
    found = measured(analysis)
    if not found.values:
        return None
    trials = stats.served(analysis.records, NAME)
    serving, where = summary.servers_placed(trials)
    compared = analysis.family(stats.CPU_PER_REQUEST).of(every_two(POINT))
    head = of_models(found, ALL, f"{serving} a connection costs", compared=compared)
    hollow = stats.limited_by_load(trials)
    servers = found.only(label for label in found.values if label != BARE)
    warnings = [
        f"The load was slower than {listing(sorted(hollow))}: a server that waits for a client "
        "pays for going to sleep and waking up."
    ]
    about = (
        "Processor time of the server per request at 100 connections, in turns; what of it a kept "
        f"connection saves; and all of it over that of {BARE}. {where}"
    )
    return Answer(
        found,
        head,
        PROSE,
        tables=[found.table("A connection for each request, served", about)],
        figures=[
            bars(
                servers,
                head,
                NAME,
                "Processor time of a server per request with a connection of its own",
                f"100 clients, each with a new connection for each page of 2 KB, in turns. {where}",
                {"processor time per request": (ALL,)},
                notes=[RANGES, BY_LOAD] if hollow else [RANGES],
                hollow=hollow,
            )
        ]
        if servers.values
        else [],
        warnings=warnings if hollow else (),
    )
