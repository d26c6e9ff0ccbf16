"""Charts of a campaign, each drawn from its records alone.

One module per chart makes a :class:`~bench.charts.style.Plan` (what the chart
says) or a :class:`~bench.charts.style.Skip` (why there is none); this package
draws the plans in every theme, shape and format asked for, in the order of the
story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bench import across
from bench.charts import (
    cpu,
    fairness,
    hockey_stick,
    interpreters,
    ladder,
    ladder_async,
    ladder_stacks,
    memory,
    memory_total,
    noise,
    omission,
    open_loop,
    parity,
    ratios,
    regime,
    service_time,
    summit,
    throughput,
    waiting,
)
from bench.charts.facts import Facts
from bench.charts.style import Chart, Format, Look, Plan, Shape, Skip, Slide, Theme, style
from bench.stats import Records

#: The charts in the order of the story.
CHARTS: tuple[tuple[str, Callable[[Facts], Plan | Skip]], ...] = (
    ("throughput", throughput.plan),
    ("waiting", waiting.plan),
    ("ratios", ratios.plan),
    ("cpu", cpu.plan),
    ("memory", memory.plan),
    ("memory-total", memory_total.plan),
    ("ladder", ladder.plan),
    ("ladder-async", ladder_async.plan),
    ("ladder-stacks", ladder_stacks.plan),
    ("summit", summit.plan),
    ("open-loop", open_loop.plan),
    ("hockey-stick", hockey_stick.plan),
    ("service-time", service_time.plan),
    ("omission", omission.plan),
    ("fairness", fairness.plan),
    ("regime", regime.plan),
    ("noise", noise.plan),
    ("parity", parity.plan),
)


#: The charts of a campaign across interpreters. No other mixes interpreters.
ACROSS: tuple[tuple[str, Callable[[Facts], Plan | Skip]], ...] = (
    ("interpreters", interpreters.plan),
    ("noise", noise.plan),
)


def file_name(name: str, kind: str, theme: str, shape: str) -> str:
    """``throughput.svg``, ``throughput-dark.svg``, ``throughput-square-dark.png``."""
    parts = [name]
    if shape != "wide":
        parts.append(shape)
    if theme != "light":
        parts.append(theme)
    return f"{'-'.join(parts)}.{kind}"


def render_all(
    records: Records,
    outdir: Path,
    formats: Sequence[Format] = ("svg", "png"),
    themes: Sequence[Theme] = ("light",),
    shapes: Sequence[Shape] = ("wide",),
    only: Sequence[str] | None = None,
    further: Sequence[Plan | Skip] = (),
) -> list[Chart]:
    """Draw every chart that the records have data for, into ``outdir``.

    Returns one :class:`Chart` per chart in story order; one without data is
    returned with ``skipped`` set to the reason and no files. ``only`` limits it
    to the named charts; ``further`` ones, planned elsewhere, come last. The same
    records give the same SVG and PNG, to the byte.
    """
    outdir.mkdir(parents=True, exist_ok=True)
    facts = Facts(records)
    story = ACROSS if across.interpreters(records) else CHARTS
    plans = [make(facts) for name, make in story if only is None or name in only]
    charts: list[Chart] = []
    for plan in [*plans, *further]:
        if isinstance(plan, Skip):
            charts.append(Chart(plan.name, (), plan.title, "", None, skipped=plan.reason))
            continue
        files = draw(plan, outdir, facts.backends, facts.footer, formats, themes, shapes)
        charts.append(
            Chart(
                plan.name,
                tuple(files.values()),
                plan.finding or plan.title,
                plan.alt,
                plan.finding,
                plan.notes,
                None,
                files,
            )
        )
    return charts


def draw(
    plan: Plan,
    outdir: Path,
    backends: Sequence[str],
    footer: Sequence[str],
    formats: Sequence[Format] = ("svg", "png"),
    themes: Sequence[Theme] = ("light",),
    shapes: Sequence[Shape] = ("wide",),
) -> dict[str, Path]:
    """Draw one plan into ``outdir``; returns its files by format, theme and shape.

    ``backends``, in order, decide on the colours. The words for those who do not
    see it lie beside it, in a text file.
    """
    (outdir / f"{plan.name}.txt").write_text(f"{plan.alt}\n")
    files: dict[str, Path] = {}
    for theme in themes:
        for shape in shapes:
            look = Look(theme, shape, backends)
            with style(look):
                slide = Slide(look, plan, footer)
                plan.draw(slide)
                for kind in formats:
                    path = outdir / file_name(plan.name, kind, theme, shape)
                    slide.save(path, kind)
                    files[f"{kind}/{theme}/{shape}"] = path
    return files


__all__ = ["CHARTS", "Chart", "Facts", "Plan", "Skip", "draw", "file_name", "render_all"]
