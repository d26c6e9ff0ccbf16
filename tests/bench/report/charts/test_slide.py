"""The slide around a plot, where nothing overlaps or leaves it, and its files: the same bytes."""

from __future__ import annotations

import itertools
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bench import BenchError
from bench.analysis.stats import Spread
from bench.report.charts import Sheet, designed, kinds, laid_out, render_all
from bench.report.charts.look import Format, Look, style
from bench.report.charts.slide import Slide, spread_apart
from bench.schema import TrialRecord
from bench.show.figures import Axis, Bars, Figure, LinePoint, Lines, Panel, Plot, Stack
from bench.show.measured import MS, US
from bench.show.table import MISSING
from bench.show.words import BY_SERVER, named
from tests.bench import synthetic
from tests.bench.report.charts.campaigns import changed, designs, made
from tests.bench.report.looks import crowded, crowds
from tests.bench.synthetic import where


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


def test_ticks_of_a_narrow_panel_do_not_touch() -> None:
    """At a glance "3 ms" lay on "10 ms", where open loops waited from 1 ms to 300."""
    row = {label: [Spread(9.0, 1.3, 270.0, 5)] for label in ("threads", "callbacks")}
    panels = [Panel("p99", row, MS, dots=True)] * 3
    assert crowded(Figure("a", "A", "", Bars(panels)), synthetic.MODELS, ()) == []


def test_names_of_narrow_logarithmic_panels_do_not_touch() -> None:
    """Against asyncio "log scale" of one ran into "page, new connection" of the next."""
    row = {label: [Spread(9.0, 1.3, 270.0, 5)] for label in ("threads", "callbacks")}
    names = ("time per page", "user memory", "user memory over TLS", "page, new connection")
    panels = [Panel(name, row, MS, dots=True) for name in names]
    assert crowded(Figure("a", "A", "", Bars(panels)), synthetic.MODELS, ()) == []


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
    client = changed(made(), limiter="client")
    limited = designs(
        where(client, lambda r: (r.label, r.point[-5:]) == ("callbacks", "t-100"), limiter="server")
    )[name]
    assert hollow_markers(limited) == 1
    assert BY_SERVER in limited.notes


def test_the_long_name_of_a_loop_of_the_user_s_leaves_room_for_its_chart() -> None:
    """Axes without a width made the layout raise, at the end of a run and in report."""
    loop = "mycompany.networking.experimental.loops:make_loop"
    lines = made(backends=(*synthetic.MODELS, "uvloop"))
    renamed = where(lines, lambda trial: trial.label == "uvloop", label=loop, backend=loop)
    look = Look("wide", [*synthetic.MODELS, loop])
    with style(look):
        for figure in designs(renamed).values():
            slide = laid_out(figure, look)
            if isinstance(figure.data, Lines) and figure.data.told:  # with a value at its end
                assert crowds(figure.name, slide) == []
    assert named(loop) == "…tal.loops:make_loop"
    assert named("threads_one_processor@3.13.5t") == "threads_one_processor@3.13.5t"


def test_bars_of_nothing_have_no_key() -> None:
    """Memory that nobody could tell from 0 ended the report with a traceback."""
    panel = Panel("memory", {label: [Stack({"user": 0.0})] for label in synthetic.MODELS}, US)
    look = Look("wide", synthetic.MODELS)
    with style(look):
        slide = laid_out(Figure("a", "A", "", Bars([panel], parts={"user": "blue"})), look)
    assert slide.figure.legends == []


def test_no_word_of_a_title_is_left_alone() -> None:
    """ "Whether uvloop saves processor time per page is undecided", and below it "here"."""
    title = "Whether uvloop saves processor time per page is undecided here"
    look = Look("wide", synthetic.MODELS)
    with style(look):
        slide = Slide(look, title, f"{'so ' * 48}many words")
        lines = [text.get_text() for text in slide.figure.texts]
    assert [line.split()[-1] for line in lines[:2]] != ["undecided", "here"]
    assert " ".join(lines[:2]) == title
    assert all(" " in line for line in lines)


def test_names_beside_single_points_lie_on_no_mark() -> None:
    """Where a campaign has one number of slots, each name lay on the bars of the next backends."""
    others = ("throughput-1", "throughput-10", "throughput-1000")
    kept = [r for r in made() if not (isinstance(r, TrialRecord) and r.point in others)]
    design = designs(kept)["throughput"]
    look = Look("wide", synthetic.MODELS)
    with style(look):
        figure = laid_out(design, look).figure
        names = [text for text in figure.texts if text.get_text().endswith("k")]
        left = {text.get_window_extent().x0 for text in names}
        marks = [line.get_window_extent().x1 for line in figure.axes[0].lines]
    assert len(names) == len(synthetic.MODELS)
    assert min(left) > max(marks)


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


@pytest.mark.slow
def test_formats(tmp_path: Path) -> None:
    formats: list[Format] = ["svg", "png"]
    (found,) = render_all(synthetic.analysed(made()), tmp_path, formats, only=("throughput",))
    assert {p.name for p in found.files.values()} == {f"throughput.{kind}" for kind in formats}
    head = (tmp_path / "throughput.png").read_bytes()[16:24]
    assert (int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")) == (2560, 1440)


@pytest.mark.slow
def test_same_records_same_bytes(tmp_path: Path) -> None:
    names = ("memory", "throughput")
    for run in ("a", "b"):
        render_all(synthetic.analysed(made()), tmp_path / run, only=names)
    first = sorted((tmp_path / "a").iterdir())
    assert len(first) == 3 * len(names), "two pictures and their words"
    for path in first:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


slow = partial(pytest.param, marks=pytest.mark.slow)


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """No file may become longer than this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("kind", "room", "fails"),
    [
        *(("svg", 1, "cpu.txt"), ("svg", 5000, "cpu.svg")),
        *(slow("svg", 1000, "cpu.svg"), slow("png", 5000, "cpu.png")),
    ],
)
@pytest.mark.parametrize("before", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_full_disk_leaves_whole_charts(
    kind: Format, room: int, fails: str, before: bool, tmp_path: Path
) -> None:
    """An empty or torn drawing was left, over one that was whole."""
    if before:
        (tmp_path / fails).write_text("whole")
    sheet = Sheet(tmp_path, synthetic.MODELS, (), formats=(kind,))
    design = designs(made())["cpu"]
    with full_disk(room), pytest.raises(BenchError, match=f"{fails}: File too large"):
        sheet.draw(design)
    found = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert found.pop(fails, "nothing") == ("whole" if before else "nothing")
    assert set(found) <= {"cpu.txt"}
    assert all(text.endswith("\n") for text in found.values())


def test_a_name_in_the_panel_hides_no_mark() -> None:
    """On a phone "callbacks" lay on the triangle of generators."""
    axis = Axis("", "names", str), Axis("", "values")
    values = {"callbacks": 1.41, "generators": 1.37, "async_await": 1.56, "loop_per_thread": 3.5}
    lines = {name: [LinePoint(1.0, Spread(x, x, x, 5))] for name, x in values.items()}
    look = Look("narrow", synthetic.MODELS)
    with style(look):
        slide = laid_out(Figure("a", "", "", Lines([Plot(lines, *axis)])), look)
        slide.figure.draw_without_rendering()
        (axes,) = slide.figure.axes
        marks = [
            axes.transData.transform(np.asarray(line.get_xydata())[0])
            for line in axes.get_lines()
            if line.get_marker() not in ("None", None, "")
        ]
        boxes = [x.get_window_extent() for x in slide.figure.texts if x.get_text()]
    assert len(marks) == len(boxes) == len(values)
    assert not any(box.contains(*mark) for box in boxes for mark in marks)


def test_marks_of_variants_have_a_shape_in_a_small_panel() -> None:
    """In the chart of crossovers, in grey, a variant was a dot like its neighbours."""
    spread, axes = Spread(2.0, 1.0, 3.0, 5), (Axis("", "names", str), Axis("", "values"))
    lines = {name: [LinePoint(1.0, spread)] for name in ("threads", "trio")}
    look = Look("wide", ["threads", "trio"])
    with style(look):
        figure = Figure("a", "A", "", Lines([Plot(lines, *axes)] * 2, 2))
        (first, _) = laid_out(figure, look).figure.axes
    sizes = {line.get_markersize() for line in first.get_lines() if line.get_marker() != "None"}
    assert sizes == {7.0}
