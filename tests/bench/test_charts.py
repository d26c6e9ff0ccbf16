"""The charts: drawn from any records, the same to the byte, and honest in their titles."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import synthetic
from matplotlib.figure import Figure
from matplotlib.text import Text

from bench import charts
from bench.charts import Chart, Facts, Plan, Skip, render_all
from bench.charts.style import (
    DPI,
    PALETTES,
    Look,
    Shape,
    Slide,
    Theme,
    contrast,
    duration,
    memory_axis,
    number,
    readable,
    significant,
    size_words,
    spread_apart,
    style,
    times,
)
from bench.schema import AnyRecord, TrialRecord

EVERY = [name for name, _ in charts.CHARTS]


@lru_cache(maxsize=12)
def made(**kwargs: Any) -> tuple[AnyRecord, ...]:
    """A campaign, made once per set of arguments."""
    return tuple(synthetic.campaign(**({"samples": 1100, "rates": (5000, 30_000)} | kwargs)))


def whole(**kwargs: Any) -> tuple[AnyRecord, ...]:
    """A campaign with every workload, on a ladder with a whole stack at its end."""
    ladder = tuple(synthetic.rungs((*synthetic.MODELS, "uvloop", "aiohttp", "httpx")))
    stacks = [
        rung.model_copy(update={"family": "stack"}) if rung.name in ("aiohttp", "httpx") else rung
        for rung in ladder
    ]
    names = tuple(rung.name for rung in ladder if rung.missing is None)
    return tuple(
        synthetic.campaign(
            **{
                "backends": names,
                "workloads": synthetic.EVERY,
                "ladder": stacks,
                "samples": 1100,
                "rates": (5000, 30_000),
            }
            | kwargs
        )
    )


def plans(records: Sequence[AnyRecord]) -> dict[str, Any]:
    facts = Facts(records)
    return {name: make(facts) for name, make in charts.CHARTS}


def by_name(found: list[Chart]) -> dict[str, Chart]:
    return {chart.name: chart for chart in found}


def changed(records: Sequence[AnyRecord], **update: Any) -> list[AnyRecord]:
    return [r.model_copy(update=update) if isinstance(r, TrialRecord) else r for r in records]


def test_every_chart_is_drawn(tmp_path: Path) -> None:
    found = render_all(whole(), tmp_path, formats=("svg",))
    assert [c.name for c in found] == EVERY
    for chart in found:
        if chart.name == "parity":
            assert chart.skipped
            assert "Equal at the server" in chart.skipped
            continue
        assert chart.skipped is None
        assert len(chart.alt) > 40
        assert chart.title
        assert chart.files
        for path in chart.files:
            assert path.stat().st_size > 5000
            text = path.read_text(encoding="utf-8")
            ElementTree.fromstring(text)
            assert "<text" in text  # text stays text
            assert "20261121-051200-1a2b3c" in text  # the campaign is in the footer
            assert "1a2b3c4d5e" in text
            assert "CPython 3.11.9" in text


NEW = ("ladder", "ladder-async", "ladder-stacks", "regime", "fairness")


def test_a_campaign_from_before_the_ladder_says_what_it_lacks() -> None:
    found = plans(made())
    assert {name: found[name].reason for name in NEW} == {
        **dict.fromkeys(NEW[:3], "the records do not say what each backend changes"),
        "regime": "no valid trial of the regime workload",
        "fairness": "no valid trial of the fairness workload",
    }


def test_stacks_stand_apart_from_models() -> None:
    found = plans(whole(blocks=1, workloads=("ladder",)))
    drawn = {name: found[name].alt for name in NEW[:3]}
    assert [name for name, alt in drawn.items() if "httpx" in alt] == ["ladder-stacks"]
    assert [name for name, alt in drawn.items() if "threads" in alt] == ["ladder"]
    assert all("absent needs a library" in " ".join(found[name].notes) for name in drawn)


def test_only_backends_measured_at_many_slots_are_in_the_other_charts() -> None:
    records = [
        r
        for r in made(backends=(*synthetic.MODELS, "uvloop"), blocks=1)
        if not (isinstance(r, TrialRecord) and r.label == "uvloop" and r.workload == "throughput")
    ]
    assert Facts(records).main == list(synthetic.MODELS)
    for name in ("memory", "memory-total"):
        assert "uvloop" not in plans(records)[name].alt


def test_starving_is_said_when_every_repeat_shows_it() -> None:
    records = whole(workloads=("fairness",), backends=synthetic.MODELS)
    assert plans(records)["fairness"].finding == "threads starves some of 200 slots in every repeat"
    even = whole(workloads=("fairness",), backends=synthetic.MODELS, effects=False)
    assert plans(even)["fairness"].finding == "No model starves any of 200 slots"
    few = whole(workloads=("fairness",), backends=synthetic.MODELS, blocks=2)
    assert plans(few)["fairness"].finding is None


def test_ladder_and_map_are_silent_without_a_difference() -> None:
    records = whole(
        workloads=("throughput", "waiting", "regime", "ladder"), effects=False, samples=30
    )
    found = plans(records)
    for name in ("ladder", "ladder-async", "ladder-stacks", "regime"):
        assert found[name].finding is None, found[name].finding


def test_charts_are_told_in_the_order_of_the_story() -> None:
    story = ("throughput", "cpu", "memory", "summit", "hockey-stick", "service-time", "omission")
    told = [name for name in EVERY if name in (*story, "fairness", "regime")]
    assert told == [*story, "fairness", "regime"]


def test_a_chart_from_elsewhere_is_drawn_like_all_others(tmp_path: Path) -> None:
    plan = plans(made())["throughput"]
    further = [dataclasses.replace(plan, name="elsewhere"), Skip("none", "Nothing", "no data")]
    found = render_all(made(), tmp_path, ("svg",), only=("cpu",), further=further)
    assert [chart.name for chart in found] == ["cpu", "elsewhere", "none"]
    assert found[1].files == (tmp_path / "elsewhere.svg",)
    assert (tmp_path / "elsewhere.txt").read_text() == f"{plan.alt}\n"
    assert found[2].skipped == "no data"


@pytest.mark.parametrize("shape", ["wide", "square"])
@pytest.mark.parametrize("name", ["ladder", "ladder-stacks", "parity"])
def test_no_word_leaves_the_slide(name: str, shape: Shape) -> None:
    records = [
        r.model_copy(update={"ledger": r.ledger.model_copy(update={"connections_opened": 7})})
        if name == "parity" and isinstance(r, TrialRecord) and r.ledger and r.label == "threads"
        else r
        for r in whole(samples=30)
    ]
    look = Look("light", shape, synthetic.MODELS)
    plan = plans(records)[name]
    with style(look):
        slide = Slide(look, plan, ("footer",))
        plan.draw(slide)
        slide.settle()
        # matplotlib keeps labels of ticks beyond the axes' end, and does not draw them.
        ticks = {label for axes in slide.figure.axes for label in axes.get_xticklabels()}
        texts = {t for t in slide.figure.findobj(Text) if t.get_visible() and t.get_text()}
        boxes = {t.get_text(): t.get_window_extent() for t in texts - ticks}
    width = look.size[0] * DPI
    assert [text for text, box in boxes.items() if box.x0 < 0 or box.x1 > width] == []


def test_themes_shapes_and_formats(tmp_path: Path) -> None:
    found = render_all(
        made(),
        tmp_path,
        formats=("svg", "png", "pdf"),
        themes=("light", "dark"),
        shapes=("wide", "square"),
        only=("throughput",),
    )
    assert len(found) == 1
    names = {p.name for p in found[0].files}
    assert names == {
        f"throughput{shape}{theme}.{kind}"
        for shape, theme, kind in itertools.product(
            ("", "-square"), ("", "-dark"), ("svg", "png", "pdf")
        )
    }
    head = (tmp_path / "throughput.png").read_bytes()[16:24]
    assert (int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")) == (2560, 1440)
    head = (tmp_path / "throughput-square.png").read_bytes()[16:24]
    assert head[:4] == head[4:]


def test_same_records_same_bytes(tmp_path: Path) -> None:
    names = ("throughput", "memory", "noise")
    for run in ("a", "b"):
        render_all(made(), tmp_path / run, formats=("svg", "png", "pdf"), only=names)
    first = sorted((tmp_path / "a").iterdir())
    assert len(first) == 4 * len(names), "three pictures and their words"
    for path in first:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    "kwargs",
    [
        {"backends": ("callbacks",), "blocks": 1, "twin": None, "base": "callbacks"},
        {"blocks": 1, "samples": 300},
        {"blocks": 2, "voids": 5, "samples": 300},
        {"workloads": ("c10k",)},
        {"workloads": ("real",), "blocks": 2},
        {"workloads": ("openloop",), "blocks": 1},
        {"workloads": ("cost",)},
    ],
    ids=["one-backend", "one-block", "voids", "c10k", "real", "openloop", "cost"],
)
def test_partial_data(kwargs: dict[str, Any], tmp_path: Path) -> None:
    for chart in render_all(made(**kwargs), tmp_path, formats=("svg",)):
        assert bool(chart.files) != bool(chart.skipped)
        if chart.files:
            assert chart.alt


def test_nothing_but_voids(tmp_path: Path) -> None:
    records = changed(made(blocks=1), status="void", reason="digest differs")
    for chart in render_all(records, tmp_path, formats=("svg",)):
        assert chart.files == ()
        assert chart.skipped
    assert list(tmp_path.iterdir()) == []


def test_no_records_at_all(tmp_path: Path) -> None:
    assert all(c.skipped for c in render_all([], tmp_path))


def test_trials_without_measurements(tmp_path: Path) -> None:
    records = changed(
        made(blocks=2),
        cpu=None,
        memory=None,
        ledger=None,
        host=None,
        service_time=None,
        response_time=None,
        limiter=None,
    )
    found = by_name(render_all(records, tmp_path, formats=("svg",)))
    assert found["cpu"].skipped
    assert found["memory"].skipped
    assert found["service-time"].skipped
    assert found["throughput"].files


def test_a_campaign_cut_short_at_any_line(tmp_path: Path) -> None:
    records = made(blocks=2)
    for cut in (1, 2, 3, 7, 40, len(records) - 1):
        for plan in plans(records[:cut]).values():
            assert plan.title


def test_a_campaign_that_was_not_watched_over_time_has_no_summit() -> None:
    """As those recorded before ramps were kept."""
    assert plans(changed(made(blocks=2), ramp=None))["summit"].reason.endswith("over time")


def test_titles_are_silent_without_a_difference() -> None:
    found = plans(made(effects=False, noise=0.03))
    for name in ("throughput", "waiting", "ratios", "cpu", "memory", "memory-total", "summit"):
        assert found[name].finding is None, found[name].finding
    for name in ("service-time", "open-loop", "hockey-stick"):
        assert found[name].finding is None, found[name].finding
    assert any("No difference shown" in note for note in found["throughput"].notes)


def test_titles_are_silent_with_too_few_blocks() -> None:
    found = plans(made(blocks=2))
    for name in (
        "throughput",
        "waiting",
        "ratios",
        "cpu",
        "memory-total",
        "summit",
        "hockey-stick",
    ):
        assert found[name].finding is None
    assert any("of at least 5 blocks" in note for note in found["throughput"].notes)


def test_titles_say_what_the_data_show() -> None:
    found = plans(made())
    finding = found["throughput"].finding
    assert re.search(r"callbacks fetches (at least )?1\.\d+× as many pages", finding)
    assert "95 % interval" in " ".join(found["throughput"].notes)
    assert "threads 5" in found["memory"].finding
    assert "differs” from itself" in found["noise"].finding


def hollow_markers(plan: Plan) -> int:
    look = Look("light", "wide", list(synthetic.MODELS))
    with style(look):
        slide = Slide(look, plan, ())
        plan.draw(slide)
        return sum(
            line.get_marker() not in ("None", None, "")
            and line.get_markerfacecolor() == look.palette.background
            for axes in slide.figure.axes
            for line in axes.get_lines()
        )


@pytest.mark.parametrize("name", ["throughput", "ratios"])
def test_server_limited_points_are_hollow(name: str) -> None:
    free = plans(changed(made(), limiter="client"))[name]
    assert hollow_markers(free) == 0
    assert not free.hollow
    limited = plans(
        [
            r.model_copy(update={"limiter": "server"})
            if isinstance(r, TrialRecord) and r.label == "callbacks" and r.point.endswith("t-100")
            else r
            for r in changed(made(), limiter="client")
        ]
    )[name]
    assert hollow_markers(limited) == 1
    assert limited.hollow


def test_parity_is_drawn_when_it_differs(tmp_path: Path) -> None:
    records = [
        r.model_copy(update={"ledger": r.ledger.model_copy(update={"connections_opened": 999})})
        if isinstance(r, TrialRecord) and r.ledger and r.label == "threads"
        else r
        for r in made(blocks=2)
    ]
    chart = render_all(records, tmp_path, formats=("svg",), only=("parity",))[0]
    assert chart.files
    assert "Not equal" in chart.alt


def test_void_trials_are_counted_in_the_footer() -> None:
    assert (
        "3 trials void, failed or refused: not drawn"
        in Facts(made(voids=3, workloads=("real",))).footer[1]
    )


def test_forty_backends(tmp_path: Path) -> None:
    backends = (*synthetic.MODELS, *(f"variant_{i}" for i in range(36)))
    records = made(backends=backends, blocks=1, workloads=("throughput", "c10k"), samples=30)
    found = by_name(
        render_all(records, tmp_path, formats=("svg",), only=("throughput", "memory", "ratios"))
    )
    for chart in found.values():
        assert chart.skipped is None
        text = chart.files[0].read_text(encoding="utf-8")
        assert "variant_35" in text


def test_labels_of_a_slide_do_not_overlap() -> None:
    plan = plans(made())["throughput"]
    look = Look("light", "wide", list(synthetic.MODELS))
    with style(look):
        slide = Slide(look, plan, Facts(made()).footer)
        plan.draw(slide)
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


def test_nothing_is_left_behind_in_matplotlib() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    with style(Look("dark", "wide", [])):
        assert matplotlib.rcParams["svg.fonttype"] == "none"
    assert dict(matplotlib.rcParams) == before


# --- style -------------------------------------------------------------------------------


def simulate(colour: str, kind: str) -> tuple[float, float, float]:
    """The colour as a dichromat sees it (Viénot, Brettel and Mollon 1999), linear RGB."""
    r, g, b = (
        (c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4)
        for c in (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    )
    if kind == "normal":
        return r, g, b
    if kind == "protan":
        return 0.11238 * r + 0.88762 * g, 0.11238 * r + 0.88762 * g, 0.00401 * (r - g) + b
    return 0.29275 * r + 0.70725 * g, 0.29275 * r + 0.70725 * g, -0.02234 * (r - g) + b


def lab(rgb: tuple[float, float, float]) -> tuple[float, float, float]:
    r, g, b = (max(0.0, c) for c in rgb)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["normal", "protan", "deutan"])
def test_models_are_told_apart_by_every_eye(theme: Theme, kind: str) -> None:
    colours = PALETTES[theme].models
    for a, b in itertools.combinations(colours, 2):
        one, two = (lab(simulate(colours[x], kind)) for x in (a, b))
        distance = sum((p - q) ** 2 for p, q in zip(one, two, strict=True)) ** 0.5
        assert distance > 12, f"{a} and {b} look alike ({distance:.0f})"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast(theme: Theme) -> None:
    palette = PALETTES[theme]
    for colour in (*palette.models.values(), *palette.variants):
        assert contrast(colour, palette.background) >= 3
        assert contrast(readable(colour, palette.background), palette.background) >= 4.5
    assert contrast(palette.muted, palette.background) >= 4.5


def test_identities_are_stable_and_distinct() -> None:
    backends = [*synthetic.MODELS, *(f"v{i}" for i in range(36))]
    look = Look("light", "wide", backends)
    seen = {(look.of(b).colour, look.of(b).marker) for b in backends}
    assert len(seen) == len(backends)
    assert look.of("callbacks#2").colour == look.of("callbacks").colour


def test_memory_that_hardly_differs_stands_on_an_axis_from_zero() -> None:
    axes = Figure().subplots()
    memory_axis(axes, [21.5 * 2**20, 24.0 * 2**20])
    assert axes.get_yscale() == "linear"
    assert axes.get_ylim()[0] == 0
    memory_axis(axes, [21.5 * 2**20, 240.0 * 2**20])
    assert axes.get_yscale() == "log"


def test_spread_apart() -> None:
    assert spread_apart([10, 50], 20, 0, 100) == [10, 50]
    assert spread_apart([50, 50, 50], 20, 0, 100) == [30, 50, 70]
    placed = spread_apart([95, 96, 99], 20, 0, 100)
    assert placed == [60, 80, 100]
    assert all(b - a >= 20 - 1e-9 for a, b in itertools.pairwise(placed))


def test_number_words() -> None:
    assert [number(x) for x in (0, 0.05, 7.5, 320, 5000, 60_000, 1.2e6)] == [
        "0",
        "0.05",
        "7.5",
        "320",
        "5,000",
        "60k",
        "1.2M",
    ]
    assert [duration(x) for x in (0.0423, 1.84, 27.3, 582, 1310)] == [
        "42 µs",
        "1.8 ms",
        "27 ms",
        "580 ms",
        "1.3 s",
    ]
    assert size_words(8.86 * 1024, 2) == "8.9 KiB"
    assert size_words(547 * 1024**2) == "547 MiB"
    assert [times(x) for x in (0.661, 1.53, 6.09, 12.4)] == ["0.66", "1.53", "6.1", "12"]
    assert significant(0, 2) == "0"
