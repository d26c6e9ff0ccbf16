"""Service-time percentiles per backend (closed loop: from actual start to last byte)."""

from __future__ import annotations

from bench import stats
from bench.charts.facts import Facts, point_words, ratio_words
from bench.charts.percentiles import curve, percentile_axis, position, time_axis
from bench.charts.style import EndLabel, Plan, Skip, Slide, duration, times

NAME = "service-time"
TITLE = "Service time by percentile"


def plan(facts: Facts) -> Plan | Skip:
    """One curve per backend, all trials merged, with the range of the single trials."""
    point = facts.reference_point("throughput", "real", "waiting")
    trials = facts.at_point(point) if point else {}
    curves = {
        label: found
        for label, mine in trials.items()
        if (found := curve(mine, lambda t: t.service_time))
    }
    if not curves or point is None:
        return Skip(NAME, TITLE, "no valid trial with a service-time histogram")
    sample = next(iter(trials.values()))[0]
    at = point_words(sample)
    finding: str | None = None
    notes: tuple[str, ...] = ()
    best = facts.strongest(stats.SERVICE_P99, sample.workload, point)
    if best and best.ratio.value:
        finding = (
            f"At {at} the p99 service time of {best.label} is {times(best.ratio.value)}× "
            f"that of {best.base}"
        )
        notes = (f"Ratio of p99: {ratio_words(best)}, paired within blocks.",)
    elif any(c.point == point for c in facts.compare(stats.SERVICE_P99)):
        notes = facts.silence(stats.SERVICE_P99, sample.workload) or (
            "No difference of the 99th percentile is shown.",
        )
    samples = [c[5] for c in curves.values()]
    highest = max(100 * (1 - stats.MIN_BEYOND / n) for n in samples)

    def draw(slide: Slide) -> None:
        names = list(curves)
        size = slide.label_size(len(names))
        axes = slide.panels(right=slide.label_room(names, size))[0]
        everything: list[float] = []
        ends: list[EndLabel] = []
        for label, (x, y, band, low, high, _) in curves.items():
            look = slide.look.of(label)
            axes.fill_between(band, low, high, color=look.colour, alpha=0.18, linewidth=0, zorder=2)
            axes.plot(x, y, color=look.colour, linewidth=look.width, zorder=look.order)
            nines = [m for m in (50.0, 90.0, 99.0, 99.9) if position(m) <= x[-1]]
            for mark in nines:
                near = [abs(at - position(mark)) for at in x]
                place = near.index(min(near))
                axes.plot(
                    [x[place]], [y[place]], look.marker, color=look.colour, markersize=9, zorder=6
                )
            everything += [*y, *low, *high]
            ends.append(EndLabel(label, x[-1], y[-1], look.colour, look.width > 2))
        percentile_axis(axes, highest)
        time_axis(axes, everything)
        axes.set_xlabel("percentile of pages")
        axes.set_title("service time (start of request to last byte)", color=slide.palette.muted)
        slide.label_ends(axes, ends, size)

    told: list[str] = []
    for label in list(curves)[:8]:
        merged = stats.merge_histograms(t.service_time.hdr for t in trials[label] if t.service_time)
        told.append(
            f"{label}: median {duration(merged.at_ms(50))}, p99 {duration(merged.at_ms(99))}"
        )
    alt = f"Percentile curves of service time at {at}. {'; '.join(told)}."
    blocks = len({t.block for ts in trials.values() for t in ts})
    shade = f"; shaded: range of the {blocks} blocks" if blocks > 1 else ""
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=(f"Closed loop, workload {sample.workload}, {at}{shade}"),
        alt=alt,
        draw=draw,
        notes=(*notes, f"Curves end where fewer than {stats.MIN_BEYOND} samples lie beyond."),
    )
