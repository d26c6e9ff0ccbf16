"""The ladder, rung by rung: the shared part of its three charts."""

from __future__ import annotations

import math
from collections.abc import Callable

from matplotlib.axes import Axes

from bench import stats
from bench.charts.facts import Facts
from bench.charts.style import Plan, Skip, Slide, duration, size_words, times
from bench.ladder import Ladder, Step
from bench.schema import Rung
from bench.stats import Ratio, Spread
from bench.workloads import MODELS

BAR_SHARE = {"wide": 0.45, "square": 0.3}
"""How much of its panel the longest bar takes; figures and ratios stand right of it."""


def plan_rungs(facts: Facts, name: str, title: str, wanted: Callable[[Rung], bool]) -> Plan | Skip:
    """Bars of CPU per page and memory per connection, with the step to each rung."""
    ladder = facts.ladder
    if ladder is None:
        return Skip(name, title, "the records do not say what each backend changes")
    steps = [step for step in ladder.steps if wanted(step.rung)]
    if len(steps) < 2:
        return Skip(name, title, "fewer than two of its backends were measured")
    bounded = {s.rung.name: s.rung.most for s in steps if s.rung.most}

    def draw(slide: Slide) -> None:
        wide = slide.look.wide
        text, cpu, memory = slide.panels(3, widths=[1.55 if wide else 1.1, 1.0, 1.0])
        size = slide.label_size(len(steps) * 2, 12.0 if wide else 11.0)
        held = "" if ladder.connections is None else f", {ladder.connections:,} held"
        cpu.set_title("CPU per 1000 pages", fontsize=13)
        heading = f"memory per connection{held}"
        memory.set_title(heading if wide else heading.replace(", ", "\n"), fontsize=13)
        for axes in (text, cpu, memory):
            axes.set_ylim(len(steps) - 0.5, -0.5)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.grid(visible=False)
            axes.spines["bottom"].set_visible(False)
        text.set_axis_off()
        slide.settle()
        room = text.get_window_extent().width
        for place, step in enumerate(steps):
            colour = slide.look.of(step.rung.name).colour
            weight = "bold" if step.rung.name in MODELS else "normal"
            text.annotate(
                step.rung.name,
                (0, place),
                xycoords=("axes fraction", "data"),
                va="bottom",
                fontsize=size * 1.15,
                fontweight=weight,
            )
            text.annotate(
                fitted(slide, step.rung.changes, size * 0.85, room),
                (0, place + 0.03),
                xycoords=("axes fraction", "data"),
                va="top",
                fontsize=size * 0.85,
                color=slide.palette.muted,
            )
            _bar(slide, cpu, place, step.cpu, step.cpu_ratio, colour, size, _cpu_words)
            _bar(
                *(slide, memory, place, step.memory, step.memory_ratio, colour, size, size_words),
                missing=step.memory_missing,
            )
        share = BAR_SHARE[slide.look.shape]
        for axes, spreads in ((cpu, [s.cpu for s in steps]), (memory, [s.memory for s in steps])):
            axes.set_xlim(0, max((s.high for s in spreads if s), default=1.0) / share)

    return Plan(
        name=name,
        title=title,
        finding=_finding(steps),
        subtitle=(
            "Each rung and its ratio (×) to the one that it says it changes, with 95 % intervals "
            "paired within blocks"
        ),
        alt=_alt(steps),
        draw=draw,
        notes=(
            *(f"{who} opens at most {most:,} connections." for who, most in bounded.items()),
            *_absent(ladder, facts),
        ),
    )


def fitted(slide: Slide, text: str, size: float, room: float) -> str:
    """The text, cut at a word where it is wider than ``room`` pixels."""
    words = text.split(" ")
    while len(words) > 1 and slide.text_width(text, size) > room:
        words.pop()
        text = " ".join(words).rstrip(",;:") + " …"
    return text


def _cpu_words(milliseconds: float) -> str:
    return duration(milliseconds, 3)


def ratio_text(ratio: Ratio | None) -> str:
    """``×1.53 [1.48–1.55]``; what the data do not show is said."""
    if ratio is None or ratio.value is None:
        return ""
    if ratio.low is None or ratio.high is None:
        return f"×{ratio.value:.2f}, no interval"
    if not ratio.shown:
        return stats.NO_DIFFERENCE
    return f"×{ratio.value:.2f} [{ratio.low:.2f}–{ratio.high:.2f}]"


def _bar(
    slide: Slide,
    axes: Axes,
    place: int,
    spread: Spread | None,
    ratio: Ratio | None,
    colour: str,
    size: float,
    words: Callable[[float], str],
    missing: str | None = None,
) -> None:
    """One bar with its range, its figure, and the ratio below it."""
    ink, muted = slide.palette.ink, slide.palette.muted
    if spread is None:
        axes.annotate(
            missing or "not measured", (0, place), va="center", fontsize=size, color=muted
        )
        return
    axes.barh(place, spread.median, height=0.62, color=colour, zorder=2)
    if spread.count > 1:
        axes.plot([spread.low, spread.high], [place, place], color=ink, linewidth=1.6, zorder=5)
    said = ratio_text(ratio)
    for text, shift, tone, weight in (
        (words(spread.median), 0.55 if said else 0.0, ink, "bold"),
        (said, -0.55, ink if ratio and ratio.shown else muted, "normal"),
    ):
        axes.annotate(
            text,
            (max(spread.high, spread.median), place),
            xytext=(8, shift * size * 1.15),
            textcoords="offset points",
            va="center",
            fontsize=size,
            fontweight=weight,
            color=tone,
        )


def _finding(steps: list[Step]) -> str | None:
    """The dearest step of the CPU that the data show."""
    shown = [
        (ratio, step.rung)
        for step in steps
        if (ratio := step.cpu_ratio) and ratio.shown and (ratio.low or 0) > 1
    ]
    if not shown:
        return None
    ratio, rung = max(shown, key=lambda pair: pair[0].low or 0)
    return f"{rung.name} takes {times(ratio.value or 1)}× the CPU of {rung.against}"


def _alt(steps: list[Step]) -> str:
    parts = []
    for step in steps:
        cpu = _cpu_words(step.cpu.median) if step.cpu else "no CPU time"
        memory = size_words(step.memory.median) if step.memory else step.memory_missing
        against = f" ({ratio_text(step.cpu_ratio)} CPU)" if step.cpu_ratio else ""
        parts.append(f"{step.rung.name} {cpu}{against}, {memory}")
    return f"Bar chart: CPU per 1000 pages and memory per connection. {'; '.join(parts)}."


def _absent(ladder: Ladder, facts: Facts) -> tuple[str, ...]:
    floor = facts.floor(stats.CPU_PER_1000)
    notes = []
    if floor.log and math.isfinite(floor.log):
        notes.append(
            f"CPU: differences within the noise floor of {stats.floor_words(floor.log)} are not "
            "called. Memory has no A/A pair; its ratios are over 1,000 connections and more."
        )
    notes += [f"Not run: {name} ({reason})." for name, reason in sorted(ladder.missing.items())]
    return tuple(notes)
