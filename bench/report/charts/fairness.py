"""Completions per slot over time: is any slot left behind?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import least_served
from bench.analysis.wording import PLURALS, prose
from bench.report.charts.design import Design, Skip
from bench.report.charts.slide import Slide
from bench.schema import Fairness
from bench.show.words import described, listed, of_blocks, sentence
from bench.text import count, duration, listing

NAME = "fairness"
TITLE = "Completions per slot over time"
STARVED = 0.5
"""A slot with less than this share of the median slot's completions is starved."""


def design(analysis: Analysis) -> Design | Skip:
    """One panel per backend: median, middle 90 % and extremes of all slots, every block."""
    found: dict[str, list[Fairness]] = {}
    for trial in stats.trials_of(analysis.records, "fairness", twins=False):
        if trial.fairness:
            found.setdefault(trial.label, []).append(trial.fairness)
    runs = {label: found[label] for label in analysis.labels if label in found}
    if not runs:
        return Skip(NAME, TITLE, "no valid trial of the fairness workload")
    slots = next(iter(runs.values()))[0].slots
    blocks = of_blocks(len(mine) for mine in runs.values())
    return Design(
        name=NAME,
        title=TITLE,
        finding=_finding(runs, slots),
        subtitle=(
            f"{count(slots)} slots, no delay, {blocks} drawn over each other: median slot, "
            "middle 90 % (band), least and most served slot (lines)"
        ),
        alt="Line charts of completions per slot over time. "
        + described(analysis, {label: _words(mine) for label, mine in runs.items()}),
        draw=partial(_draw, runs),
        notes=(
            f"A slot is starved when it completes less than {STARVED:.0%} of what the median slot "
            "completes before the list of URLs runs out.",
            *listed(stats.trials_of(analysis.records, "fairness")),
        ),
    )


def _draw(runs: Mapping[str, Sequence[Fairness]], slide: Slide) -> None:
    columns = min(4 if slide.look.wide else 2, len(runs))
    rows = -(-len(runs) // columns)
    panels = slide.panels(columns, rows, sharex=True, sharey=True)
    for axes, (label, mine) in zip(panels, runs.items(), strict=False):
        _panel(slide, axes, label, mine)
    for axes in panels[len(runs) :]:
        axes.set_axis_off()
    panels[0].set_ylabel("completions ÷ median slot’s total")
    for axes in panels[(rows - 1) * columns :]:
        axes.set_xlabel("time, share of the crawl")


def _words(runs: Sequence[Fairness]) -> str:
    least = [least_served(run) for run in runs]
    gap = [run.longest_gap_s[-1] * 1000 for run in runs]
    return (
        f"least served slot {min(least):.0%} to {max(least):.0%} of the median, longest wait of "
        f"any slot {duration(min(gap))} to {duration(max(gap))}"
    )


def _panel(slide: Slide, axes: Axes, label: str, runs: Sequence[Fairness]) -> None:
    colour = slide.look.of(label).colour
    for run in runs:
        whole = run.completions[-1][len(run.quantiles) // 2] or 1.0
        x = [0.0, *(end / run.ends_s[-1] for end in run.ends_s)]
        least, low, middle, high, most = (
            [0.0, *(row[i] / whole for row in run.completions)] for i in range(len(run.quantiles))
        )
        axes.fill_between(x, low, high, color=colour, alpha=0.55 / len(runs), linewidth=0)
        axes.plot(x, middle, color=colour, linewidth=2.2)
        for edge in (least, most):
            axes.plot(x, edge, color=colour, linewidth=1.0, alpha=0.8)
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    percent = FuncFormatter(lambda v, _: f"{v:.0%}" if v else "0")
    axes.xaxis.set_major_formatter(percent)
    axes.set_xticks([0, 0.5, 1])
    axes.set_title(label, fontweight="bold", pad=54)
    least = [least_served(run) for run in runs]
    gaps = [run.longest_gap_s for run in runs]
    longest = sorted(gap[-1] for gap in gaps)[len(gaps) // 2]
    usual = sorted(gap[len(gap) // 2] for gap in gaps)[len(gaps) // 2]
    axes.annotate(
        f"least served slot {100 * min(least):.0f}–{max(least):.0%}\n"
        f"longest wait {duration(longest * 1000)}\n(median slot {duration(usual * 1000)})",
        (0, 1.02),
        xycoords="axes fraction",
        va="bottom",
        fontsize=11,
        color=slide.palette.muted,
    )


def _finding(found: Mapping[str, Sequence[Fairness]], slots: int) -> str | None:
    if min(len(runs) for runs in found.values()) < stats.MIN_BLOCKS:
        return None
    starving = {
        label: sum(least_served(run) < STARVED for run in runs) for label, runs in found.items()
    }
    always = [label for label, runs in found.items() if starving[label] == len(runs)]
    if always:
        verb = "starve" if len(always) > 1 or always[0] in PLURALS else "starves"
        who = listing([prose(label) for label in always])
        return sentence(f"{who} {verb} some of {count(slots)} slots in every block")
    if any(starving.values()):
        return None
    return f"No model starves any of {count(slots)} slots"
