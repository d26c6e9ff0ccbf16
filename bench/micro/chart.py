"""The account as a chart: the parts of a page's processor time, and the remainder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes

from bench.micro.account import Account, MicroRecord
from bench.micro.operations import (
    EXCHANGE,
    FRONTIER,
    GROUPS,
    IN_TURN,
    KERNEL,
    LINKS,
    MEMORY,
    STREAMS,
    SWITCHING,
    WAKING,
)
from bench.palette import mix, readable
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design
from bench.report.charts.marks import bar_label, bar_rows
from bench.report.charts.slide import Slide
from bench.report.charts.words import commit_words, machine_words
from bench.text import duration, duration_tick

NAME = "micro"
TITLE = "What a page’s processor time is made of"
UNEXPLAINED = "not explained"
HATCH = "//"
HEIGHT = 0.58
MS = 1e3


def colours(slide: Slide) -> dict[str, str]:
    """A colour for each group: grey for what all models share, one hue for the kernel."""
    palette = slide.palette
    kernel = palette.variants[0]
    return {
        **{
            group: mix(palette.muted, palette.background, place * 0.22)
            for place, group in enumerate((LINKS, EXCHANGE, FRONTIER, IN_TURN))
        },
        KERNEL: kernel,
        MEMORY: mix(kernel, palette.background, 0.35),
        WAKING: mix(kernel, palette.background, 0.6),
        STREAMS: palette.models["callbacks"],
        SWITCHING: palette.models["threads"],
    }


def finding(made: Sequence[Account]) -> str | None:
    """How well the sums match the measurements, in a sentence; None without any."""
    shares = sorted(account.share for account in made if account.share is not None)
    if not shares:
        return None
    low, high = f"{shares[0]:.0%}", f"{shares[-1]:.0%}"
    explained = low if low == high else f"{low} to {high}"
    return f"Counted operations × their prices explain {explained} of a page’s processor time"


def design(record: MicroRecord, made: Sequence[Account]) -> Design:
    """Stacked bars, one per backend, with a tick at the measured time."""
    described = "; ".join(
        f"{account.backend} {duration(account.measured.median / MS, 3)} measured, "
        f"{account.share:.0%} explained"
        for account in made
        if account.measured is not None and account.share is not None
    )
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding(made),
        subtitle=(
            "Each part: how often the model performs an operation per page, times the "
            "operation’s price in a micro-benchmark"
        ),
        alt=f"Stacked bars of a page's processor time at {record.slots} slots: {described}.",
        draw=partial(_draw, made),
        notes=(
            "Tick: median of measured trials. Not explained: the model’s own code, and colder "
            "caches than in a micro-benchmark. A bar beyond its tick: parts cost less together.",
            f"{record.site}, {record.slots} slots, {record.blocks} blocks; prices are medians.",
        ),
    )


def _draw(made: Sequence[Account], slide: Slide) -> None:
    wide, shade = slide.look.wide, colours(slide)
    used = [group for group in GROUPS if any(group in account.groups for account in made)]
    entries = [(group, shade[group], "") for group in used]
    entries.append((UNEXPLAINED, slide.palette.muted, HATCH))
    slide.swatches(entries, columns=4 if wide else 3)
    axes = slide.panels()[0]
    ends = []
    for place, account in enumerate(made):
        left = 0.0
        for group, value in account.groups.items():
            axes.barh(place, value / MS, HEIGHT, left / MS, color=shade[group], zorder=2)
            left += value
        end = left
        words = f"sum {duration(left / MS, 3)}"
        if account.measured is not None and account.share is not None:
            measured = account.measured.median
            _measured(slide, axes, place, left / MS, measured / MS)
            end = max(measured, left)
            words = f"{duration(measured / MS, 3)}, {account.share:.0%} explained"
        ends.append(end / MS)
        bar_label(axes, words, end / MS, place, 16, bold=True)
    value_axis(axes, [max(ends) * (1.28 if wide else 1.6)], axis="x", words=duration_tick)
    bar_rows(slide, axes, [account.backend for account in made], 17)
    for label, account in zip(axes.get_yticklabels(), made, strict=True):
        colour = slide.look.of(account.backend).colour
        label.set_color(readable(colour, slide.palette.background))
    axes.set_xlabel("processor time of the crawler for one page")


def _measured(slide: Slide, axes: Axes, place: int, explained: float, measured: float) -> None:
    """A tick where the measurement is, and a hatched bar up to it."""
    if measured > explained:
        axes.barh(
            place,
            measured - explained,
            HEIGHT,
            explained,
            color=slide.palette.background,
            edgecolor=slide.palette.muted,
            hatch=HATCH,
            linewidth=1.0,
            zorder=2,
        )
    axes.plot(
        [measured] * 2,
        [place - 0.4, place + 0.4],
        color=slide.palette.ink,
        linewidth=3.5,
        zorder=5,
    )


def footer(record: MicroRecord) -> tuple[str, str]:
    """Where the numbers come from."""
    return (
        machine_words(record.environment, record.created),
        f"python -m bench micro · commit {commit_words(record.environment)} · seed {record.seed}",
    )
