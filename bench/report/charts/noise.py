"""One backend against itself: the noise floor, and what a naive harness would have claimed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes

from bench.analysis import naive, stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Comparison, Metric, Way
from bench.analysis.wording import PLURALS, prose
from bench.plan.labels import Label, twin_of
from bench.report.charts.design import Design, Skip
from bench.report.charts.slide import Slide
from bench.show.words import sentence
from bench.text import capital, plural

NAME = "noise"
TITLE = "One backend against itself (A/A): the noise floor"
MOST_BEYOND = 1.5
"""A naive ratio may stretch the axis by so much; farther out it stands at the edge."""
BESIDE = (stats.CPU_PER_1000, stats.PAGES_PER_S)
"""The metrics that turns and whole trials have in common."""
SHORT = {
    "pages_per_s": "pages/s",
    "cpu_ms_per_1000": "CPU",
    "service_p50_ms": "p50",
    "service_p99_ms": "p99",
    "user_per_connection": "memory",
}
"""The metrics' names on the axis."""
EXPECTED = 5
"""Per cent of comparisons that a 95 % interval gets wrong by chance."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One A/A ratio, with its interval if it has one."""

    backend: str
    value: float
    low: float | None
    high: float | None
    alarm: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The A/A ratios by one metric in one way of measuring, and their noise floor.

    The floor is a log ratio. ``name`` says what was measured, and how if there are more ways.
    """

    name: str
    floor: float | None
    marks: Sequence[Mark]


@dataclass(frozen=True, slots=True)
class Bar:
    """How many of its comparisons one rule got wrong."""

    rule: str
    wrong: int
    tested: int
    ours: bool

    @property
    def share(self) -> float:
        """Per cent."""
        return 100 * self.wrong / self.tested


def design(analysis: Analysis) -> Design | Skip:
    """All A/A ratios with intervals, and the false claims of two naive rules beside ours."""
    aa, naively = analysis.aa, analysis.naive
    drawn = [c for c in aa.comparisons if c.ratio.value is not None]
    if not drawn:
        return Skip(NAME, TITLE, "the campaign holds no A/A pair")
    backends = list(dict.fromkeys(c.base for c in drawn))
    beside = {"turns", "whole"} <= {aa.ways[c.point] for c in drawn}
    groups = _beside(analysis, drawn) if beside else _groups(analysis, drawn)
    bars = _bars(analysis, beside)
    floor = analysis.floor()
    notes = [floor.brief]
    if beside:
        notes.append(f"All of the campaign, by every metric: {aa.words[0].lower()}{aa.words[1:]}")
    notes += aa.accounting[:1]
    if analysis.balance and not analysis.balance.balanced:
        notes.append(analysis.balance.words)
    return Design(
        name=NAME,
        title=TITLE,
        finding=_finding(backends, bars),
        subtitle=(
            "The same code under two labels: any difference found here is a false alarm. Grey: "
            "noise floor; bars: 95 % intervals"
            + (". Naive: means of three whole trials" if beside else "")
        ),
        alt=f"{aa.words} {naively.words} {floor.words}",
        draw=partial(_draw, backends, groups, bars),
        notes=tuple(notes),
    )


def _groups(analysis: Analysis, drawn: Sequence[Comparison]) -> list[Group]:
    """The comparisons by metric, one group for each way of measuring."""
    ways = analysis.aa.ways
    several = len({ways[c.point] for c in drawn}) > 1
    groups = []
    for metric in stats.METRICS:
        for way in stats.WAYS:
            name = SHORT.get(metric.name, metric.name) + (f"\n{way}" if several else "")
            found = [c for c in drawn if c.metric.name == metric.name and ways[c.point] == way]
            groups += _group(analysis, name, metric, way, found)
    return groups


def _group(
    analysis: Analysis, name: str, metric: Metric, way: Way, found: Sequence[Comparison]
) -> list[Group]:
    if not found:
        return []
    floor = stats.aa_noise_floor(analysis.records, metric, way).log
    marks = [
        Mark(c.base, c.ratio.value or 1.0, c.ratio.low, c.ratio.high, c.ratio.shown) for c in found
    ]
    return [Group(name, floor, marks)]


def _beside(analysis: Analysis, drawn: Sequence[Comparison]) -> list[Group]:
    """Naive, whole trials and turns side by side: the same crawls in the same minutes."""
    ways = analysis.aa.ways
    whole = [point for point, way in ways.items() if way == "whole"]
    groups = []
    for metric in BESIDE:
        short = SHORT[metric.name]
        claims = analysis.naive.of(whole, [metric]).claims
        if claims:
            marks = [
                Mark(
                    Label.parse(c.first).backend, c.ratio, None, None, c.by_threshold or c.by_ranges
                )
                for c in claims
            ]
            groups.append(Group(f"{short}\nnaive", None, marks))
        for way in ("whole", "turns"):
            found = [c for c in drawn if c.metric.name == metric.name and ways[c.point] == way]
            groups += _group(analysis, f"{short}\n{way}", metric, way, found)
    return groups


def _bars(analysis: Analysis, beside: bool) -> list[Bar]:
    """What each rule gets wrong: of what is drawn side by side, or of everything."""
    aa, naively = analysis.aa, analysis.naive
    ours: list[tuple[str, tuple[int, int]]] = [("this suite", (aa.alarms, aa.tested))]
    if beside:
        whole = [point for point, way in aa.ways.items() if way == "whole"]
        naively = naively.of(whole, BESIDE)
        ours = [
            ("this suite, whole trials", aa.of("whole", metrics=BESIDE)),
            ("this suite, turns", aa.of("turns", metrics=BESIDE)),
        ]
    bars: list[Bar] = []
    if naively.tested:
        threshold = f"naive: means differ by more than {100 * naive.THRESHOLD:.0f} %"
        ranges = "naive: ranges of three do not overlap"
        bars.append(Bar(threshold, naively.by_threshold, naively.tested, ours=False))
        bars.append(Bar(ranges, naively.by_ranges, naively.tested, ours=False))
    bars += [Bar(rule, wrong, tested, ours=True) for rule, (wrong, tested) in ours if tested]
    return bars


def _finding(backends: Sequence[str], bars: Sequence[Bar]) -> str | None:
    if not bars or not bars[-1].ours:
        return None
    ours = bars[-1]
    worst = max(bars, key=lambda bar: bar.share)
    backend = prose(backends[0]) if len(backends) == 1 else "a backend"
    itself = "themselves" if backend in PLURALS else "itself"
    if worst.share > ours.share:
        return (
            f"A naive benchmark finds {backend} to differ from {itself} in {worst.wrong} of "
            f"{worst.tested} comparisons, {ours.rule.replace(',', ' in')} in {ours.wrong} of "
            f"{ours.tested}"
        )
    alarms = plural(ours.wrong, "false alarm")
    text = sentence(f"{backend} against {itself}: {alarms} in {ours.tested} comparisons")
    return capital(text)


def _draw(
    backends: Sequence[str], groups: Sequence[Group], bars: Sequence[Bar], slide: Slide
) -> None:
    if not bars:
        panels = slide.panels()
    elif slide.look.wide:
        panels = slide.panels(2, widths=[1.65, 1.0])
    else:
        panels = slide.panels(1, 2, heights=[1.5, 1.0])
    _pairs(slide, panels[0], backends, groups)
    if bars:
        _false_claims(slide, panels[1], backends[0], bars)


def _pairs(slide: Slide, axes: Axes, backends: Sequence[str], groups: Sequence[Group]) -> None:
    """Each A/A ratio in per cent, grouped by metric and way of measuring."""
    palette = slide.palette
    start = 0.0
    # Room for the name of a group with few marks.
    least = 0.13 * sum(len(group.marks) for group in groups)
    ticks: list[float] = []
    without: list[tuple[float, float, str]] = []
    reach = 0.0
    beside = any(mark.low is not None for group in groups for mark in group.marks)
    for group in groups:
        room = max(0.0, least - len(group.marks))
        last = start + len(group.marks) - 1 + room
        if group.floor is not None:
            band = [100 * math.expm1(-group.floor), 100 * math.expm1(group.floor)]
            axes.fill_between(
                [start - 0.6, last + 0.6],
                [band[0]] * 2,
                [band[1]] * 2,
                color=palette.band,
                linewidth=0,
                zorder=0,
            )
            reach = max(reach, band[1])
        for place, mark in enumerate(group.marks):
            x = start + room / 2 + place
            look = slide.look.of(mark.backend)
            colour = palette.alarm if mark.alarm else look.colour
            value = 100 * (mark.value - 1)
            if mark.low is not None and mark.high is not None:
                ends = [100 * (mark.low - 1), 100 * (mark.high - 1)]
                axes.plot([x] * 2, ends, color=colour, linewidth=2.2, alpha=0.75, zorder=3)
                reach = max(reach, ends[1], -ends[0])
            if mark.low is not None or not beside:
                reach = max(reach, abs(value))
            else:
                without.append((x, value, colour))
                continue
            axes.plot([x], [value], look.marker, color=colour, markersize=6.5, zorder=4)
        ticks.append((start + last) / 2)
        if start:
            axes.axvline(start - 1, color=palette.grid, linewidth=1, zorder=0)
        start = last + 2
    if without:
        reach = max(reach, *(min(abs(value), MOST_BEYOND * reach) for _, value, _ in without))
    for x, value, colour in without:
        _naive(axes, x, value, reach, colour)
    axes.axhline(0, color=palette.muted, linewidth=1.2, zorder=1)
    axes.set_xticks(ticks, [group.name for group in groups])
    axes.tick_params(axis="x", labelcolor=palette.ink)
    axes.set_xlim(-1, start - 1)
    axes.set_ylim(-1.12 * reach - 0.1, 1.12 * reach + 0.1)
    axes.yaxis.set_major_formatter(lambda v, _: f"{v:+.3g} %" if abs(v) > 1e-9 else "0")
    alone = len(backends) == 1
    pair = f"{twin_of(backends[0])} over {backends[0]}" if alone else "second label over first"
    axes.set_title(f"{pair}, a marker per comparison", color=palette.muted)


def _naive(axes: Axes, x: float, value: float, reach: float, colour: str) -> None:
    """A ratio without an interval; one that is far off stands at the edge, with its value."""
    if abs(value) <= reach:
        axes.plot([x], [value], "X", color=colour, markersize=8, zorder=4)
        return
    edge = math.copysign(reach, value)
    axes.plot([x], [edge], "^" if value > 0 else "v", color=colour, markersize=9, zorder=4)
    axes.annotate(
        f"{value:+.0f} %",
        (x, edge),
        xytext=(0, -9 if value > 0 else 9),
        textcoords="offset points",
        ha="center",
        va="top" if value > 0 else "bottom",
        fontsize=11,
        color=colour,
    )


def _false_claims(slide: Slide, axes: Axes, backend: str, bars: Sequence[Bar]) -> None:
    palette = slide.palette
    box = {"facecolor": palette.background, "edgecolor": "none", "pad": 1.5}
    for place, bar in enumerate(bars):
        colour = slide.look.of(backend).colour if bar.ours else palette.alarm
        axes.barh(place, bar.share, height=0.42, color=colour, zorder=2)
        axes.annotate(
            bar.rule,
            (0, place - 0.27),
            xytext=(1, 3),
            textcoords="offset points",
            va="bottom",
            fontsize=14,
            color=palette.ink,
            zorder=6,
            bbox=box,
        )
        axes.annotate(
            f"{bar.wrong} of {bar.tested}",
            (bar.share, place),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=16,
            fontweight="bold",
            zorder=6,
            bbox=box,
        )
    axes.axvline(EXPECTED, color=palette.muted, linewidth=1.4, linestyle=(0, (4, 3)), zorder=3)
    axes.set_xlim(0, max([*(bar.share for bar in bars), 8.0]) * 1.38)
    axes.set_ylim(len(bars) - 0.6, -0.75)
    axes.set_yticks([])
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.spines["bottom"].set_visible(False)
    axes.xaxis.set_major_formatter(lambda v, _: f"{v:.0f} %")
    axes.set_title(f"false alarms (dashed: {EXPECTED} %)", color=palette.muted)
