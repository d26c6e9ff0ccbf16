"""Charts of a campaign, drawn from its analysis alone.

Each module makes a :class:`~bench.report.charts.design.Design` (what the chart says and
how to draw it) or a :class:`~bench.report.charts.design.Skip` (why there is no chart).
This package draws the designs in the order of the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from bench import filesystem
from bench.analysis.analysis import Analysis
from bench.palette import Theme
from bench.questions import answers
from bench.report.charts import (
    bars,
    cpu,
    crossover,
    fairness,
    hockey_stick,
    interpreters,
    memory,
    memory_total,
    mixed,
    noise,
    omission,
    processors,
    rungs,
    segments,
    slots,
    summit,
    timeouts,
    tls_memory,
    validity,
)
from bench.report.charts.design import Chart, Design, Skip
from bench.report.charts.drawing import Sheet, draw_all, file_name, processes_for
from bench.report.charts.look import Format, Shape
from bench.show.figures import Figure
from bench.show.words import footer

Story = tuple[tuple[str, Callable[[Analysis], Design | Skip]], ...]

#: The charts in the order of the story.
CHARTS: Story = (
    ("segments", segments.design),
    ("throughput", slots.throughput),
    ("waiting", slots.waiting),
    ("cpu", cpu.design),
    ("memory", memory.design),
    ("memory-total", memory_total.design),
    ("ladder", rungs.ladder),
    ("ladder-threads", rungs.ladder_threads),
    ("ladder-async", rungs.ladder_async),
    ("ladder-loops", rungs.ladder_loops),
    ("ladder-stacks", rungs.ladder_stacks),
    ("summit", summit.design),
    ("hockey-stick", hockey_stick.design),
    ("omission", omission.design),
    ("fairness", fairness.design),
    ("noise", noise.design),
    ("validity", validity.design),
)

#: What TLS adds: after the memory on plain HTTP, in campaigns that measured it.
OVER_TLS: Story = (("tls-memory", tls_memory.design),)
AFTER: Final = "memory-total"

#: What work on some pages does to the others: after the open loop, where it was measured.
MIXED: Story = (("mixed", mixed.design),)
AFTER_OPEN_LOOP: Final = "omission"
AFTER_COSTS: Final = "cpu"

WITHOUT_TIMES: Final = frozenset(
    {"memory", "memory-total", "tls-memory", "summit", "noise", "processors"}
)
"""Charts that need no word about processors: their quantity, or they have words of their own."""

AFTER_SLOTS: Final = "fairness"

#: What a timeout costs: after fairness too, where a backend was measured with and without.
TIMEOUTS: Story = (("timeouts", timeouts.design),)

#: Where threads stop being fine, and many processors: after the map, where they were measured.
CROSSOVER: Story = (("crossover", crossover.design),)
PROCESSORS: Story = (("processors", processors.design),)
AFTER_MAP: Final = "fairness"

#: The charts of a campaign across interpreters; no others mix interpreters.
ACROSS: Story = (
    ("interpreters", interpreters.design),
    ("noise", noise.design),
)


def render_all(
    analysis: Analysis,
    outdir: Path,
    formats: Sequence[Format] = ("svg", "png"),
    themes: Sequence[Theme] = ("light",),
    shapes: Sequence[Shape] = ("wide",),
    only: Sequence[str] | None = None,
    further: Sequence[Design | Skip] = (),
    processes: int | None = None,
) -> list[Chart]:
    """Draw every chart that the records have data for, into ``outdir``.

    Returns one :class:`Chart` per chart in story order; one without data has ``skipped``
    set to the reason and no files. ``only`` names the charts to draw; ``further`` designs
    follow them. The same records give the same SVG and PNG, to the byte, whatever the
    number of ``processes`` (by default one per processor, where there is enough to draw).
    """
    filesystem.make_folder(outdir)
    story = [make for name, make in story_of(analysis) if only is None or name in only]
    if processes is None:
        processes = processes_for(len(story) + len(further))
    sheet = Sheet(outdir, analysis.backends, footer(analysis), formats, themes, shapes)
    designs = (placed(make(analysis), analysis) for make in story)
    return draw_all(sheet, chain(designs, further), processes)


def placed(design: Design | Skip, analysis: Analysis) -> Design | Skip:
    """The chart, with a note on how many processors threads had, if it shows their times."""
    if isinstance(design, Skip) or design.name in WITHOUT_TIMES or analysis.places is None:
        return design
    return replace(design, notes=(*design.notes, analysis.places.brief))


def story_of(analysis: Analysis) -> Story:
    """The charts that a campaign may have, in the order of the story."""
    if analysis.releases:
        return ACROSS
    story = CHARTS
    asked = tuple(
        (figure.name, partial(designed, figure))
        for _, answer in answers(analysis)
        for figure in answer.figures
    )
    story = after(AFTER_COSTS, asked, story)
    if analysis.timeouts:
        story = after(AFTER_SLOTS, TIMEOUTS, story)
    if analysis.mixed:
        story = after(AFTER_OPEN_LOOP, MIXED, story)
    if analysis.processors:
        story = after(AFTER_MAP, PROCESSORS, story)
    if analysis.crossover:
        story = after(AFTER_MAP, CROSSOVER, story)
    return after(AFTER, OVER_TLS, story) if analysis.measures_tls else story


def designed(figure: Figure, _: Analysis) -> Design:
    """How a question's figure is drawn."""
    return Design(
        figure.name,
        figure.title,
        figure.headline,
        figure.subtitle,
        figure.alt,
        partial(bars.draw, figure.data),
        figure.notes,
    )


def after(chart: str, further: Story, story: Story) -> Story:
    """The story with further charts after one of its own; as it is if that one is not told."""
    names = [name for name, _ in story]
    if chart not in names:
        return story
    place = names.index(chart) + 1
    return (*story[:place], *further, *story[place:])


__all__ = [
    "ACROSS",
    "CHARTS",
    "CROSSOVER",
    "MIXED",
    "OVER_TLS",
    "PROCESSORS",
    "TIMEOUTS",
    "Chart",
    "Design",
    "Sheet",
    "Skip",
    "file_name",
    "render_all",
]
