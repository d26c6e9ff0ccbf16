"""The slide around a plot: nothing overlaps, and nothing leaves it."""

from __future__ import annotations

import itertools

import pytest

from bench.analysis.stats import Spread
from bench.report.charts import designed, kinds, laid_out
from bench.report.charts.look import Look, style
from bench.report.charts.slide import Slide, spread_apart
from bench.schema import TrialRecord
from bench.show.figures import Bars, Figure, Panel
from bench.show.measured import US
from bench.show.table import MISSING
from bench.show.words import BY_SERVER
from tests.bench import synthetic
from tests.bench.report.charts.campaigns import changed, designs, made
from tests.bench.report.looks import crowded


def test_what_is_crowded_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(_: object, slide: Slide) -> None:
        slide.figure.text(0.5, 0.5, "one")
        slide.figure.text(0.505, 0.505, "two")
        slide.figure.text(0.99, 0.2, "outside")
        slide.figure.text(0.1, 0.1, "small", fontsize=9)

    monkeypatch.setattr(kinds, "draw", draw)
    design = Figure("a", "A", "", Bars([]))
    assert crowded(design, synthetic.MODELS, ()) == [
        "a: 'outside' leaves the slide",
        "a: 'one' lies on 'two'",
        "a: 'small' is too small",
    ]


def test_a_row_without_a_value_has_a_dash_and_not_an_empty_place() -> None:
    one = Spread(5.0, 4.0, 6.0, 5)
    design = Figure("a", "A", "", Bars([Panel("µs", {"threads": [one], "trio": [None]}, US)]))
    look = Look("wide", ["threads", "trio"])
    with style(look):
        (axes,) = laid_out(design, look).figure.axes
        assert [text.get_text() for text in axes.texts] == ["5.00 µs", MISSING]


def hollow_markers(design: Figure) -> int:
    look = Look("wide", list(synthetic.MODELS))
    with style(look):
        slide = laid_out(design, look)
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
    assert BY_SERVER not in free.notes
    limited = designs(
        [
            r.model_copy(update={"limiter": "server"})
            if isinstance(r, TrialRecord) and r.label == "callbacks" and r.point.endswith("t-100")
            else r
            for r in changed(made(), limiter="client")
        ]
    )[name]
    assert hollow_markers(limited) == 1
    assert BY_SERVER in limited.notes


def test_spread_apart() -> None:
    assert spread_apart([10, 50], 20, 0, 100) == [10, 50]
    assert spread_apart([50, 50, 50], 20, 0, 100) == [30, 50, 70]
    placed = spread_apart([95, 96, 99], 20, 0, 100)
    assert placed == [60, 80, 100]
    assert all(b - a >= 20 - 1e-9 for a, b in itertools.pairwise(placed))


def test_a_hollow_bar_has_an_outline() -> None:
    """It had none, and was as white as the slide."""
    rows = {label: [Spread(9.0, 8.0, 10.0, 5)] for label in ("threads", "callbacks")}
    bars = Bars([Panel("time", rows, US, hollow=("callbacks",))])
    look = Look("wide", synthetic.MODELS)
    with style(look):
        slide = laid_out(designed(Figure("a", "A", "", bars)), look)
        (axes,) = slide.figure.axes
        assert [bar.get_linewidth() > 0 for bar in axes.patches] == [False, True]
