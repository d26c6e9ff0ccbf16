"""What does a timeout for each exchange cost?

The models keep no timer for an exchange: each slot has a deadline, and a sweep over the slots
compares it four times a second. That is in every page. A variant with ``timeouts`` in its name is
the same backend with its library's own way on top, measured in the same turns. The difference of
the two is the price.
"""

from __future__ import annotations

from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import CPU_PER_1000, Comparison, Spread
from bench.questions.question import Answer, Headline, few
from bench.show import cells
from bench.show.figures import Bars, Figure, Panel
from bench.show.measured import US, Blocks, Measure, Measured
from bench.show.table import MISSING, Column, Row, Table, name, words
from bench.show.words import of_blocks
from bench.text import listing, plural, significant

NAME: Final = "timeouts"
ASKS: Final = "What does a timeout for each exchange cost?"
SUFFIX: Final = "_timeouts"
"""Of a variant that has its library's own way."""

SWEEP: Final = "a deadline in the slot, and a sweep four times a second"
WAYS: Final = {
    "threads": "socket.settimeout",
    "callbacks": SWEEP,
    "generators": SWEEP,
    "async_await": "asyncio.timeout",
    "gevent": "gevent.Timeout",
    "uvloop": "asyncio.timeout",
    "trio": "trio.move_on_after",
    "aiohttp": "aiohttp.ClientTimeout",
}
"""How a program of this kind would limit an exchange; ``trio.fail_after`` raises in addition."""

WITHOUT, WITH = "without", "with"
MEASURES: Final = {
    WITHOUT: Measure("a crawled page", "a crawled page without timeouts, processor time", US),
    WITH: Measure("with a timeout", "… with a timeout for each exchange", US),
}
PROSE: Final = (
    "On top of a crawled page, in turns, at 100 slots, with 95 % intervals: {each}. It replaces "
    "what hardly any program has: a sweep that compares a deadline in each of the 100 slots four "
    "times a second. `asyncio.timeout` puts a timer into the loop’s heap for each page and cancels "
    "it again, all in Python; with `uvloop` the same timer is one of libuv, under the same Python. "
    "After `settimeout` Python calls `poll` before each send and each receive, and passes the "
    "interpreter’s lock once more each time. `aiohttp.ClientTimeout` puts a timer into the loop "
    "for each request, and each of its waits enters a context that the timer can cancel. "
    "`trio.move_on_after` makes a cancel scope for each exchange, and trio keeps its deadline in a "
    "heap of its own. Loops built by hand keep the sweep alone.{missing} To measure it: `python -m "
    "bench run --profile full --only ladder-100 --backends {backends}`."
)


def prices(analysis: Analysis) -> dict[str, Comparison]:
    """Backend -> processor time with its way over without it, the most expensive first."""
    family = analysis.family(CPU_PER_1000)
    points = stats.points_of(analysis.records, "ladder", "throughput")
    found = {
        backend: compared
        for backend in WAYS
        for point in points
        if (compared := family.get((point, backend, backend + SUFFIX)))
        and compared.ratio.value is not None
    }
    costs = measured(analysis, found)
    return dict(sorted(found.items(), key=lambda one: -added(costs, *one).median))


def measured(analysis: Analysis, priced: dict[str, Comparison]) -> Measured:
    trials = stats.trials_of(analysis.records, "ladder", "throughput", twins=False)
    costs = stats.block_values(trials, CPU_PER_1000)  # ms for 1000 pages: µs for each
    values: dict[str, dict[str, Blocks]] = {
        backend: {
            WITHOUT: costs[found.point, backend],
            WITH: costs[found.point, backend + SUFFIX],
        }
        for backend, found in priced.items()
    }
    return Measured(MEASURES, values)


def added(costs: Measured, backend: str, found: Comparison) -> Spread:
    """Microseconds that the way adds to a page, and their interval."""
    plain, ratio = costs.median(backend, WITHOUT), found.ratio
    middle = plain * ((ratio.value or 1.0) - 1)
    if ratio.low is None or ratio.high is None:
        return Spread(middle, middle, middle, 1)
    return Spread(middle, plain * (ratio.low - 1), plain * (ratio.high - 1), ratio.blocks)


def answer(analysis: Analysis) -> Answer | None:
    """The prices that are shown to be any; the table names the ways without one, too."""
    priced = prices(analysis)
    if not priced:
        return None
    found = measured(analysis, priced)
    costs = {backend: added(found, backend, one) for backend, one in priced.items()}
    head = headline(priced, costs)
    here = [label for label in WAYS if label in analysis.labels and label not in priced]
    unpriced = [f"`{WAYS[label]}` with `{label}`" for label in here if WAYS[label] != SWEEP]
    prose = PROSE.format(
        each=", ".join(f"`{WAYS[b]}` with `{b}` {said(priced[b], costs[b])}" for b in priced),
        missing=f" Not measured by itself: {listing(unpriced)}." if unpriced else "",
        backends=",".join(f"{b},{b}{SUFFIX}" for b, way in WAYS.items() if way != SWEEP),
    )
    return Answer(
        found,
        head,
        prose,
        tables=[
            Table(
                "A timeout for each exchange",
                [
                    name("backend"),
                    words("way"),
                    Column("µs added [95 %]"),
                    Column("ratio [95 %]"),
                    words("verdict", drop=1),
                ],
                [
                    *(row(backend, priced[backend], costs[backend]) for backend in priced),
                    *([label, WAYS[label], MISSING, MISSING, MISSING] for label in here),
                ],
                about="Processor time of a crawled page with the way of the backend’s library over "
                "the same backend without, at 100 slots, paired in turns. All have a deadline in "
                "each slot and a sweep over the slots as well. A way without a figure has no "
                "backend of its own here.",
            )
        ],
        figures=[
            Figure(
                name=NAME,
                title="What a timeout for each exchange costs",
                headline=head.text,
                subtitle="Processor time that it adds to a crawled page at 100 slots, paired in "
                f"turns; {of_blocks(one.ratio.blocks for one in priced.values())}, 95 % intervals",
                data=Bars(
                    [
                        Panel(
                            "processor time that a timeout adds to a page",
                            {backend: [cost] for backend, cost in costs.items()},
                            US,
                        )
                    ]
                ),
                notes=(
                    f"{'; '.join(f'{b}: {WAYS[b]}' for b in priced)}. On top of what is in every "
                    "page: a deadline in each slot, and a sweep over the slots four times a "
                    "second.",
                ),
            )
        ],
    )


def headline(priced: dict[str, Comparison], costs: dict[str, Spread]) -> Headline:
    shown = [backend for backend, found in priced.items() if found.ratio.shown]
    blocks = min(found.ratio.blocks for found in priced.values())
    behind = f"{plural(blocks, 'block')}; shown for {len(shown)} of {len(priced)}"
    if not shown:
        return Headline(f"A timeout for each exchange costs too little to see{few(blocks)}", behind)
    times = between([costs[backend].median for backend in shown])
    shares = between([100 * ((priced[backend].ratio.value or 1.0) - 1) for backend in shown])
    return Headline(
        f"A timeout for each exchange costs {times} µs of processor time",
        f"{shares} % of a page; {behind}",
    )


def between(values: list[float]) -> str:
    """``4.4`` or ``1.8 to 8.9``."""
    low, high = significant(min(values), 2), significant(max(values), 2)
    return low if low == high else f"{low} to {high}"


def said(found: Comparison, cost: Spread) -> str:
    """``7.4 µs (5.4 to 9.6), 15 %``, and what is not shown."""
    ratio = found.ratio
    interval = f" ({significant(cost.low, 2)} to {significant(cost.high, 2)})"
    share = f", {100 * ((ratio.value or 1.0) - 1):.0f} %"
    text = f"{significant(cost.median, 2)} µs{interval * (cost.count > 1)}{share}"
    return text if ratio.shown else f"{text} ({ratio.verdict})"


def row(backend: str, found: Comparison, cost: Spread) -> Row:
    price = cells.figure(cost.median)
    if cost.count > 1:
        price += f" [{cells.figure(cost.low)}–{cells.figure(cost.high)}]"
    return [backend, WAYS[backend], price, cells.ratio(found.ratio), found.ratio.verdict]
