"""What does a timeout for each exchange cost?

The models keep no timer for an exchange: a sweep over the slots compares their deadlines. A variant
with ``timeouts`` in its name is the same backend with its library's own way on top, measured in the
same turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import sub
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import CPU_PER_1000, Blocks, Comparison
from bench.questions.columns import Columns
from bench.questions.question import RANGES, Headline, few
from bench.show.measured import US, Measure, Measured, within
from bench.text import plural, significant

NAME: Final = "timeouts"
ASKS: Final = "What does a timeout for each exchange cost?"
SUFFIX: Final = "_timeouts"
"""Of a variant that has its library's own way."""

WAYS: Final = {
    "threads": "socket.settimeout",
    "async_await": "asyncio.timeout",
    "gevent": "gevent.Timeout",
    "uvloop": "asyncio.timeout",
    "trio": "trio.move_on_after",
    "aiohttp": "aiohttp.ClientTimeout",
}
"""How a program of this kind would limit an exchange; ``trio.fail_after`` raises in addition."""

WITHOUT, WITH, ADDED = "without", "with", "added"


def prices(analysis: Analysis) -> dict[str, Comparison]:
    """Backend -> processor time with its way over without it."""
    family = analysis.family(CPU_PER_1000)
    points = stats.points_of(analysis.records, "ladder", "throughput")
    return {
        backend: compared
        for backend in WAYS
        for point in points
        if (compared := family.get((point, backend, backend + SUFFIX)))
        and compared.ratio.value is not None
    }


def _percent(compared: Comparison) -> float:
    return 100 * ((compared.ratio.value or 1.0) - 1)


def between(values: list[float]) -> str:
    """``4.4`` or ``1.8 to 8.9``."""
    return " to ".join(dict.fromkeys(significant(end, 2) for end in (min(values), max(values))))


def cost_words(measured: Measured, compared: Comparison) -> str:
    """``7.4 µs (15 %)``, and what is not shown."""
    verdict = "" if compared.ratio.shown else f", {compared.ratio.verdict}"
    cost = measured.value(compared.base, ADDED)
    return f"{significant(cost, 2)} µs ({_percent(compared):.0f} %{verdict})"


class Priced(Columns):
    def measured(self, analysis: Analysis) -> Measured:
        """The most expensive first."""
        values: dict[str, dict[str, Blocks]] = {}
        for backend, price in analysis.once(prices).items():
            plain, timed = price.sides  # ms for 1000 pages: µs for each
            values[backend] = {WITHOUT: plain, WITH: timed, ADDED: within(timed, plain, sub)}
        measured = Measured(self.columns, values)
        return measured.only(measured.with_(ADDED, values))

    def headline(self, analysis: Analysis, measured: Measured) -> Headline:
        priced = analysis.once(prices)
        shown = [backend for backend, price in priced.items() if price.ratio.shown]
        blocks = min(price.ratio.blocks for price in priced.values())
        behind = f"{plural(blocks, 'block')}; shown for {len(shown)} of {len(priced)}"
        said = "A timeout for each exchange costs"
        if not shown:
            return Headline(f"{said} too little to see{few(blocks)}", behind)
        costs = between([measured.value(backend, ADDED) for backend in shown])
        shares = between([_percent(priced[backend]) for backend in shown])
        text = f"{said} {costs} µs of processor time"
        return Headline(text, f"{shares} % of a page; {behind}")

    def facts(self, analysis: Analysis, measured: Measured) -> Mapping[str, str]:
        priced = analysis.once(prices)
        costs = [
            f"`{WAYS[b]}` with `{b}` {cost_words(measured, priced[b])}" for b in measured.values
        ]
        return {
            "each": ", ".join(costs),
            "ways": "; ".join(f"{backend}: {WAYS[backend]}" for backend in measured.values),
            "backends": ",".join(f"{b},{b}{SUFFIX}" for b in WAYS),
        }


COLUMNS: Final = Priced(
    workloads=[NAME],
    columns={
        WITHOUT: Measure("a crawled page", "a crawled page without timeouts, processor time", US),
        WITH: Measure("with a timeout", "… with a timeout for each exchange", US),
        ADDED: Measure("the timeout", "… what it adds", US),
    },
    caption="A timeout for each exchange",
    about="Processor time of a crawled page without and with the way of the backend’s library, at "
    "100 slots, paired in turns: {ways}. All have a deadline in each slot and a sweep over the "
    "slots as well.",
    title="What a timeout for each exchange costs",
    subtitle="Processor time that it adds to a crawled page at 100 slots, paired in turns",
    panels={"processor time that a timeout adds to a page": (ADDED,)},
    notes=[f"{{ways}}. {RANGES}"],
    prose="On top of a crawled page, in turns, at 100 slots: {each}. It replaces what hardly any "
    "program has: a sweep that compares a deadline in each of the 100 slots four times a second. "
    "`asyncio.timeout` puts a timer into the loop’s heap for each page and cancels "
    "it again, all in Python; with `uvloop` the same timer is one of libuv, under the same Python. "
    "After `settimeout` Python calls `poll` before each send and each receive, and passes the "
    "interpreter’s lock once more each time. `aiohttp.ClientTimeout` puts a timer into the loop "
    "for each request, and each of its waits enters a context that the timer can cancel. "
    "`trio.move_on_after` makes a cancel scope for each exchange, and trio keeps its deadline in a "
    "heap of its own. Loops built by hand keep the sweep alone. To measure it: `python -m bench "
    "run --profile full --only ladder-100 --backends {backends}`.",
)
measured, answer = COLUMNS.measured, COLUMNS.answer
