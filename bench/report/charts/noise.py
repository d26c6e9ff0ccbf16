"""One backend against itself: the noise floor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Comparison, Metric, Way
from bench.analysis.wording import PLURALS, prose
from bench.plan.labels import twin_of
from bench.report.charts.design import Design, Skip
from bench.report.charts.slide import Slide
from bench.show.words import sentence
from bench.text import capital, plural

NAME = "noise"
TITLE = "One backend against itself (A/A): the noise floor"
SHORT = {
    "pages_per_s": "pages/s",
    "cpu_ms_per_1000": "CPU",
    "service_p50_ms": "p50",
    "service_p99_ms": "p99",
    "user_per_connection": "memory",
}
"""The metrics' names on the axis."""


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


def design(analysis: Analysis) -> Design | Skip:
    """All A/A ratios with their intervals."""
    aa = analysis.aa
    drawn = [c for c in aa.comparisons if c.ratio.value is not None]
    if not drawn:
        return Skip(NAME, TITLE, "the campaign holds no A/A pair")
    backends = list(dict.fromkeys(c.base for c in drawn))
    floor = analysis.floor()
    notes = [floor.brief, *aa.accounting[:1]]
    if analysis.balance and not analysis.balance.balanced:
        notes.append(analysis.balance.words)
    return Design(
        name=NAME,
        title=TITLE,
        finding=_finding(aa, backends),
        subtitle="The same code under two labels: any difference found here is a false alarm. "
        "Grey: noise floor; bars: 95 % intervals",
        alt=f"{aa.words} {floor.words}",
        draw=partial(_draw, backends, _groups(analysis, drawn)),
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


def _finding(aa: stats.AaResult, backends: Sequence[str]) -> str | None:
    if not aa.tested:
        return None
    what = f"{prose(backends[0])} against" if len(backends) == 1 else "a backend against"
    itself = "themselves" if len(backends) == 1 and backends[0] in PLURALS else "itself"
    alarms = plural(aa.alarms, "false alarm")
    return capital(sentence(f"{what} {itself}: {alarms} in {aa.tested} comparisons"))


def _draw(backends: Sequence[str], groups: Sequence[Group], slide: Slide) -> None:
    """Each A/A ratio in per cent, grouped by metric and way of measuring."""
    axes = slide.panels()[0]
    palette = slide.palette
    start = 0.0
    # Room for the name of a group with few marks.
    least = 0.13 * sum(len(group.marks) for group in groups)
    ticks: list[float] = []
    reach = 0.0
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
            reach = max(reach, abs(value))
            axes.plot([x], [value], look.marker, color=colour, markersize=6.5, zorder=4)
        ticks.append((start + last) / 2)
        if start:
            axes.axvline(start - 1, color=palette.grid, linewidth=1, zorder=0)
        start = last + 2
    axes.axhline(0, color=palette.muted, linewidth=1.2, zorder=1)
    axes.set_xticks(ticks, [group.name for group in groups])
    axes.tick_params(axis="x", labelcolor=palette.ink)
    axes.set_xlim(-1, start - 1)
    axes.set_ylim(-1.12 * reach - 0.1, 1.12 * reach + 0.1)
    axes.yaxis.set_major_formatter(lambda v, _: f"{v:+.3g} %" if abs(v) > 1e-9 else "0")
    alone = len(backends) == 1
    pair = f"{twin_of(backends[0])} over {backends[0]}" if alone else "second label over first"
    axes.set_title(f"{pair}, a marker per comparison", color=palette.muted)
