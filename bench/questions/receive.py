"""What does malloc add to asyncio's receive?

asyncio asks for 256 KiB with each receive. Every backend starts where malloc keeps blocks of that
size; two variants run where it maps each of them anew, in the same turns, and differ in nothing
else.
"""

from __future__ import annotations

from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Blocks, Metric, Pair
from bench.plan.participants import BASE, MAPPED
from bench.questions.columns import Columns
from bench.questions.question import RANGES, Headline, few
from bench.show.figures import Unit
from bench.show.measured import US, Measure, Measured
from bench.show.words import basis
from bench.store import Records
from bench.text import in_percent, number

NAME: Final = "receive"
ASKS: Final = "What does malloc add to asyncio's receive?"
POINTS: Final = ("throughput-100", "ladder-100")
"""A variant and what it changes are compared at the first of these where both were measured."""

COST, FAULTS = "page", "faults"
EACH: Final = Unit("a page", number, number)
LINE: Final = "b = bytes(4 << 20); del b"


def pairs(_: Records, metric: Metric) -> list[Pair]:
    """Each variant and what it changes, the variant as the base: the line takes it away."""
    names = [(variant, variant.removesuffix("_mapped")) for variant in MAPPED]
    wanted = metric is stats.CPU_PER_1000
    return [(point, *pair) for pair in names for point in POINTS] if wanted else []


class InTwoStates(Columns):
    def measured(self, analysis: Analysis) -> Measured:
        trials = stats.trials_of(analysis.records, *stats.CPU_PER_1000.workloads, twins=False)
        # Milliseconds for 1000 pages are microseconds for one.
        costs = stats.block_values(trials, stats.CPU_PER_1000)
        faults = stats.faults_of(analysis.records)
        values: dict[str, dict[str, Blocks]] = {}
        for point, variant, name in pairs(analysis.records, stats.CPU_PER_1000):
            if variant in values or not {(point, name), (point, variant)} <= costs.keys():
                continue
            for label in (BASE, name, variant):
                if (point, label) in costs and label not in values:
                    blocks = faults.get((point, label), {})
                    values[label] = {
                        COST: costs[point, label],
                        FAULTS: {block: of_block.per_page for block, of_block in blocks.items()},
                    }
        return Measured(self.columns, values)

    def headline(self, analysis: Analysis, _: Measured) -> Headline | None:
        asked = pairs(analysis.records, stats.CPU_PER_1000)
        pair = next((c for c in analysis.family(stats.CPU_PER_1000).of(asked)), None)
        if pair is None or pair.ratio.value is None or pair.ratio.value >= 1:
            return None
        saved = in_percent(1 - pair.ratio.value)
        text = f"One line saves asyncio {saved} of its processor time per crawled 2 KB page"
        if pair.ratio.low is None:
            return Headline(f"{text}{few(pair.ratio.blocks)}", "no interval")
        return Headline(text, basis(pair), [pair]) if pair.ratio.shown else None


COLUMNS: Final = InTwoStates(
    workloads=[NAME],
    columns={
        COST: Measure("a crawled page", "a crawled page, processor time", US),
        FAULTS: Measure("page faults", "page faults for a crawled page", EACH),
    },
    caption="asyncio’s receive in two states of malloc",
    about="Processor time and page faults of a crawled page at 100 slots.",
    title="A page of asyncio, where malloc keeps or maps what it receives into",
    subtitle="Processor time and page faults of the client for a crawled page at 100 slots",
    panels={"processor time per page": (COST,), "page faults per page": (FAULTS,)},
    notes=[f"The line: {LINE}. {RANGES}"],
    prose="The same crawl in turns, at 100 slots. asyncio asks for 256 KiB with each receive. "
    "glibc’s malloc maps and unmaps them each time, until the program frees a block as large: "
    f"`{LINE}`. Every crawl here begins with that, but for the variants. A receive that "
    "was mapped and met the end of its connection is freed as it was, and cures the process too, "
    "so it is small programs that pay. See docs/upstream/asyncio-receive.md. To see it, crawl a "
    "server of your own with `python -m crawlers async_await URL -c 100`, and again with "
    "`async_await_mapped`.",
)
measured, answer = COLUMNS.measured, COLUMNS.answer
