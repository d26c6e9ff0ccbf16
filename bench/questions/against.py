"""Is another loop or library worth it, against asyncio?

What is compared is a whole backend with ``async_await``: a crawled page and a page on a new
connection by processor time, within blocks; an idle connection, plain and over TLS, by the slopes
of the question ``memory``. A ratio of slopes takes the far ends of both intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import (
    CPU_PER_1000,
    MIN_BLOCKS,
    NO_FLOOR,
    Blocks,
    Comparison,
    MemoryFit,
    Metric,
    Pair,
    Ratio,
)
from bench.plan.participants import OTHER_LIBRARIES
from bench.questions.question import Answer, forest, intervals
from bench.show import cells
from bench.show.figures import Bars, Figure
from bench.show.measured import US, Measure, Measured
from bench.show.table import Column, Table, name
from bench.show.words import UNPAIRED, against, between, change
from bench.store import Records
from bench.text import in_percent, listing
from crawlers.registry import LOOP

NAME: Final = "against"
ASKS: Final = "Is another loop or library worth it, against asyncio?"
ASYNCIO: Final = "async_await"
PAGE, OPENED = "time per page", "page, new connection"
POINT: Final = "throughput-100"
PROSE: Final = (
    "Ratios are to `async_await`, in the same campaign. To measure it: `python -m bench run`."
)


def others(records: Records) -> list[str]:
    """What is compared with asyncio: libraries, and loops that were named by ``--loop``."""
    return [*OTHER_LIBRARIES, *(name for name in records.campaign.backends if LOOP in name)]


def pairs(records: Records, metric: Metric) -> list[Pair]:
    return [(POINT, ASYNCIO, x) for x in others(records)] if metric is CPU_PER_1000 else []


def words(ratio: Ratio) -> str:
    """What a ratio says; where it decides nothing, how small a difference could have been seen."""
    if ratio.shown and ratio.value and ratio.low and ratio.high:
        ends = between(ratio.value, ratio.low, ratio.high)
        return f"{change(ratio.value)} ({ends}{f', {UNPAIRED}' * (NO_FLOOR in ratio.reason)})"
    if ratio.verdict == stats.UNDECIDED and ratio.smallest is not None:
        return f"{ratio.verdict} (below {in_percent(ratio.smallest)} nothing could be seen)"
    return ratio.verdict


def ratios(analysis: Analysis) -> dict[str, dict[str, Ratio]]:
    """Title of a column -> label -> its ratio to asyncio."""
    family, labels = analysis.family(CPU_PER_1000), others(analysis.records)
    connects = stats.trials_of(analysis.records, "connect", twins=False)
    opened = stats.block_values(connects, stats.CPU_PER_REQUEST)
    new = {label: blocks for (_, label), blocks in opened.items()}
    memory = "memory" if stats.read_in_all(analysis.memory.values()) else "user memory"
    by_column = {
        PAGE: {c.label: c.ratio for c in family.of(pairs(analysis.records, CPU_PER_1000))},
        memory: _held(analysis.memory, labels),
        f"{memory} over TLS": _held(analysis.memory_over_tls, labels),
        OPENED: {c.label: c.ratio for c in _opened(new, labels)},
    }
    return {title: found for title, found in by_column.items() if found}


def _opened(new: Mapping[str, Blocks], labels: Sequence[str]) -> list[Comparison]:
    """Pages with a connection each, corrected together: a metric of their own, without a twin."""
    measured = Measured(
        {OPENED: Measure(OPENED, "a page on a new connection, processor time", US)},
        {label: {OPENED: blocks} for label, blocks in new.items()},
    )
    return measured.compared(OPENED, [(ASYNCIO, x) for x in labels if {ASYNCIO, x} <= new.keys()])


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
    columns = ratios(analysis)
    if PAGE not in columns or len(columns) < 2:
        return None
    labels = [x for x in others(analysis.records) if any(x in found for found in columns.values())]
    rows = [
        [label, *(cells.judged_ratio(found.get(label)) for found in columns.values())]
        for label in labels
    ]
    # "time per page 22 % less (20 to 23 %) and memory undecided", after the two names
    said = {
        x: listing([f"{title} {words(found[x])}" for title, found in columns.items() if x in found])
        for x in labels
    }
    return Answer(
        tables=[
            Table(
                "Against asyncio",
                [name("backend"), *map(Column, columns)],
                rows,
                about=f"Ratios to {ASYNCIO}, with {stats.AT_LEVEL} intervals.",
            )
        ],
        figures=[_figure(columns, labels, analysis.floor(CPU_PER_1000).log)],
        details={
            f"{NAME}-{label}": f"`{label}` against asyncio: {text}. {PROSE}"
            for label, text in said.items()
        },
        compared=analysis.family(CPU_PER_1000).of(pairs(analysis.records, CPU_PER_1000)),
    )


def _figure(
    columns: Mapping[str, Mapping[str, Ratio]], labels: Sequence[str], floor: float | None
) -> Figure:
    unclaimed = "no smaller difference is claimed"
    return Figure(
        name=NAME,
        title=f"{listing([x for x in labels if LOOP not in x]) or 'Other loops'} against asyncio",
        headline=_headline(columns[PAGE].get("uvloop")),
        subtitle="Processor time of a page and memory of a connection: ratios to async_await; left "
        f"of 1× it costs less{intervals(x for found in columns.values() for x in found.values())}",
        data=Bars(
            [
                forest(title, labels, found, floor if title == PAGE else None)
                for title, found in columns.items()
            ]
        ),
        notes=(f"Shaded: the noise floor, {stats.floor_words(floor)}; {unclaimed}.",)
        if floor
        else (),
    )


def _headline(ratio: Ratio | None) -> str | None:
    """uvloop, in the words of its verdicts."""
    if ratio is None or ratio.blocks < MIN_BLOCKS:
        return None
    if not ratio.shown:
        return f"Whether uvloop saves processor time per page is {ratio.verdict} here"
    less = against(ratio.value or 1.0, "less", "processor time", "with asyncio")
    return f"A page with uvloop costs {less}"
