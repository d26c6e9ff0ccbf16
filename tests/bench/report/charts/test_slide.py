"""The slide around a plot: nothing overlaps, and nothing leaves it."""

from __future__ import annotations

import itertools

import pytest
from matplotlib.text import Text

from bench.report.charts import Design
from bench.report.charts.look import DPI, Look, Shape, style
from bench.report.charts.slide import spread_apart
from bench.schema import TrialRecord
from bench.show.words import footer
from tests.bench import synthetic
from tests.bench.report.charts.campaigns import changed, designs, made, standard


@pytest.mark.parametrize("shape", ["wide", "square"])
@pytest.mark.parametrize("name", ["ladder", "ladder-stacks", "memory", "noise"])
def test_no_word_leaves_the_slide(name: str, shape: Shape) -> None:
    look = Look("light", shape, synthetic.MODELS)
    design = standard()[name]
    with style(look):
        slide = design.slide(look, ("footer",))
        # matplotlib keeps labels of ticks beyond the axes' end, and does not draw them.
        ticks = {label for axes in slide.figure.axes for label in axes.get_xticklabels()}
        texts = {t for t in slide.figure.findobj(Text) if t.get_visible() and t.get_text()}
        boxes = {t.get_text(): t.get_window_extent() for t in texts - ticks}
    width = look.size[0] * DPI
    assert [text for text, box in boxes.items() if box.x0 < 0 or box.x1 > width] == []


def hollow_markers(design: Design) -> int:
    look = Look("light", "wide", list(synthetic.MODELS))
    with style(look):
        slide = design.slide(look)
        return sum(
            line.get_marker() not in ("None", None, "")
            and line.get_markerfacecolor() == look.palette.background
            for axes in slide.figure.axes
            for line in axes.get_lines()
        )


def test_server_limited_points_are_hollow() -> None:
    name = "throughput"
    free = designs(changed(made(), limiter="client"))[name]
    assert hollow_markers(free) == 0
    assert not free.hollow
    limited = designs(
        [
            r.model_copy(update={"limiter": "server"})
            if isinstance(r, TrialRecord) and r.label == "callbacks" and r.point.endswith("t-100")
            else r
            for r in changed(made(), limiter="client")
        ]
    )[name]
    assert hollow_markers(limited) == 1
    assert limited.hollow


def test_labels_of_a_slide_do_not_overlap() -> None:
    design = designs(made())["throughput"]
    look = Look("light", "wide", list(synthetic.MODELS))
    with style(look):
        slide = design.slide(look, footer(synthetic.analysed(made())))
        slide.figure.draw_without_rendering()
        boxes = [
            (text.get_text(), text.get_window_extent())
            for text in slide.figure.texts
            if text.get_text()
        ]
        width, height = (slide.look.size[0] * 100, slide.look.size[1] * 100)
        for text, box in boxes:
            assert box.x0 >= 0, text
            assert box.x1 <= width, text
            assert box.y0 >= 0, text
            assert box.y1 <= height, text
        for (one, a), (two, b) in itertools.combinations(boxes, 2):
            apart = a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 + 3 or b.y1 <= a.y0 + 3
            assert apart, f"{one!r} lies on {two!r}"


def test_spread_apart() -> None:
    assert spread_apart([10, 50], 20, 0, 100) == [10, 50]
    assert spread_apart([50, 50, 50], 20, 0, 100) == [30, 50, 70]
    placed = spread_apart([95, 96, 99], 20, 0, 100)
    assert placed == [60, 80, 100]
    assert all(b - a >= 20 - 1e-9 for a, b in itertools.pairwise(placed))
