"""The account as a chart: the parts of a page's processor time, and the rest."""

from __future__ import annotations

from collections.abc import Sequence

from bench.charts.style import (
    Plan,
    Slide,
    duration,
    duration_tick,
    mix,
    readable,
    shorten,
    swatches,
    value_axis,
)
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

NAME = "micro"
TITLE = "What a page’s processor time is made of"
UNEXPLAINED = "not explained"
HATCH = "//"
HEIGHT = 0.58
MS = 1e3


def colours(slide: Slide) -> dict[str, str]:
    """A colour for each group: what all models share is grey, the kernel's is one hue."""
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
    """How well the sums meet the measurement, in a sentence; None without any to compare."""
    shares = sorted(account.share for account in made if account.share is not None)
    if not shares:
        return None
    low, high = f"{shares[0]:.0%}", f"{shares[-1]:.0%}"
    said = low if low == high else f"{low} to {high}"
    return f"Price × number of the operations gives {said} of a page’s processor time"


def plan(record: MicroRecord, made: Sequence[Account]) -> Plan:
    """Stacked bars, one for each backend; a tick where the measurement is."""

    def draw(slide: Slide) -> None:
        axes = slide.panels()[0]
        shade = colours(slide)
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
                if measured > left:
                    axes.barh(
                        place,
                        (measured - left) / MS,
                        HEIGHT,
                        left / MS,
                        color=slide.palette.background,
                        edgecolor=slide.palette.muted,
                        hatch=HATCH,
                        linewidth=1.0,
                        zorder=2,
                    )
                axes.plot(
                    [measured / MS] * 2,
                    [place - 0.4, place + 0.4],
                    color=slide.palette.ink,
                    linewidth=3.5,
                    zorder=5,
                )
                end = max(measured, left)
                words = f"{duration(measured / MS, 3)}, {account.share:.0%} explained"
            ends.append(end / MS)
            axes.annotate(
                words,
                (end / MS, place),
                xytext=(12, 0),
                textcoords="offset points",
                va="center",
                fontsize=16,
                fontweight="bold",
            )
        value_axis(
            axes, [max(ends) * (1.28 if slide.look.wide else 1.6)], axis="x", words=duration_tick
        )
        axes.set_yticks(range(len(made)), [account.backend for account in made])
        axes.tick_params(axis="y", labelsize=17)
        for label, account in zip(axes.get_yticklabels(), made, strict=True):
            colour = slide.look.of(account.backend).colour
            label.set_color(readable(colour, slide.palette.background))
        axes.set_ylim(len(made) - 0.45, -0.55)
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        axes.spines["bottom"].set_visible(False)
        axes.set_xlabel("processor time of the crawler for one page")
        used = [group for group in GROUPS if any(group in account.groups for account in made)]
        entries = [(group, shade[group], "") for group in used]
        entries.append((UNEXPLAINED, slide.palette.muted, HATCH))
        swatches(slide, axes, entries, columns=4 if slide.look.wide else 3)

    described = "; ".join(
        f"{account.backend} {duration(account.measured.median / MS, 3)} measured, "
        f"{account.share:.0%} explained"
        for account in made
        if account.measured is not None and account.share is not None
    )
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding(made),
        subtitle=(
            "Each part is how often the model does it for a page, counted, times what it costs "
            "alone, micro-benchmarked"
        ),
        alt=f"Stacked bars of a page's processor time at {record.slots} slots: {described}.",
        draw=draw,
        notes=(
            "Tick: measured in trials (median). Not explained: the model’s own code, and caches "
            "colder than in a micro-benchmark. Bar beyond its tick: the parts cost less together.",
            f"{record.site}, {record.slots} slots, {record.blocks} blocks; prices are medians.",
        ),
    )


def footer(record: MicroRecord) -> tuple[str, str]:
    """Where the numbers come from."""
    machine = record.environment
    commit = (machine.commit or "unknown")[:10] + ("+dirty" if machine.dirty else "")
    return (
        f"{shorten(machine.cpu_model or machine.machine, 48)} · {machine.cpu_count} cores · "
        f"{machine.os}, {machine.kernel} · {machine.python} · {record.created[:10]}",
        f"python -m bench micro · commit {commit} · seed {record.seed}",
    )
