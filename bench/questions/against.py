"""Is another loop or library worth it, against asyncio?

What is compared is a whole backend with ``async_await``: a crawled page and a page on a new
connection by processor time, within blocks; an idle connection, plain and over TLS, by the slopes
of the question ``memory``. A ratio of slopes takes the far ends of both intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import CPU_PER_1000, MIN_BLOCKS, MemoryFit, Metric, Pair, Ratio
from bench.analysis.wording import against, between, change
from bench.plan.participants import OTHER_LIBRARIES
from bench.questions.question import Answer, forest
from bench.show import cells
from bench.show.figures import Bars, Figure
from bench.show.table import Column, Table, name
from bench.store import Records
from bench.text import listing
from crawlers.registry import LOOP

NAME: Final = "against"
ASKS: Final = "Is another loop or library worth it, against asyncio?"
ASYNCIO: Final = "async_await"
PAGE, HELD, OVER_TLS, OPENED = "a page", "a connection", "one over TLS", "a page each"
COLUMNS: Final = {
    PAGE: "time per page",
    HELD: "memory",
    OVER_TLS: "memory over TLS",
    OPENED: "page, new connection",
}
MEMORY: Final = (HELD, OVER_TLS)
POINT: Final = "throughput-100"
PROSE: Final = (
    "Ratios are to `async_await`, in the same campaign. To measure it: `python -m bench run`."
)


def others(records: Records) -> list[str]:
    """What is compared with asyncio: libraries, and loops that were named by ``--loop``."""
    return [*OTHER_LIBRARIES, *(name for name in records.campaign.backends if LOOP in name)]


def pairs(records: Records, metric: Metric) -> list[Pair]:
    return [(POINT, ASYNCIO, x) for x in others(records)] if metric is CPU_PER_1000 else []


@dataclass(frozen=True)
class Against:
    """Column -> label -> its ratio to asyncio."""

    ratios: Mapping[str, Mapping[str, Ratio]]
    floor: float | None  # of pages, in logs
    in_all: bool  # whether memory is that of the kernel, too

    def title(self, key: str) -> str:
        return f"{'' if self.in_all or key not in MEMORY else 'user '}{COLUMNS[key]}"

    def said(self, label: str) -> str:
        """``time per page 22 % less (20 to 23 %), memory undecided``, after the two names."""
        parts = [
            f"{self.title(key)} {words(by_label[label])}"
            for key, by_label in self.ratios.items()
            if label in by_label
        ]
        return f"`{label}` against asyncio: {listing(parts)}"


def words(ratio: Ratio) -> str:
    """What a ratio says; where it decides nothing, how small a difference could have been seen."""
    if ratio.shown and ratio.value is not None:
        ends = (
            f" ({between(ratio.value, ratio.low, ratio.high)})" if ratio.low and ratio.high else ""
        )
        return f"{change(ratio.value)}{ends}"
    if ratio.verdict == stats.UNDECIDED and ratio.smallest is not None:
        return f"{ratio.verdict} (below {100 * ratio.smallest:.0f} % nothing could be seen)"
    return ratio.verdict


def measured(analysis: Analysis) -> Against:
    family, labels = analysis.family(CPU_PER_1000), others(analysis.records)
    pages = {c.label: c.ratio for c in family.of(pairs(analysis.records, CPU_PER_1000))}
    connects = stats.trials_of(analysis.records, "connect", twins=False)
    opened = stats.block_values(connects, stats.CPU_PER_REQUEST)
    new = {label: blocks for (_, label), blocks in opened.items()}
    by_column = {
        PAGE: pages,
        HELD: _held(analysis.memory, labels),
        OVER_TLS: _held(analysis.memory_over_tls, labels),
        OPENED: {
            label: stats.ratio(new[ASYNCIO], new[label], metric=CPU_PER_1000)
            for label in labels
            if {label, ASYNCIO} <= new.keys()
        },
    }
    floor = analysis.floor(CPU_PER_1000).log
    in_all = stats.read_in_all(analysis.memory.values())
    return Against({key: ratios for key, ratios in by_column.items() if ratios}, floor, in_all)


def _held(fits: Mapping[str, MemoryFit], labels: Sequence[str]) -> dict[str, Ratio]:
    """Ratios of slopes; of user memory where not all of the kernel's was read."""
    in_all = stats.read_in_all(fits.values())
    read = {
        label: spread
        for label, fit in fits.items()
        if fit.fitted and (spread := fit.spread(in_all=in_all)) and spread.low > 0
    }
    return {
        label: stats.of_slopes(read[ASYNCIO], read[label], stats.USER_PER_CONNECTION)
        for label in labels
        if {ASYNCIO, label} <= read.keys()
    }


def answer(analysis: Analysis) -> Answer | None:
    results = measured(analysis)
    if PAGE not in results.ratios or len(results.ratios) < 2:
        return None
    labels = [
        x
        for x in others(analysis.records)
        if any(x in by_label for by_label in results.ratios.values())
    ]
    return Answer(
        results,
        tables=[_table(results, labels)],
        figures=[_figure(results, labels)],
        details={f"{NAME}-{label}": f"{results.said(label)}. {PROSE}" for label in labels},
        compared=analysis.family(CPU_PER_1000).of(pairs(analysis.records, CPU_PER_1000)),
    )


def _table(results: Against, labels: Sequence[str]) -> Table:
    return Table(
        "Against asyncio",
        [name("backend"), *(Column(results.title(key)) for key in results.ratios)],
        [
            [
                label,
                *(cells.judged_ratio(by_label.get(label)) for by_label in results.ratios.values()),
            ]
            for label in labels
        ],
        about=f"Ratios to {ASYNCIO}, with {stats.AT_LEVEL} intervals.",
    )


def _figure(results: Against, labels: Sequence[str]) -> Figure:
    panels = [
        forest(results.title(key), labels, by_label, results.floor if key == PAGE else None)
        for key, by_label in results.ratios.items()
    ]
    return Figure(
        name=NAME,
        title="uvloop, trio and aiohttp against asyncio",
        headline=_headline(results),
        subtitle=f"Processor time of a page and memory of a connection: ratios to async_await with "
        f"{stats.AT_LEVEL} intervals; left of the line it costs less",
        data=Bars(panels),
        notes=(
            f"Shaded: the noise floor, {stats.floor_words(results.floor)}; no smaller difference "
            "is claimed.",
        )
        if results.floor
        else (),
    )


def _headline(results: Against) -> str | None:
    """uvloop, in the words of its verdicts."""
    ratio = results.ratios[PAGE].get("uvloop")
    if ratio is None or ratio.blocks < MIN_BLOCKS:
        return None
    if not ratio.shown:
        return f"Whether uvloop saves processor time per page is {ratio.verdict} here"
    less = against(ratio.value or 1.0, "less", "processor time", "with asyncio")
    return f"A page with uvloop costs {less}"
