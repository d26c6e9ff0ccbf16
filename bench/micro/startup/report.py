"""The table and the chart of start-up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes

from bench.analysis import stats
from bench.analysis.stats import Spread
from bench.analysis.wording import prose, says
from bench.micro.startup.record import BARE, Start, StartupRecord
from bench.plan.cast import MAIN_VARIANTS
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_range, bar_rows
from bench.report.charts.slide import Slide
from bench.show import cells
from bench.show.table import Column, Row, Table, name
from bench.show.words import sentence
from bench.text import MIB, duration, listing, plural, significant
from crawlers.registry import MODELS

NAME = "startup"
TITLE = "What it takes to import a backend"
CHARTED = (*MODELS, *MAIN_VARIANTS, "curio", "anyio", "tornado", "twisted", "requests", "httpx")
"""The backends of the chart; the table has all."""

COMMAND = "python -m bench micro --only startup"


@dataclass(frozen=True, slots=True)
class Import:
    """One backend: what it takes beyond the bare interpreter, over the repeats."""

    backend: str
    ready_ms: Spread
    cpu_ms: Spread
    memory: Spread | None  # bytes of private memory
    resident: Spread | None  # bytes, shared libraries included
    modules: int


def imports(record: StartupRecord) -> list[Import]:
    """Every backend, each repeat against the bare interpreter in the same repeat."""
    found = []
    bare = record.starts.get(BARE, [])
    for backend, starts in record.starts.items():
        if backend == BARE or not starts:
            continue
        pairs = list(zip(starts, bare, strict=False))
        ready = grown(pairs, lambda start: 1000 * start.ready_s)
        cpu = grown(pairs, lambda start: 1000 * start.cpu_s)
        if ready is None or cpu is None:
            continue
        memory = grown(pairs, lambda start: start.user_bytes)
        resident = grown(pairs, lambda start: start.rss_bytes)
        modules = starts[0].modules - bare[0].modules
        found.append(Import(backend, ready, cpu, memory, resident, modules))
    return found


def grown(
    pairs: Sequence[tuple[Start, Start]], value: Callable[[Start], float | None]
) -> Spread | None:
    """Median and range of the difference; None where something was not read."""
    both = [(value(one), value(other)) for one, other in pairs]
    found = [one - other for one, other in both if one is not None and other is not None]
    return stats.spread(found) if len(found) == len(both) else None


def table(record: StartupRecord) -> Table:
    """One row for each backend, and the bare interpreter above."""
    starts = record.starts.get(BARE, [])
    about = (
        "Beyond the bare interpreter: time until the backend is imported, on the wall and of the "
        "processor, private memory (Pss_Anon) and resident memory, modules. Fresh processes, "
        "median and range; compiled modules were there. All share the registry, the parser and the "
        "frontier, which are nearly all that callbacks takes."
    )
    if starts:
        ready = stats.spread(1000 * start.ready_s for start in starts)
        memory = stats.spread(start.user_bytes for start in starts if start.user_bytes is not None)
        ready_words = duration(ready.median, 3) if ready else "?"
        memory_words = f"{memory.median / MIB:.1f} MiB" if memory else "unread memory"
        about += (
            f" The bare interpreter: {ready_words}, {memory_words}, {starts[0].modules} modules."
        )
    return Table(
        "Start-up",
        [
            name("backend"),
            Column("ready ms"),
            Column("processor ms"),
            Column("private MiB"),
            Column("resident MiB", drop=1),
            Column("modules", drop=2),
        ],
        [_row(each) for each in imports(record)],
        about=about,
        notes=[f"{backend}: {reason}" for backend, reason in record.absent.items()],
    )


def _row(each: Import) -> Row:
    return [
        each.backend,
        cells.spread(each.ready_ms),
        cells.spread(each.cpu_ms),
        *(cells.spread(mib(found)) for found in (each.memory, each.resident)),
        str(each.modules),
    ]


def mib(found: Spread | None) -> Spread | None:
    """Bytes in MiB, to two digits after the point."""
    if found is None:
        return None
    return stats.spread(round(v / MIB, 2) for v in (found.low, found.median, found.high))


def design(record: StartupRecord) -> Design | Skip:
    """Two panels: processor time, and private memory."""
    rows = [each for each in imports(record) if each.backend in CHARTED]
    if not rows:
        return Skip(NAME, TITLE, "no start-up was measured")
    told = [
        f"{row.backend} {duration(row.cpu_ms.median, 3)}"
        + (f" and {row.memory.median / MIB:.1f} MiB" if row.memory else "")
        for row in rows
    ]
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding(rows),
        subtitle="Beyond the bare interpreter, until the backend is imported; median of "
        f"{plural(rows[0].cpu_ms.count, 'repeat')}, a fresh process each",
        alt=f"Bar charts, processor time and memory of an import. {'; '.join(told)}.",
        draw=partial(_draw, rows),
        notes=("Ranges: lowest to highest process. Parser and frontier are in all of them.",),
    )


def sentence_of(record: StartupRecord | None) -> str:
    """Processor time and memory of the backends of the chart, for a document."""
    rows = [each for each in imports(record) if each.backend in CHARTED] if record else []
    if not rows:
        return f"(Not measured: `{COMMAND}`.)"
    rows.sort(key=lambda row: row.cpu_ms.median)
    each = [
        f"{significant(row.cpu_ms.median, 2)} ms"
        + (f" and {significant(row.memory.median / MIB, 2)} MiB" if row.memory else "")
        + f" with `{row.backend}`"
        for row in rows
    ]
    return (
        "Beyond the bare interpreter, processor time and private memory of an import: "
        f"{listing(each)}."
    )


def finding(rows: Sequence[Import]) -> str | None:
    """The backends with the most and the least."""
    if len(rows) < 2:
        return None
    ordered = sorted(rows, key=lambda row: row.cpu_ms.median)
    least, most = ordered[0], ordered[-1]
    return sentence(
        f"{says(most.backend, 'take')} {duration(most.cpu_ms.median, 2)} of the processor to "
        f"import, {prose(least.backend)} {duration(least.cpu_ms.median, 2)}"
    )


def _draw(rows: Sequence[Import], slide: Slide) -> None:
    wide = slide.look.wide
    left, right = slide.panels(2 if wide else 1, 1 if wide else 2)
    size = slide.label_size(len(rows) * (1 if wide else 2), 15.0)
    times = {row.backend: row.cpu_ms for row in rows}
    memory = {row.backend: found for row in rows if (found := mib(row.memory))}
    _panel(slide, left, times, size)
    left.set_xlabel("processor time, ms")
    _panel(slide, right, memory, size)
    right.set_xlabel("private memory, MiB")


def _panel(slide: Slide, axes: Axes, values: Mapping[str, Spread], size: float) -> None:
    for place, (backend, spread) in enumerate(values.items()):
        colour = slide.look.of(backend).colour
        axes.barh(place, spread.median, height=0.62, color=colour, zorder=2)
        if spread.count > 1:
            bar_range(axes, spread.low, spread.high, place, slide.palette.ink)
        bar_label(axes, significant(spread.median, 3), spread.high, place, size, bold=True)
    if values:
        most = max(spread.high for spread in values.values()) * 1.25
        value_axis(axes, [most], axis="x", words=lambda value: f"{value:g}")
    bar_rows(slide, axes, list(values), size)
