"""Which charts a campaign gets, and what it gets instead of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.lines import Line2D
from matplotlib.text import Text

from bench.analysis.stats import Spread
from bench.palette import COLOUR, dark_of
from bench.questions.question import RANGES
from bench.report import charts
from bench.report.charts import Chart, laid_out, render_all
from bench.report.charts.look import Look, style
from bench.report.charts.slide import Slide
from bench.schema import TrialRecord
from bench.show.figures import Axis, Bar, Bars, Figure, LinePoint, Lines, Panel, Plot
from bench.show.measured import TIMES, US
from bench.show.pictures import alt
from tests.bench import synthetic
from tests.bench.report.charts.campaigns import changed, designs, made, standard, unequal
from tests.bench.report.looks import crowds


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Chart], list[str]]:
    """Every chart of a campaign that has something for each, as SVG, and which are crowded."""
    wrong: list[str] = []

    def looked_at(figure: Figure, look: Look, footer: Sequence[str]) -> Slide:
        slide = laid_out(figure, look, footer)
        wrong.extend(crowds(figure.name, slide))
        return slide

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charts, "laid_out", looked_at)
        folder = tmp_path_factory.mktemp("charts")
        return render_all(synthetic.analysed(unequal()), folder, formats=("svg",)), wrong


def test_no_text_of_them_is_clipped_or_lies_on_another(
    drawn: tuple[list[Chart], list[str]],
) -> None:
    assert drawn[1] == []


def test_every_colour_of_a_chart_has_one_in_the_dark(drawn: tuple[list[Chart], list[str]]) -> None:
    for chart in drawn[0]:
        text = chart.files["svg"].read_text()
        light, dark = {*COLOUR.findall(text[text.index("</style>") :])}, dark_of(text)
        assert light == dark.keys(), chart.name
        assert not light & {*dark.values()}, chart.name


def test_every_chart_is_drawn(drawn: tuple[list[Chart], list[str]]) -> None:
    assert [chart.name for chart in drawn[0]] == list(standard())
    for chart in drawn[0]:
        assert len(chart.alt) > 40
        assert chart.title
        assert chart.files
        for path in chart.files.values():
            assert path.stat().st_size > 5000
            text = path.read_text(encoding="utf-8")
            ElementTree.fromstring(text)
            assert "<text" in text  # text stays text
            assert "20261121-051200-1a2b3c" in text  # the campaign is in the footer
            assert "1a2b3c4d5e" in text
            assert "CPython 3.11.9" in text


def test_only_backends_measured_at_many_slots_are_in_the_other_charts() -> None:
    records = [
        r
        for r in made(backends=(*synthetic.MODELS, "uvloop"), blocks=1)
        if not (isinstance(r, TrialRecord) and r.label == "uvloop" and r.workload == "throughput")
    ]
    assert synthetic.analysed(records).main == list(synthetic.MODELS)
    assert "uvloop" not in alt("", designs(records)["memory"].data)


@pytest.mark.parametrize("status", ["void", "failed", "refused"])
def test_who_lost_its_trials_is_named_below_every_chart(status: str) -> None:
    """With half of the trials void seven charts had fewer backends, and no word."""
    lines = made(backends=(*synthetic.MODELS, "uvloop"), blocks=1)
    bad = synthetic.where(lines, lambda t: t.label == "uvloop", status=status, reason="digest")
    for design in designs(bad).values():
        named = "".join(design.notes).count("uvloop")
        assert named == 1, design.name


def test_a_name_that_is_a_part_of_another_is_named_too() -> None:
    """Where "async_await_pool" was named for another reason, "async_await" was not named at all."""
    lost = synthetic.where(made(), lambda t: t.label == "async_await", status="void", reason="x")
    note = "Not drawn, as no rate was beyond what they carry: async_await_pool."
    figure = Figure("spectrum", "", "", Bars([]), notes=(note,))
    assert "async_await." in charts.complete(figure, synthetic.analysed(lost)).notes[-1]


def test_who_has_too_little_for_a_glance_is_named() -> None:
    """A glance of throughput and latency had not who lacked one of them."""
    lines = made(backends=(*synthetic.MODELS, "uvloop"), workloads=("throughput", "openloop"))
    few = synthetic.replaced(lines, lambda t: [] if t.point[0] + t.label == "ouvloop" else t)
    assert "more is missing: uvloop." in designs(few)["glance"].notes[-1]


def test_charts_are_told_in_the_order_of_the_story() -> None:
    story = ["glance", "cpu", "memory", "c10k", "waiting", "spectrum", "fairness"]
    assert [name for name in standard() if name in story] == story


def test_a_campaign_cut_short_at_any_line() -> None:
    records = made(blocks=2)
    for cut in (1, 2, 3, 7, 40, len(records) - 1):
        for design in designs(records[:cut]).values():
            assert design.title


def test_a_glance_is_called_what_it_shows() -> None:
    """It was "Throughput, memory and latency" over two panels, where no rate was carried by all."""
    for workload, words in (("c10k", "Throughput and memory"), ("openloop", "Throughput and lat")):
        told = designs(made(workloads=("throughput", workload)))["glance"]
        assert told.title.startswith(words)
        assert ("slope" in told.notes[0]) == (workload == "c10k")


def test_what_was_not_measured_has_no_chart() -> None:
    missing = ("cpu", "memory", "ledger", "host", "service_time", "response_time", "limiter")
    found = designs(changed(made(blocks=2), **dict.fromkeys(missing)))
    assert not {"cpu", "memory", "open_loop"} & found.keys()
    assert "throughput" in found


@pytest.mark.parametrize(
    "kwargs",
    [
        {"backends": ("callbacks",), "blocks": 1, "twin": None, "base": "callbacks"},
        {"blocks": 2, "voids": 5, "samples": 300},
        {"workloads": ("c10k",)},
        {"workloads": ("real",), "blocks": 2},
        {"workloads": ("openloop",), "blocks": 1},
        {"workloads": ("cost",)},
    ],
    ids=["one-backend", "voids", "c10k", "real", "openloop", "cost"],
)
def test_partial_data(kwargs: dict[str, Any]) -> None:
    look = Look("wide", synthetic.MODELS)
    for design in designs(made(**kwargs)).values():
        assert alt(design.title, design.data)
        with style(look):
            assert laid_out(design, look).figure.axes


def test_without_a_valid_trial_there_is_no_chart() -> None:
    assert designs(changed(made(blocks=1), status="void", reason="digest differs")) == {}
    assert designs(made()[:1]) == {}


def test_forty_backends() -> None:
    backends = [*synthetic.MODELS, *(f"variant_{i}" for i in range(36))]
    spread, axis = Spread(9.0, 8.0, 10.0, 5), Axis("", "values")
    bars = Bars([Panel("time", {name: [spread] for name in backends}, US)])
    points = [LinePoint(1.0, spread), LinePoint(2.0, spread)]
    look = Look("wide", backends)
    for data in (bars, Lines([Plot(dict.fromkeys(backends, points), axis, axis)])):
        with style(look):
            slide = laid_out(Figure("many", "Many", "", data), look)
        names = [text.get_text() for text in slide.figure.findobj(Text)]
        assert {*backends} <= {*names}


def test_many_names_leave_room_for_their_panels() -> None:
    """With thirty backends the key of an open loop had two thirds of the slide."""
    lines = {f"a_variant_of_asyncio_{n}": [LinePoint(1.0, Spread(9, 9, 9, 5))] for n in range(30)}
    plot = Plot(lines, Axis("", "values"), Axis("", "values"))
    look = Look("wide", [*lines])
    with style(look):
        slide = laid_out(Figure("many", "Many", "", Lines([plot, plot], 2)), look)
    assert slide.figure.axes[0].get_position().height > 0.5


@pytest.mark.parametrize("trials", [1, 5])
def test_a_range_is_explained_where_there_is_one(trials: int) -> None:
    """Charts of single trials had said "lowest to highest block"."""
    row = {label: [Spread(2.0, 1.0, 3.0, trials)] for label in ("threads", "callbacks")}
    bars = Bars([Panel("memory", row, US)])
    made = charts.designed(Figure("x", "X", "", bars, notes=("Idle.", f"{RANGES} More.")))
    words = " ".join(made.notes)
    assert (RANGES in words, charts.ALONE in words) == (trials > 1, trials == 1)
    assert words.startswith("Idle. ")
    assert "More." in words


def test_a_dotted_line_lies_above_the_lines_that_run_along_it() -> None:
    """``waiting`` named a dotted line that nobody could see."""
    spread, axis = Spread(9.0, 8.0, 10.0, 5), Axis("", "values")
    points = [LinePoint(1.0, spread), LinePoint(2.0, spread)]
    plot = Plot(dict.fromkeys(synthetic.MODELS, points), axis, axis, dotted={"most": points})
    look = Look("wide", synthetic.MODELS)
    with style(look):
        lines = laid_out(Figure("a", "A", "", Lines([plot])), look).figure.findobj(Line2D)
    drawn = [line for line in lines if np.array_equal(line.get_ydata(), [9.0, 9.0])]
    (dotted,) = (line for line in drawn if line.get_linestyle() == "--")
    assert dotted.zorder > max(line.zorder for line in drawn if line is not dotted)


def test_a_line_does_not_cross_the_letters_of_a_name_in_the_panel() -> None:
    """A dotted line struck "threads" through."""
    spread, axis = Spread(9.0, 8.0, 10.0, 5), Axis("", "values")
    cloud = {"threads": [(1.0, 9.0), (10.0, 9.0)]}
    plot = Plot({"threads": [LinePoint(1.0, spread)]}, axis, axis, clouds=cloud)
    look = Look("wide", synthetic.MODELS)
    with style(look):
        texts = laid_out(Figure("a", "A", "", Lines([plot])), look).figure.texts
    boxes = {text.get_text(): text.get_bbox_patch() for text in texts}
    assert boxes["threads"] is not None
    assert boxes["A"] is None


def test_a_mark_at_0_leaves_the_words_of_its_tick_free() -> None:
    """In ``handovers`` that of callbacks lay on "25 µs"."""
    spread = Spread(25.0, 24.0, 26.0, 5)
    plot = Plot({"callbacks": [LinePoint(0.0, spread), LinePoint(6.0, spread)]}, Axis(""), Axis(""))
    look = Look("wide", synthetic.MODELS)
    with style(look):
        slide = laid_out(Figure("a", "A", "", Lines([plot])), look)
        (axes,) = slide.figure.axes
        ends = [tick.get_window_extent().x1 for tick in axes.get_yticklabels()]
        mark = axes.transData.transform((0.0, 25.0))[0] - 5.0 * slide.figure.dpi / 72
    assert max(ends) < mark


def test_a_single_trial_has_a_line_through_its_percentiles() -> None:
    """A spectrum of one block was three marks on an empty slide: one trial had no line."""
    told = designs(made(blocks=1))["spectrum"]
    assert any(charts.ALONE in note for note in told.notes)
    assert told.subtitle.endswith("last byte; one block (indicative)")
    look = Look("wide", synthetic.MODELS)
    with style(look):
        (axes,) = laid_out(told, look).figure.axes
        lines = axes.get_lines()
        drawn = {line.get_color() for line in lines if len(line.get_xdata()) == 2}  # type: ignore[arg-type]
        assert len(drawn) == len(synthetic.MODELS)


def test_words_at_ticks_of_a_phone_do_not_touch() -> None:
    """Where 250 and 500 connections were held, "250500" stood below them."""
    points = [LinePoint(x, Spread(x, x, x, 5)) for x in (50.0, 100.0, 250.0, 500.0, 10_000.0)]
    axes = Axis("connections", "counts"), Axis("memory", "values", "{:,.0f} MiB".format)
    plot = Plot({"async_await": points}, *axes)
    look = Look("narrow", synthetic.MODELS)
    with style(look):
        slide = laid_out(Figure("a", "", "", Lines([plot], told=True)), look)
        slide.figure.draw_without_rendering()
        (drawn,) = slide.figure.axes
        shown = drawn.get_xticklabels()
        boxes = [tick.get_window_extent() for tick in shown]
        assert min(b.x0 - a.x1 for a, b in pairwise(boxes)) > 5.0
        assert shown[-1].get_text() == "10,000"


def test_the_lowest_words_of_a_logarithmic_axis_lie_on_none_of_the_other() -> None:
    """On a phone "100" touched "100 KiB" where 100 connections used 125 KiB."""
    points = [LinePoint(x, Spread(y, y, y, 5)) for x, y in ((100.0, 125.0), (1e4, 12_500.0))]
    axes = Axis("connections", "counts"), Axis("memory", "values", "{:g} KiB".format)
    look = Look("narrow", synthetic.MODELS)
    with style(look):
        slide = laid_out(Figure("a", "", "", Lines([Plot({"threads": points}, *axes)])), look)
        slide.figure.draw_without_rendering()
        (drawn,) = slide.figure.axes
        below, beside = drawn.get_xticklabels()[0], drawn.get_yticklabels()[0]
        assert beside.get_window_extent().y0 > below.get_window_extent().y1 + 5.0


def test_letters_of_a_ratio_are_not_crossed_by_the_line_at_one() -> None:
    """In the charts of variants it went through "too few blocks"."""
    rows = {f"variant_{n}": [Spread(0.5, 0.4, 3.0, 5)] for n in range(8)}
    look = Look("wide", [*rows])
    with style(look):
        panel = Panel("time", rows, TIMES, dots=True, around=0.03)
        (axes,) = laid_out(Figure("a", "A", "", Bars([panel])), look).figure.axes
    assert all(text.get_bbox_patch() for text in axes.texts)


def test_a_range_below_zero_is_not_cut_off() -> None:
    """What TLS adds to a page of threads was less than nothing in a block."""
    row: dict[str, list[Bar]] = {"threads": [Spread(2.0, -13.0, 8.0, 5)]}
    look = Look("wide", synthetic.MODELS)
    with style(look):
        (axes,) = laid_out(Figure("a", "A", "", Bars([Panel("t", row, US)])), look).figure.axes
    assert axes.get_xlim()[0] < -13.0


def test_a_logarithmic_axis_says_so() -> None:
    """At a glance a linear panel stood between two logarithmic ones."""
    one, many = Spread(1.0, 1.0, 1.0, 5), Spread(90.0, 90.0, 90.0, 5)
    both = {"threads": [many], "callbacks": [one]}
    near = {"threads": [one], "callbacks": [one]}
    panels = [Panel(axis, rows, US, dots=True) for axis, rows in (("far", both), ("near", near))]
    points = [LinePoint(1.0, one), LinePoint(10.0, many)]
    axes = Axis("slots", "counts"), Axis("", "values")
    alone, named = Plot({"threads": points}, *axes, "time"), Axis("ratio", "ratios")
    small = [alone, replace(alone, y=named)]
    look = Look("wide", synthetic.MODELS)
    with style(look):
        bars = laid_out(Figure("a", "A", "", Bars(panels)), look).figure.axes
        assert [x.get_xlabel() for x in bars] == ["far, log scale", "near"]
        (line,) = laid_out(Figure("a", "A", "", Lines([alone])), look).figure.axes
        assert (line.get_xlabel(), line.get_title("left")) == ("slots, log scale", TITLED)
        # On a phone a panel had no name of its axis, "pages/s ÷ async_await".
        (line,) = laid_out(Figure("a", "A", "", Lines(small[1:])), look).figure.axes
        assert line.get_title("left") == "time, ratio, log scale"
        left, right = laid_out(Figure("a", "A", "", Lines(small, 2)), look).figure.axes
        assert [x.get_title("left") for x in (left, right)] == [TITLED, "time"]
        assert right.get_ylabel() == "ratio, log scale"


TITLED = "time, log scale"


def test_a_phone_has_a_key_only_where_a_row_has_two_bars() -> None:
    """Below one another, the panel of what TLS adds named two kinds of bars and had one."""
    one = Spread(1.0, 1.0, 1.0, 5)
    panels = [Panel("both", {"threads": [one, one]}, US), Panel("alone", {"threads": [one]}, US)]
    parts = charts.in_parts(Bars(panels, "plain", "TLS"))
    assert [part.faint for part in parts if isinstance(part, Bars)] == ["plain", ""]
