"""What does malloc add to asyncio's receive?

asyncio asks for 256 KiB with each receive. Every backend starts where malloc keeps blocks of that
size; two variants run where it maps each of them anew, in the same turns, and differ in nothing
else.
"""

from __future__ import annotations

from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.plan.participants import BASE, MAPPED
from bench.questions.question import RANGES, Answer, Headline, bars, few
from bench.show.figures import Unit
from bench.show.measured import US, Blocks, Measure, Measured
from bench.text import number, plural

NAME: Final = "receive"
ASKS: Final = "What does malloc add to asyncio's receive?"
POINTS: Final = ("throughput-100", "ladder-100")
"""A variant and what it changes are compared at the first of these where both were measured."""

COST, FAULTS = "page", "faults"
EACH: Final = Unit("a page", number, number)
MEASURES: Final = {
    COST: Measure("a crawled page", "a crawled page, processor time", US),
    FAULTS: Measure("page faults", "page faults for a crawled page", EACH),
}
LINE: Final = "b = bytes(4 << 20); del b"
PROSE: Final = (
    "The same crawl in turns, at 100 slots. asyncio asks for 256 KiB with each receive. glibc’s "
    "malloc maps and unmaps them each time, until the program frees a block as large: `"
    f"{LINE}`. Every crawl here begins with that, but for the variants. A receive that "
    "was mapped and met the end of its connection is freed as it was, and cures the process too, "
    "so it is small programs that pay. See docs/upstream/asyncio-receive.md. To see it, crawl a "
    "server of your own with `python -m crawlers async_await URL -c 100`, and again with "
    "`async_await_mapped`."
)


def measured(analysis: Analysis) -> Measured:
    trials = stats.trials_of(analysis.records, *stats.CPU_PER_1000.workloads, twins=False)
    # Milliseconds for 1000 pages are microseconds for one.
    costs = stats.block_values(trials, stats.CPU_PER_1000)
    faults = stats.faults_of(analysis.records)
    values: dict[str, dict[str, Blocks]] = {}
    for variant in MAPPED:
        name = variant.removesuffix("_mapped")
        point = next((p for p in POINTS if {(p, name), (p, variant)} <= costs.keys()), None)
        if point is None:
            continue
        for label in (name, variant, BASE):
            if (point, label) in costs and label not in values:
                each = faults.get((point, label), {})
                values[label] = {
                    COST: costs[point, label],
                    FAULTS: {block: found.per_page for block, found in each.items()},
                }
    return Measured(MEASURES, values)


def answer(analysis: Analysis) -> Answer | None:
    """The line saves a part of a page; the chart has both states."""
    found = measured(analysis)
    if not found.values:
        return None
    head = headline(found)
    return Answer(
        found,
        head,
        PROSE,
        tables=[
            found.table(
                "asyncio’s receive in two states of malloc",
                "Processor time and page faults of a crawled page at 100 slots.",
            )
        ],
        figures=[
            bars(
                found,
                head,
                NAME,
                "A page of asyncio, where malloc keeps or maps what it receives into",
                "Processor time and page faults of the client for a crawled page at 100 slots",
                {"processor time per page": (COST,), "page faults per page": (FAULTS,)},
                notes=[f"The line: {LINE}. {RANGES}"],
            )
        ],
    )


def headline(found: Measured) -> Headline | None:
    for variant in MAPPED:
        if variant not in found.values:
            continue
        ratio = found.compare(COST, variant.removesuffix("_mapped"), variant)
        if ratio.value is None or ratio.value >= 1:
            return None
        saved = f"{100 * (1 - ratio.value):.0f} %"
        text = f"One line saves asyncio {saved} of its processor time per crawled 2 KB page"
        if ratio.low is None or ratio.high is None:
            return Headline(f"{text}{few(ratio.blocks)}", "no interval")
        if not ratio.shown:
            return None
        low, high = (100 * (1 - end) for end in (ratio.high, ratio.low))
        behind = f"{low:.0f} to {high:.0f} %, 95 % interval of {plural(ratio.blocks, 'block')}"
        return Headline(text, behind)
    return None
