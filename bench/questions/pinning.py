"""What do several processors cost threads?

The same crawl in turns, on one processor and on all that a client can have. Threads on one are the
backend ``threads_one_processor``. The loops have one thread each, and show that it is not the
processors. The server sleeps in all of these trials, because a client on all of two processors
shares the server's.
"""

from __future__ import annotations

from collections import defaultdict
from operator import truediv
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Ratio
from bench.analysis.summary import processors
from bench.analysis.wording import TIMES_FROM, between, change
from bench.plan.participants import PINNED
from bench.questions.question import Answer, Headline, few
from bench.schema import TrialRecord
from bench.show import cells
from bench.show.measured import TIMES, US, Blocks, Measure, Measured, within
from bench.text import listing, plural

NAME: Final = "pinning"
ASKS: Final = "What do several processors cost threads?"
ONE, ALL, OVER = "one", "all", "over"
ASKED: Final = "threads"
MEASURES: Final = {
    ONE: Measure("one processor", "a crawled page on one processor, processor time", US),
    ALL: Measure("all processors", "… on all processors of the client", US),
    OVER: Measure("all ÷ one", "… all of them, over one", TIMES),
}
PROSE: Final = (
    "The same crawl in turns, at 100 slots, from a server that sleeps. On several processors, a "
    "thread that gives up the interpreter’s lock wakes one on another processor, which often finds "
    "the lock taken again and has to wait for it. To see it, crawl a server of your own with "
    "`python -m crawlers threads URL -c 100`, and again with `threads_one_processor`."
)


def measured(analysis: Analysis) -> Measured:
    found: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for trial in stats.trials_of(analysis.records, NAME, twins=False):
        value = stats.CPU_PER_1000.value(trial)  # ms for 1000 pages: µs for each
        if value:
            found[ASKED if trial.backend == PINNED else trial.backend][_where(trial)][
                trial.block
            ] = value
    values: dict[str, dict[str, Blocks]] = {}
    for label, both in found.items():
        one, every = both[ONE], both[ALL]
        if over := within(every, one, truediv):
            values[label] = {ONE: one, ALL: every, OVER: over}
    order = [*analysis.labels, *values]
    return Measured(MEASURES, dict(sorted(values.items(), key=lambda row: order.index(row[0]))))


def _where(trial: TrialRecord) -> str:
    return ALL if trial.backend == ASKED or trial.params.get("processors") == ALL else ONE


def answer(analysis: Analysis) -> Answer | None:
    found = measured(analysis)
    if ASKED not in found.values:
        return None
    others = [label for label in found.values if label != ASKED]
    loops = [f"`{label}` {cells.ratio(_ratio(found, label))}" for label in others]
    beside = f" All processors over one, for loops: {listing(loops)}." if loops else ""
    return Answer(
        found,
        _headline(_ratio(found, ASKED)),
        PROSE + beside,
        tables=[
            found.table(
                "On one processor and on all",
                "Processor time per crawled page at 100 slots, in turns, from a server that "
                f"sleeps. All: {_processors(analysis)}.",
            )
        ],
    )


def _ratio(found: Measured, label: str) -> Ratio:
    values = found.values[label]
    return stats.ratio(values[ONE], values[ALL], metric=stats.CPU_PER_1000)


def _headline(ratio: Ratio) -> Headline | None:
    if ratio.value is None:
        return None
    only, blocks = few(ratio.blocks), plural(ratio.blocks, "block")
    low, high = ratio.low or ratio.value, ratio.high or ratio.value
    if not only and not ratio.shown:
        text = "Whether threads cost more on all processors than on one is undecided"
        return Headline(text, f"{low:.2f} to {high:.2f}, {blocks}")
    saved = 1 / ratio.value
    much = f"{change(saved)} processor time per page {'than' if saved < TIMES_FROM else 'as'}"
    behind = f"{between(saved, 1 / high, 1 / low)}, {blocks}"
    text = f"Threads on one processor need {much} on all{only}"
    return Headline(text, "no interval" if only else behind)


def _processors(analysis: Analysis) -> str:
    trial = next(t for t in stats.trials_of(analysis.records, NAME) if t.backend == ASKED)
    client, server = processors(trial, "client"), processors(trial, "server")
    if not client:
        return "nothing could be pinned"
    shared = ", shared with the server" if client & server else ""
    return f"{plural(len(client), 'processor')}{shared}"
