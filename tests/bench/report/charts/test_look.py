"""Colours and markers of the backends, matplotlib's settings, and scales of axes."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from bench.plan.participants import MAIN_VARIANTS
from bench.report.charts.axes import bar_rows, value_axis
from bench.report.charts.kinds import COLOURS
from bench.report.charts.look import Look, style
from bench.report.charts.slide import Slide
from bench.show.words import WHOLE, named
from crawlers.catalogue import OURS
from tests.bench import synthetic


def test_nothing_is_left_behind_in_matplotlib() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    with style(Look("wide", [])):
        assert matplotlib.rcParams["svg.fonttype"] == "none"
    assert dict(matplotlib.rcParams) == before


def test_a_colour_belongs_to_one_backend_or_part() -> None:
    """Variants had the colours of uvloop, trio, aiohttp and gevent; parts of memory, of models."""
    look = Look("wide", [*synthetic.MODELS, *(f"v{i}" for i in range(36))])
    named = [*synthetic.MODELS, *MAIN_VARIANTS, *(f"v{i}" for i in range(36))]
    colours = [look.of(name).colour for name in named]
    owned = [colour for colour in colours if colour != look.palette.muted]
    assert len(set(owned)) == len(owned) > len(synthetic.MODELS) + len(MAIN_VARIANTS)
    for colours in (owned, [look.dark[colour] for colour in owned]):
        assert not {*colours} & {colour for pair in COLOURS.values() for colour in pair}
    assert look.of("callbacks#2").colour == look.of("callbacks").colour


def test_a_main_variant_has_the_same_colour_beside_all_others() -> None:
    """In the chart of all costs gevent had the colour that uvloop has elsewhere."""
    few = Look("wide", ["callbacks", *MAIN_VARIANTS])
    many = Look("wide", ["callbacks", "twisted", "tornado", *reversed(MAIN_VARIANTS)])
    for name in MAIN_VARIANTS:
        assert (few.of(name).colour, few.of(name).marker) == (
            many.of(name).colour,
            many.of(name).marker,
        )


def test_a_colour_has_one_other_in_the_dark() -> None:
    look = Look("wide", [])
    with pytest.raises(ValueError, match="#ffffff is #14171c in the dark, and #000000"):
        look.pair("#ffffff", "#000000")


def test_whole_stacks_stand_apart_in_name_and_line() -> None:
    look = Look("wide", ["callbacks", "trio", "aiohttp"])
    assert named("aiohttp#2") == "aiohttp#2 (stack)"
    assert named("trio") == "trio"
    assert look.of("aiohttp").line != look.of("trio").line == look.of("callbacks").line
    assert {b.name for b in OURS.values() if b.family == "stack"} < WHOLE
    assert named("httpx_tuned") == "httpx_tuned (stack)", "removed, but in published records"


def test_a_line_divides_models_and_variants_from_stacks() -> None:
    look = Look("wide", ["callbacks", "trio", "aiohttp", "httpx"])
    with style(look):
        slide = Slide(look, "a title", "a subtitle")
        axes = slide.panels()[0]
        bar_rows(slide, axes, ["callbacks", "trio", "aiohttp", "httpx"], 14.0)
        lines = [float(np.asarray(line.get_ydata())[0]) for line in axes.get_lines()]
    assert lines == [1.5]
    assert [text.get_text() for text in axes.get_yticklabels()][2:] == [
        "aiohttp (stack)",
        "httpx (stack)",
    ]


def test_values_that_hardly_differ_stand_on_an_axis_from_zero() -> None:
    axes = Figure().subplots()
    value_axis(axes, [21.5, 24.0])
    assert axes.get_yscale() == "linear"
    assert axes.get_ylim()[0] == 0
    value_axis(axes, [21.5, 24000.0])
    assert axes.get_yscale() == "log"
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["100", "1,000", "10k"]


def test_two_variants_have_two_colours_and_marks_on_every_interpreter() -> None:
    """``threads_one_processor`` and ``loop_per_thread`` were the same grey star."""
    names = ("threads_one_processor", "loop_per_thread")
    look = Look("wide", [f"{name}@{python}" for python in ("3.13", "3.13t") for name in names])
    one, other = (look.of(f"{name}@3.13t") for name in names)
    assert one.colour != other.colour
    assert one.marker != other.marker
    assert look.of(names[0]).colour == one.colour
