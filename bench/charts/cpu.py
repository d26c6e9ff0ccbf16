"""CPU per 1000 pages, user and system: the cost that no faster server can hide."""

from __future__ import annotations

from bench import stats
from bench.charts.facts import Facts, point_words, ratio_words
from bench.charts.style import (
    Plan,
    Skip,
    Slide,
    duration,
    duration_tick,
    mix,
    swatches,
    times,
    value_axis,
)

NAME = "cpu"
TITLE = "CPU time of the crawler per 1000 pages"


def plan(facts: Facts) -> Plan | Skip:
    """Stacked bars, user and system, at the reference point."""
    point = facts.reference_point("throughput", "real", "waiting")
    rows: list[tuple[str, float, float, stats.Spread]] = []
    trials = facts.at_point(point) if point else {}
    for label, mine in trials.items():
        parts = [p for t in mine if (p := stats.cpu_ms_per_1000(t))]
        user = stats.spread(p[0] for p in parts)
        system = stats.spread(p[1] for p in parts)
        total = stats.spread(sum(p) for p in parts)
        if user and system and total:
            rows.append((label, user.median, system.median, total))
    if not rows or point is None:
        return Skip(NAME, TITLE, "no valid trial with CPU times")
    sample = next(iter(trials.values()))[0]
    at = point_words(sample)
    best = facts.strongest(stats.CPU_PER_1000, sample.workload, point)
    finding, notes = None, facts.silence(stats.CPU_PER_1000, sample.workload)
    if best and best.ratio.value:
        finding = (
            f"A page costs {best.label} {times(best.ratio.value)}× the CPU time "
            f"it costs {best.base}"
        )
        notes = (f"Ratio {ratio_words(best)}, paired within blocks.",)
    elif not notes and any(c.point == point for c in facts.compare(stats.CPU_PER_1000)):
        notes = ("No difference shown at this point.",)

    def draw(slide: Slide) -> None:
        axes = slide.panels()[0]
        size = min(16.0, slide.label_size(len(rows), 17.0))
        system_shade = slide.palette.background
        for place, (label, user, system, total) in enumerate(rows):
            look = slide.look.of(label)
            axes.barh(place, user, height=0.62, color=look.colour, zorder=2)
            axes.barh(
                place,
                system,
                left=user,
                height=0.62,
                color=mix(look.colour, system_shade, 0.45),
                zorder=2,
            )
            if total.count > 1:
                axes.plot(
                    [total.low, total.high],
                    [place, place],
                    color=slide.palette.ink,
                    linewidth=1.8,
                    zorder=5,
                )
                for end in (total.low, total.high):
                    axes.plot(
                        [end, end],
                        [place - 0.1, place + 0.1],
                        color=slide.palette.ink,
                        linewidth=1.8,
                        zorder=5,
                    )
            axes.annotate(
                duration(total.median, 3),
                (max(total.high, user + system), place),
                xytext=(10, 0),
                textcoords="offset points",
                va="center",
                fontsize=size,
                fontweight="bold",
            )
        value_axis(axes, [max(t.high for *_, t in rows) * 1.14], axis="x", words=duration_tick)
        axes.set_yticks(range(len(rows)), [r[0] for r in rows])
        axes.tick_params(axis="y", labelsize=size, labelcolor=slide.palette.ink)
        axes.set_ylim(len(rows) - 0.45, -0.55)
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        axes.spines["bottom"].set_visible(False)
        axes.set_xlabel("processor time of the crawler per 1000 pages")
        swatches(
            slide,
            axes,
            [
                ("user", slide.palette.muted, ""),
                (
                    "system (in the kernel)",
                    mix(slide.palette.muted, slide.palette.background, 0.55),
                    "",
                ),
            ],
        )

    alt = (
        f"Bar chart: client CPU time per 1000 pages at {at}, user plus system. "
        + "; ".join(
            f"{a} {duration(u, 3)} user, {duration(s, 3)} system" for a, u, s, _ in rows[:8]
        )
        + "."
    )
    all_trials = [t for ts in trials.values() for t in ts]
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=f"Workload {sample.workload}, {at}; {facts.spread_words(all_trials)}",
        alt=alt,
        draw=draw,
        notes=notes,
    )
