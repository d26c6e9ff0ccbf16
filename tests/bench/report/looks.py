"""Charts laid out as a report and a talk do: no text lies on another, and none leaves the slide."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from bench.analysis.analysis import Analysis
from bench.report.charts import laid_out, story
from bench.report.charts.look import DPI, Look, style
from bench.report.charts.slide import Slide
from bench.show import figures
from bench.show.words import footer

TOUCHING = 3.0
"""Pixels of the box around a text that are free of its letters."""
SMALLEST = 20.0
"""Pixels of text on a slide of 1920: nobody in a room can read less."""


def draw_in_every_look(analysis: Analysis, *names: str) -> None:
    """Lay these charts of a campaign out."""
    told = story(analysis)
    for name in names:
        assert crowded(told[name], analysis.backends, footer(analysis)) == []


def crowded(
    design: figures.Figure, backends: Sequence[str], small_print: Sequence[str]
) -> list[str]:
    """The texts of a chart that lie on another, leave the slide or are small, one in a line."""
    look = Look("wide", backends)
    with style(look):
        return crowds(design.name, laid_out(design, look, small_print))


def crowds(name: str, slide: Slide) -> list[str]:
    """The same of a slide that is laid out already; within its style."""
    slide.figure.draw_without_rendering()
    texts = list(shown(slide.figure))
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    small = {text.get_text() for text in texts if pixels(text, slide.look) < SMALLEST}
    width, height = (DPI * side for side in slide.look.size)
    wrong = [
        f"{name}: {text!r} leaves the slide"
        for text, box in boxes
        if box.x0 < 0 or box.x1 > width or box.y0 < 0 or box.y1 > height
    ]
    for (text, a), (other, b) in itertools.combinations(boxes, 2):
        beside = a.x1 <= b.x0 + TOUCHING or b.x1 <= a.x0 + TOUCHING
        if not beside and a.y1 > b.y0 + TOUCHING and b.y1 > a.y0 + TOUCHING:
            wrong.append(f"{name}: {text!r} lies on {other!r}")
    return wrong + [f"{name}: {text!r} is too small" for text in sorted(small)]


def pixels(text: Text, look: Look) -> float:
    return float(text.get_fontsize()) / 72 * 1920 / look.size[0]


def shown(figure: Figure) -> Iterator[Text]:
    """Every text of a figure that is drawn: not the labels of ticks beyond an axis's ends."""
    beyond = {label for axes in figure.axes for label in _beyond(axes)}
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        upright = text.get_rotation() % 90 == 0  # of others, the box says little
        if text.get_visible() and text.get_text().strip() and text not in beyond and upright:
            yield text


def _beyond(axes: Axes) -> Iterator[Text]:
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        room = 1e-9 * (high - low)
        if not axes.axison:
            yield axis.label
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low - room <= tick.get_loc() <= high + room or not axes.axison:
                yield from (tick.label1, tick.label2)
