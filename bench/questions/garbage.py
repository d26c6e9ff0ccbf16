"""What does a page leave to the garbage collector?

Most objects of a page are freed when the last reference to them is gone. Those in a cycle of
references wait for Python's cyclic collector. Here it is off during a crawl of a list, and runs
once afterwards: it counts what only it can free.
"""

from __future__ import annotations

from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.wording import prose
from bench.questions.question import Answer, Headline, bars, few
from bench.show.figures import Unit
from bench.show.measured import Measure, Measured, Value, by_label
from bench.text import number, plural
from crawlers.registry import MODELS

NAME: Final = "garbage"
ASKS: Final = "What does a page leave to the garbage collector?"
KEPT, OPENED = "plain", "churn"
"""The modes: a kept connection, and one for each page."""


def _tenths(value: float) -> str:
    return f"{value:.1f}"


OBJECTS: Final = Unit("objects", _tenths, number)
MEASURES: Final = {
    KEPT: Measure("kept", "objects of a page that only the collector can free", OBJECTS),
    OPENED: Measure("new", "… of a page with a connection of its own", OBJECTS),
}
LEAST: Final = 0.5
"""Objects per page; less is what the end of a crawl leaves once, shared out over its pages."""

PROSE: Final = (
    "Objects in cycles of references, which are not freed when the last reference to them from "
    "outside is gone. The collector was off while the pages of a list were fetched at 100 slots, "
    "and ran once afterwards. What the end of a crawl leaves is in it, shared out over the pages. "
    "Until the collector runs, their memory is not free (encode/httpx#3733). To measure it: "
    "`python -m bench run --only garbage`."
)


def measured(analysis: Analysis) -> Measured:
    trials = stats.trials_of(analysis.records, NAME, twins=False)
    values = {mode: _in_mode(mode) for mode in MEASURES}
    return Measured(MEASURES, by_label(trials, analysis.labels, values))


def _in_mode(mode: str) -> Value:
    return lambda trial: stats.garbage_per_page(trial) if trial.params.get("mode") == mode else None


def answer(analysis: Analysis) -> Answer | None:
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
                "What a page leaves to the garbage collector",
                "Objects per page that only the cyclic collector can free: on kept connections, "
                "and with a new connection for each page. Whole trials at 100 slots on plain HTTP.",
            )
        ],
        figures=[
            bars(
                found,
                head,
                NAME,
                "Objects of a page that only the garbage collector can free",
                "Objects in cycles of references, counted after a crawl without the collector, for "
                "each page of a list",
                {"objects for each page": (KEPT, OPENED)},
                ("a kept connection", "a new one for each page (in colour)"),
                notes=["What the end of a crawl leaves is in it, shared out over the pages."],
            )
        ],
    )


def headline(found: Measured) -> Headline | None:
    ranked = found.with_(OPENED, MODELS)
    if not ranked:
        return None
    most, spread = ranked[0], found.spread(ranked[0], OPENED)
    assert spread is not None
    only, blocks = few(spread.count), plural(spread.count, "block")
    if spread.high < LEAST:
        return Headline(f"No model leaves the garbage collector objects of a page{only}", blocks)
    return Headline(
        f"A page on a new connection leaves {OBJECTS.words(spread.median)} objects to the garbage "
        f"collector with {prose(most)}{only}",
        f"{OBJECTS.words(spread.low)} to {OBJECTS.words(spread.high)}, {blocks}",
    )
