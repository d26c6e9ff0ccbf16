"""The end of an interrupted crawl: time until all is closed, and the client's processor time."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.analysis.analysis import Analysis
from bench.analysis.cancelling import CONTROL, Cancellations, Ended
from bench.analysis.cancelling_words import size_words
from bench.analysis.wording import prose
from bench.palette import mix
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_range, bar_rows
from bench.report.charts.slide import Slide
from bench.report.charts.tls_memory import ABOVE, BELOW, HEIGHT
from bench.show.words import described, of_blocks, sentence
from bench.text import duration, duration_tick, listing
from crawlers.registry import MODELS

NAME = "cancel"
TITLE = "Time until an interrupted crawl has closed everything"
CLEAR = 1.2
"""Times apart from which the headline names two models."""


def design(analysis: Analysis) -> Design | Skip:
    """A panel for each number of exchanges in flight, with two bars for each backend."""
    found = analysis.cancellations
    if not found.rows:
        return Skip(NAME, TITLE, "no valid trial of an interrupted crawl")
    told: dict[str, str] = {}
    for label in dict.fromkeys(row.label for row in found.rows):
        mine = [row for row in found.rows if row.label == label]
        told[label] = ", ".join(
            f"{_ms(row.closed.median)} with {size_words(row.in_flight)}" for row in mine
        )
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding(found),
        subtitle="From the moment when the crawl notices the interrupt until its call has returned "
        "and the server has seen the last connection end; median of "
        f"{of_blocks(row.closed.count for row in found.rows)}",
        alt=f"Paired bar charts. {described(analysis, told)}",
        draw=partial(_draw, found),
        notes=(_note(found),),
    )


def finding(found: Cancellations) -> str | None:
    """The models that take least and most with the most exchanges in flight."""
    size = found.sizes[-1]
    models = sorted(
        (row for row in found.at(size) if row.label in MODELS), key=lambda row: row.closed.median
    )
    if len(models) < 2 or models[-1].closed.median < CLEAR * models[0].closed.median:
        return None
    each = [f"{_ms(row.closed.median)} with {prose(row.label)}" for row in (models[0], models[-1])]
    return sentence(f"With {size_words(size)}, all is closed in {listing(each)}")


def _note(found: Cancellations) -> str:
    text = (
        "The server held all answers. SIGINT, as Ctrl-C sends it, is noticed at the next tick, "
        "which comes four times a second in every backend and is not counted. A trial that leaves "
        "a descriptor, thread, task or connection behind is void."
    )
    if found.controls:
        text += " bare_close: sockets that are closed in a loop, the least that is possible."
    return text


def _ms(seconds: float) -> str:
    return duration(1000 * seconds)


def _draw(found: Cancellations, slide: Slide) -> None:
    palette = slide.palette
    faint = mix(palette.muted, palette.background, 0.45)
    slide.swatches(
        [
            ("processor time of the client", faint, ""),
            ("until everything is closed (in colour)", palette.ink, ""),
        ]
    )
    sizes = found.sizes
    columns = len(sizes) if slide.look.wide else 1
    below = len(sizes) // columns
    most = max(len(found.at(size)) for size in sizes) + bool(found.controls)
    size_pt = slide.label_size(2 * most * below, 14.0)
    for axes, size in zip(slide.panels(columns, below), sizes, strict=True):
        rows = found.at(size)
        control = found.control(size)
        _panel(slide, axes, [*rows, *([control] if control else [])], size_pt, faint)
        axes.set_xlabel(size_words(size))


def _panel(slide: Slide, axes: Axes, rows: list[Ended], size: float, faint: str) -> None:
    palette = slide.palette
    most = 0.0
    for place, row in enumerate(rows):
        colour = palette.ink if row.label == CONTROL else slide.look.of(row.label).colour
        bars = ((ABOVE, row.client_cpu, faint), (BELOW, row.closed, colour))
        for shift, spread, fill in bars:
            middle = 1000 * spread.median
            axes.barh(place + shift, middle, height=HEIGHT, color=fill, zorder=2)
            if spread.count > 1:
                low, high = 1000 * spread.low, 1000 * spread.high
                bar_range(axes, low, high, place + shift, palette.ink)
            end = 1000 * spread.high
            bar_label(axes, duration(middle), end, place + shift, size, bold=shift == BELOW)
            most = max(most, end)
    value_axis(axes, [most * 1.3], axis="x", words=duration_tick)
    axes.xaxis.set_major_locator(MaxNLocator(3))
    bar_rows(slide, axes, [row.label for row in rows], size)
