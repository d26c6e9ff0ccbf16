"""The model's predictions against what was measured, as a chart of the campaign."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Final

from matplotlib.axes import Axes

from bench.capacity.validation import KINDS, MEDIAN, WORST, Check, Validation
from bench.report.charts.axes import ratio_axis, time_axis, value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.look import MODEL_MARKERS
from bench.report.charts.slide import Slide
from bench.text import MIB, listing, plural

NAME = "advice"
TITLE = "What the advice predicts, against what was measured"

LEAST = 1.4
"""The axis reaches this ratio at least, so that the bands are in it."""

PANELS: Final[Sequence[tuple[str, Collection[str]]]] = (
    ("pages per second", ("processor", "delay", "schedule")),
    ("time beside work", ("queue",)),
    ("memory", ("memory",)),
)
"""What is measured in the same unit has an axis of its own."""

TICKS = 7
FEW_TICKS = 4
"""Where panels stand one above the other, or memory has little room."""

MS = 1000.0
ROOM = 0.1
"""Of a time axis: space for the marks at its ends."""

TITLE_SIZE = 15.0
LABEL_SIZE = 13.0


def design(validation: Validation) -> Design | Skip:
    """Predicted over measured: rates in one panel, times and memory in others."""
    if not validation.checks:
        return Skip(NAME, TITLE, "no point that the model was not made from was measured")
    panels = [
        (title, found)
        for title, kinds in PANELS
        if (found := [c for c in validation.checks if c.kind in kinds])
    ]
    kept, out = validation.kept(), validation.left_out()
    finding = (
        f"{len(kept)} of {len(kept) + len(out)} predictions are within {100 * WORST:.0f} % of the"
        " measurement"
    )
    errors = [
        f"{what}: {100 * error:.1f} %"
        for kind, what in KINDS.items()
        if (error := validation.median_error(kind)) is not None
    ]
    left = (
        f"Crosses are left out of the advice: {listing([f'{c.label} at {c.point}' for c in out])}."
        if out
        else "No prediction is left out."
    )
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle="Predicted over measured, in regimes that the model was not made from; bands: "
        f"within {100 * MEDIAN:.0f} and {100 * WORST:.0f} %",
        alt=f"Scatter plots, predicted over measured. {finding}. Median errors: "
        f"{'; '.join(errors)}. {left}",
        draw=partial(_draw, panels),
        notes=(f"Median error, {'; '.join(errors)}.", left),
    )


def _draw(panels: Sequence[tuple[str, Sequence[Check]]], slide: Slide) -> None:
    models = [name for name in MODEL_MARKERS if any(c.label == name for _, f in panels for c in f)]
    if models:
        slide.key(models)
    palette = slide.palette
    beside = len(panels) if slide.look.wide else 1
    all_axes = slide.panels(beside, len(panels) // beside)
    for axes, (title, checks) in zip(all_axes, panels, strict=True):
        _panel(slide, axes, checks, TICKS if beside == len(panels) else FEW_TICKS)
        axes.set_title(
            f"{title} ({plural(len(checks), 'point')})", color=palette.muted, fontsize=TITLE_SIZE
        )
        axes.tick_params(labelsize=LABEL_SIZE)
    all_axes[len(panels) // 2 if beside > 1 else -1].set_xlabel("measured")


def _panel(slide: Slide, axes: Axes, checks: Sequence[Check], most: int) -> None:
    palette = slide.palette
    scale = MS if checks[0].kind == "queue" else 1.0
    measured = [scale * check.measured for check in checks]
    low, high = min(measured) / 1.4, max(measured) * 1.4
    for share, colour in ((WORST, palette.band), (MEDIAN, palette.grid)):
        axes.axhspan(1 - share, 1 + share, color=colour, linewidth=0, zorder=1)
    axes.axhline(1.0, color=palette.muted, linewidth=1.2, zorder=1.5)
    # The models lie on top of the others.
    for check in sorted(checks, key=lambda c: (not c.holds, c.label in MODEL_MARKERS)):
        look = slide.look.of(check.label)
        model = check.label in MODEL_MARKERS
        axes.plot(
            [scale * check.measured],
            [check.predicted / check.measured],
            linestyle="none",
            marker=look.marker if model and check.holds else "o" if check.holds else "X",
            markersize=9 if model or not check.holds else 6,
            color=look.colour if model else palette.muted,
            markeredgecolor=palette.background if check.holds else palette.alarm,
            markeredgewidth=0.8 if check.holds else 1.6,
            zorder=look.order if check.holds else 6,
        )
    if checks[0].kind == "memory":
        axes.set_xscale("log")
        steps = [m * 10.0**e * MIB for e in range(7) for m in (1, 3)]
        ticks = [step for step in steps if low <= step <= high]
        if len(ticks) >= FEW_TICKS and most == TICKS:
            ticks = ticks[::2]
        axes.set_xticks(ticks, [f"{step / MIB:,.0f} MiB" for step in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlim(low, high)
    elif checks[0].kind == "queue":
        time_axis(axes, measured, ROOM, axis="x")
    else:
        value_axis(axes, [low, high], axis="x", log_beyond=1.0)
        axes.set_xlim(low, high)
    ratios = [check.predicted / check.measured for check in checks]
    ratio_axis(axes, [min([*ratios, 1 / LEAST]) / 1.05, max([*ratios, LEAST]) * 1.05], most)
