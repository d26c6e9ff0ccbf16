"""What does a request cost a server?

The four models once more, as servers. All servers of a block are alive together, each with a load
of its own, and take turns on the processor that is measured. The control ``bare`` is a loop that
accepts, receives and sends, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import truediv
from typing import Final

from bench.analysis import stats, summary
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Metric, Pair
from bench.questions.question import RANGES, Answer, bars, every_two, of_models
from bench.show.measured import TIMES, US, Blocks, Measure, Measured, within
from bench.show.words import BY_LOAD
from bench.store import Records
from bench.text import listing

NAME: Final = "serve"
ASKS: Final = "What does a request cost a server?"
BARE: Final = "bare"
CONNECTIONS: Final = ("10", "100", "1000")
MAIN: Final = "100"
OVER: Final = "over"
MEASURES: Final = {
    **{n: Measure(f"at {n}", f"a request at {n} connections, processor time", US)
       for n in CONNECTIONS},
    OVER: Measure(f"× {BARE}", f"… at {MAIN}, over sockets alone", TIMES),
}  # fmt: skip
PROSE: Final = (
    "Processor time of the server for a page of 2 KB from a list, on kept connections with one "
    "request in flight on each. The load has a processor of its own, never sleeps, and compares "
    "every byte. A server with several threads has all processors but the load's. Where that is "
    "one, threads do not pay for handing the interpreter's lock from one processor to another. To "
    "measure it: `python -m bench run --profile servers`."
)


def pairs(_: Records, metric: Metric) -> list[Pair]:
    return every_two(f"{NAME}-{MAIN}") if metric is stats.CPU_PER_REQUEST else []


def measured(analysis: Analysis) -> Measured:
    costs = stats.block_values(stats.served(analysis.records, NAME), stats.CPU_PER_REQUEST)
    bare = costs.get((f"{NAME}-{MAIN}", BARE), {})
    values: dict[str, Mapping[str, Blocks]] = {}
    for label in (*analysis.labels, BARE):
        mine: dict[str, Blocks] = {
            n: found for n in CONNECTIONS if (found := costs.get((f"{NAME}-{n}", label)))
        }
        if over := within(mine.get(MAIN, {}), bare, truediv):
            mine[OVER] = over
        if mine:
            values[label] = mine
    return Measured(MEASURES, values)


def limited(records: Records) -> list[str]:
    trials = stats.served(records, NAME)
    slow: dict[str, list[str]] = {}
    for point in sorted({t.point for t in trials}):
        for label in sorted(stats.limited_by_load([t for t in trials if t.point == point])):
            slow.setdefault(label, []).append(point.removeprefix(f"{NAME}-"))
    return [f"{label} at {listing(at)} connections" for label, at in slow.items()]


def answer(analysis: Analysis) -> Answer | None:
    found = measured(analysis)
    if not found.values:
        return None
    trials = stats.served(analysis.records, NAME)
    serving, where = summary.servers_placed(trials)
    compared = analysis.family(stats.CPU_PER_REQUEST).of(every_two(f"{NAME}-{MAIN}"))
    head = of_models(found, MAIN, f"{serving} a request costs", compared=compared)
    slow = limited(analysis.records)
    hollow = stats.limited_by_load([t for t in trials if t.point == f"{NAME}-{MAIN}"])
    servers = found.only(label for label in found.values if label != BARE)
    warnings = [
        f"The load was slower than {listing(slow)}: a server that waits for a request pays "
        "for going to sleep and waking up, so a request costs it more than under full load."
    ]
    return Answer(
        found,
        head,
        PROSE,
        tables=[
            found.table(
                "A request, served",
                "Processor time of the server per request on kept connections, in turns, by the "
                f"number of connections; and the same at {MAIN} over that of {BARE}, within "
                f"blocks. {where}",
            )
        ],
        figures=[
            bars(
                servers,
                head,
                NAME,
                f"Processor time of a server per request, at {MAIN} connections",
                f"Kept connections, one request in flight on each, pages of 2 KB. {where}",
                {
                    "processor time per request": (MAIN,),
                    f"the same over {BARE}, sockets alone": (OVER,),
                },
                notes=[RANGES, BY_LOAD] if hollow else [RANGES],
                hollow=hollow,
            )
        ]
        if servers.with_(MAIN, servers.values)
        else [],
        warnings=warnings if slow else (),
    )
