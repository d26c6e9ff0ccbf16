"""Throughput against slots: the shared part of the throughput and the waiting chart."""

from __future__ import annotations

from bench import stats
from bench.charts.facts import Facts, point_words, ratio_words
from bench.charts.style import (
    EndLabel,
    Plan,
    Skip,
    Slide,
    count_axis,
    markers,
    number,
    range_bar,
    times,
    value_axis,
)


def plan_slots(facts: Facts, workload: str, title: str, what: str) -> Plan | Skip:
    """Pages per second against slots, one line per backend."""
    data = facts.by_size(workload, "slots")
    data = {
        label: {n: [t for t in ts if t.pages_per_s] for n, ts in sizes.items()}
        for label, sizes in data.items()
    }
    data = {label: {n: ts for n, ts in sizes.items() if ts} for label, sizes in data.items()}
    data = {label: sizes for label, sizes in data.items() if sizes}
    if not data:
        return Skip(workload, title, f"no valid trial of the {workload} workload")
    all_trials = [t for sizes in data.values() for ts in sizes.values() for t in ts]
    sizes = sorted({n for s in data.values() for n in s})
    hollow = any(
        stats.limiter_of(ts) == "server" for sizes_ in data.values() for ts in sizes_.values()
    )
    best = facts.strongest(stats.PAGES_PER_S, workload)
    finding = None
    notes = facts.silence(stats.PAGES_PER_S, workload)
    if best and best.ratio.value and best.ratio.low and best.ratio.high:
        at = point_words(next(t for t in all_trials if t.point == best.point))
        value = best.ratio.value
        if value > 1:
            least = "at least " if best.server_limited else ""
            finding = (
                f"{best.label} fetches {least}{times(value)}× as many pages per second as "
                f"{best.base} at {at}"
            )
        else:
            finding = (
                f"{best.label} fetches {times(value)}× the pages per second of {best.base} at {at}"
            )
        notes = (f"Ratio {ratio_words(best)}, paired within blocks.",)
    alt_parts = []
    for label, sizes_ in data.items():
        values = [
            f"{s.median:,.0f} at {n:,.0f}"
            for n, ts in sizes_.items()
            if (s := stats.spread(t.pages_per_s for t in ts))
        ]
        alt_parts.append(f"{label} {', '.join(values)}")
    alt = (
        f"Line chart: {what} against slots. Median pages per second: {'; '.join(alt_parts[:8])}"
        f"{' and more' if len(alt_parts) > 8 else ''}."
    )

    def draw(slide: Slide) -> None:
        names = list(data)
        size = slide.label_size(len(names))
        axes = slide.panels(right=slide.label_room(names, size))[0]
        count_axis(axes, sizes)
        everything: list[float] = []
        ends: list[EndLabel] = []
        middle = (len(names) - 1) / 2
        for place, (label, points) in enumerate(data.items()):
            look = slide.look.of(label)
            # A few pixels apart, so that bars at the same slots do not hide each other.
            shift = 10 ** ((place - middle) * min(0.014, 0.1 / max(1, len(names))))
            xs, ys, empty = [], [], []
            for slots, trials in points.items():
                spread = stats.spread(t.pages_per_s for t in trials)
                if spread is None:
                    continue
                xs.append(slots * shift)
                ys.append(spread.median)
                empty.append(stats.limiter_of(trials) == "server")
                everything += [spread.low, spread.high]
                if spread.count > 1:
                    range_bar(axes, look, slots * shift, spread)
            axes.plot(xs, ys, color=look.colour, linewidth=look.width, zorder=look.order)
            markers(axes, look, xs, ys, empty, slide.palette.background)
            ends.append(EndLabel(label, xs[-1], ys[-1], look.colour, look.width > 2))
        value_axis(axes, everything)
        low, high = min(sizes), max(sizes)
        axes.set_xlim(low / 1.25, high * 1.12 if high > low else high * 1.6)
        axes.set_xlabel("slots (one connection, one request in flight each)")
        axes.set_title("pages per second", color=slide.palette.muted)
        slide.label_ends(axes, ends, size)

    return Plan(
        name=workload,
        title=title,
        finding=finding,
        subtitle=f"{what}; {facts.spread_words(all_trials)}",
        alt=alt,
        draw=draw,
        notes=notes,
        hollow=hollow,
    )


__all__ = ["number", "plan_slots"]
