"""One backend against itself: the noise floor, and what a naive harness would have claimed."""

from __future__ import annotations

import math

from bench import naive, stats
from bench.charts.facts import Facts
from bench.charts.style import Plan, Skip, Slide

NAME = "noise"
TITLE = "One backend against itself (A/A): the noise floor"


def plan(facts: Facts) -> Plan | Skip:
    """All A/A ratios with intervals, and the false claims of two naive rules beside ours."""
    aa = facts.aa
    drawn = [c for c in aa.comparisons if c.ratio.value is not None]
    if not drawn:
        return Skip(NAME, TITLE, "the campaign holds no A/A pair")
    naively = facts.naive
    floor = facts.floor(stats.PAGES_PER_S)
    backend = drawn[0].base
    worst = max(naively.by_ranges, naively.by_threshold)
    finding = None
    if aa.tested and naively.tested and worst / naively.tested > aa.alarms / aa.tested:
        finding = (
            f"Measured naively, {backend} “differs” from itself in {worst} of {naively.tested} "
            f"comparisons; here in {aa.alarms} of {aa.tested}"
        )
    elif aa.tested:
        finding = (
            f"{backend} against itself: {aa.alarms} false alarm{'s' if aa.alarms != 1 else ''} in "
            f"{aa.tested} comparisons"
        )
    metrics = [m for m in stats.METRICS if any(c.metric.name == m.name for c in drawn)]
    ordered = [c for m in metrics for c in drawn if c.metric.name == m.name]

    def draw(slide: Slide) -> None:
        p = slide.palette
        bars: list[tuple[str, int, int, str]] = []
        if naively.tested:
            bars += [
                (
                    f"naive: means differ\nby more than {100 * naive.THRESHOLD:.0f} %",
                    naively.by_threshold,
                    naively.tested,
                    p.alarm,
                ),
                (
                    "naive: ranges of three\ndo not overlap",
                    naively.by_ranges,
                    naively.tested,
                    p.alarm,
                ),
            ]
        if aa.tested:
            bars.append(("this suite", aa.alarms, aa.tested, slide.look.of(backend).colour))
        if slide.look.wide:
            panels = slide.panels(2 if bars else 1, widths=[1.65, 1.0] if bars else None)
        else:
            panels = slide.panels(1, 2 if bars else 1, heights=[1.5, 1.0] if bars else None)
        axes = panels[0]
        start = 0
        ticks: list[float] = []
        reach = 0.0
        for place, metric in enumerate(metrics):
            mine = [c for c in ordered if c.metric.name == metric.name]
            bar = stats.aa_noise_floor(facts.records, metric)
            if bar.log is not None:
                axes.fill_between(
                    [start - 0.6, start + len(mine) - 0.4],
                    [100 * math.expm1(-bar.log)] * 2,
                    [100 * math.expm1(bar.log)] * 2,
                    color=p.band,
                    linewidth=0,
                    zorder=0,
                )
                reach = max(reach, 100 * math.expm1(bar.log))
            for i, c in enumerate(mine):
                look, ratio = slide.look.of(c.base), c.ratio
                colour = p.alarm if ratio.shown else look.colour
                if ratio.low is not None and ratio.high is not None:
                    axes.plot(
                        [start + i] * 2,
                        [100 * (ratio.low - 1), 100 * (ratio.high - 1)],
                        color=colour,
                        linewidth=2.2,
                        alpha=0.75,
                        zorder=3,
                    )
                    reach = max(reach, 100 * (ratio.high - 1), 100 * (1 - ratio.low))
                value = 100 * ((ratio.value or 1.0) - 1)
                reach = max(reach, abs(value))
                axes.plot([start + i], [value], look.marker, color=colour, markersize=6.5, zorder=4)
            ticks.append(start + (len(mine) - 1) / 2)
            start += len(mine) + 1
            if place:
                axes.axvline(start - len(mine) - 2, color=p.grid, linewidth=1, zorder=0)
        axes.axhline(0, color=p.muted, linewidth=1.2, zorder=1)
        short = {
            "pages_per_s": "pages/s",
            "cpu_ms_per_1000": "CPU",
            "service_p50_ms": "p50",
            "service_p99_ms": "p99",
            "user_per_connection": "memory",
        }
        axes.set_xticks(ticks, [short.get(m.name, m.name) for m in metrics])
        axes.tick_params(axis="x", labelcolor=p.ink)
        axes.set_xlim(-1, start - 1)
        axes.set_ylim(-1.12 * reach - 0.1, 1.12 * reach + 0.1)
        axes.yaxis.set_major_formatter(lambda v, _: f"{v:+.3g} %" if abs(v) > 1e-9 else "0")
        axes.set_title(f"{backend}#2 over {backend}, one point each", color=p.muted)
        if not bars:
            return
        right = panels[1]
        shares = [100 * n / total for _, n, total, _ in bars]
        for place, ((name, wrong, total, colour), share) in enumerate(
            zip(bars, shares, strict=True)
        ):
            right.barh(place, share, height=0.42, color=colour, zorder=2)
            right.annotate(
                name.replace("\n", " "),
                (0, place - 0.27),
                xytext=(1, 3),
                textcoords="offset points",
                va="bottom",
                fontsize=14,
                color=p.ink,
                zorder=6,
                bbox={"facecolor": p.background, "edgecolor": "none", "pad": 1.5},
            )
            right.annotate(
                f"{wrong} of {total}",
                (share, place),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                fontsize=16,
                fontweight="bold",
                zorder=6,
                bbox={"facecolor": p.background, "edgecolor": "none", "pad": 1.5},
            )
        top = max([*shares, 8.0])
        right.axvline(5, color=p.muted, linewidth=1.4, linestyle=(0, (4, 3)), zorder=3)
        right.set_xlim(0, top * 1.38)
        right.set_ylim(len(bars) - 0.6, -0.75)
        right.set_yticks([])
        right.grid(axis="x")
        right.grid(visible=False, axis="y")
        right.spines["bottom"].set_visible(False)
        right.xaxis.set_major_formatter(lambda v, _: f"{v:.0f} %")
        right.set_title("false claims (dashed: 5 %)", color=p.muted)

    notes = [floor.words]
    balance = stats.position_balance(facts.records)
    if balance and not balance.balanced:
        notes.append(balance.words)
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=(
            "The same code under two labels: every difference claimed here is false. Grey: noise "
            "floor per metric; bars: 95 % intervals"
        ),
        alt=f"{aa.words} {naively.words} {floor.words}",
        draw=draw,
        notes=tuple(notes),
    )
