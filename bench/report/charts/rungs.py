"""The ladder in five charts: one change per rung, and its price in CPU and memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.ladder import STACK, Step
from bench.analysis.stats import Ratio, Spread
from bench.analysis.wording import TIMES_FROM, prose, says
from bench.report.charts.design import Design, Skip
from bench.report.charts.slide import Slide
from bench.schema import Rung
from bench.show.words import sentence
from bench.text import count, duration, listing, size_words, times
from crawlers.registry import MODELS

THREADS = "threads"
HAND_BUILT = ("callbacks", "generators")
"""Families: what waits in a thread or greenlet, and what has a loop that is built by hand."""
ASYNCIO = ("async", "loop_per_thread", "master_worker", "redis_queue")
"""How the names of backends begin that run on the loop of the standard library."""
BAR_SHARE = {"wide": 0.45, "square": 0.3}
"""How much of its panel the longest bar takes; figures and ratios stand right of it."""


def ladder(analysis: Analysis) -> Design | Skip:
    """The four models, and what is hand-built like the two in the middle."""
    return _design(
        analysis,
        "ladder",
        "From threads to coroutines, one change per rung",
        lambda rung: rung.family in HAND_BUILT or rung.name in MODELS,
    )


def ladder_threads(analysis: Analysis) -> Design | Skip:
    """Threads, their settings, and greenlets, which are written alike."""
    return _design(
        analysis,
        "ladder-threads",
        "Threads and greenlets, one change per rung",
        lambda rung: rung.family == THREADS,
    )


def ladder_async(analysis: Analysis) -> Design | Skip:
    """The ways to use the standard library's own loop."""
    return _design(
        analysis, "ladder-async", "The ways to use asyncio, one change per rung", _on_asyncio
    )


def ladder_loops(analysis: Analysis) -> Design | Skip:
    """Other loops and libraries with await, beside asyncio's."""
    return _design(
        analysis,
        "ladder-loops",
        "Other loops and libraries with await, one change per rung",
        lambda rung: (
            rung.family not in (THREADS, *HAND_BUILT, STACK)
            and (rung.name in MODELS or not _on_asyncio(rung))
        ),
    )


def _on_asyncio(rung: Rung) -> bool:
    return rung.family == "async" and rung.name.startswith(ASYNCIO)


def ladder_stacks(analysis: Analysis) -> Design | Skip:
    """Whole HTTP stacks, which are not models: they bring all that lies above the socket."""
    return _design(
        analysis,
        "ladder-stacks",
        "HTTP stacks, with their own parser, pool and everything above the socket",
        lambda rung: rung.family == STACK,
    )


def _design(
    analysis: Analysis, name: str, title: str, wanted: Callable[[Rung], bool]
) -> Design | Skip:
    """Bars of CPU per page and memory per connection, with the step to each rung."""
    found = analysis.ladder
    if found is None:
        return Skip(name, title, "the records do not say what each backend changes")
    steps = [step for step in found.steps if wanted(step.rung)]
    if len(steps) < 2:
        return Skip(name, title, "fewer than two of its backends were measured")
    floor = analysis.floor(stats.CPU_PER_1000).log
    return Design(
        name=name,
        title=title,
        finding=heading(steps),
        subtitle=(
            "Each rung and its ratio (×) to the rung that it changes, with 95 % intervals paired "
            "within blocks"
        ),
        alt=_alt(steps),
        draw=partial(_draw, steps, found.connections),
        notes=(
            *_bounded({s.rung.name: s.rung.most for s in steps if s.rung.most}),
            *(
                (
                    f"CPU differences within the noise floor of {stats.floor_words(floor)} are not "
                    "claimed. Memory has no A/A pair; its ratios are from 1,000 connections on.",
                )
                if floor
                else ()
            ),
            *_absent(found.missing),
        ),
    )


def _bounded(most: Mapping[str, int]) -> list[str]:
    words = listing([f"{who} at most {count(held)}" for who, held in most.items()])
    return [f"Connections that can be open: {words}."] if most else []


def _absent(missing: Mapping[str, str]) -> list[str]:
    words = "; ".join(f"{who} ({why})" for who, why in sorted(missing.items()))
    return [f"Not run: {words}."] if missing else []


def _draw(steps: Sequence[Step], connections: int | None, slide: Slide) -> None:
    wide = slide.look.wide
    text, cpu, memory = slide.panels(3, widths=[1.55 if wide else 1.1, 1.0, 1.0])
    size = slide.label_size(len(steps) * 2, 12.0 if wide else 11.0)
    held = "" if connections is None else f", {count(connections)} held"
    cpu.set_title("CPU per 1000 pages", fontsize=13)
    heading = f"memory per connection{held}"
    memory.set_title(heading.replace(", ", "\n"), fontsize=13)
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
        text.annotate(
            step.rung.name,
            (0, place),
            xycoords=("axes fraction", "data"),
            va="bottom",
            fontsize=size * 1.15,
            fontweight="bold" if step.rung.name in MODELS else "normal",
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
    """``×1.53 [1.48–1.55]``, or why there is no such claim."""
    if ratio is None or ratio.value is None:
        return ""
    if ratio.low is None or ratio.high is None:
        return f"×{ratio.value:.2f}, no interval"
    if not ratio.shown:
        return stats.UNDECIDED
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
    change = ratio_text(ratio)
    for text, shift, tone, weight in (
        (words(spread.median), 0.55 if change else 0.0, ink, "bold"),
        (change, -0.55, ink if ratio and ratio.shown else muted, "normal"),
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


def heading(steps: Sequence[Step]) -> str | None:
    """The largest change of CPU between two models, else between two rungs of this chart."""

    def size(step: Step) -> float:
        ratio = step.cpu_ratio
        return max(ratio.low or 0.0, 1 / ratio.high) if ratio and ratio.high else 0.0

    shown = [step for step in steps if step.cpu_ratio and step.cpu_ratio.shown]
    drawn = {step.rung.name for step in steps}
    inside = [step for step in shown if step.rung.against in drawn]
    models = [s for s in inside if s.rung.name in MODELS and s.rung.against in MODELS]
    best = max(models or inside or shown, key=size, default=None)
    if best is None or best.cpu_ratio is None:
        return None
    value = best.cpu_ratio.value or 1.0
    taken = says(best.rung.name, "take")
    against = prose(best.rung.against or "")
    if value >= TIMES_FROM:
        return sentence(f"{taken} {times(value)} times the CPU time per page of {against}")
    less = "more" if value > 1 else "less"
    change = f"{abs(100 * value - 100):.0f} % {less}"
    return sentence(f"{taken} {change} CPU time per page than {against}")


def _alt(steps: Sequence[Step]) -> str:
    parts = []
    for step in steps:
        cpu = _cpu_words(step.cpu.median) if step.cpu else "no CPU time"
        memory = size_words(step.memory.median) if step.memory else step.memory_missing
        against = f" ({ratio_text(step.cpu_ratio)} CPU)" if step.cpu_ratio else ""
        parts.append(f"{step.rung.name} {cpu}{against}, {memory}")
    return f"Bar chart: CPU per 1000 pages and memory per connection. {'; '.join(parts)}."
