"""Open loop: response-time percentiles against the offered rate (the hockey stick)."""

from __future__ import annotations

from bench import stats
from bench.charts.facts import Facts, apart
from bench.charts.open_loop import by_rate
from bench.charts.percentiles import time_axis
from bench.charts.style import EndLabel, Plan, Skip, Slide, duration, markers, number, value_axis

NAME = "hockey-stick"
TITLE = "Open loop: response time against offered rate"
#: A p99 this many times that of the lowest rate is past the knee.
KNEE = 10.0


def plan(facts: Facts) -> Plan | Skip:
    """p99 (bold) and median (thin) of the response time, one pair of lines per backend."""
    p99: dict[str, dict[float, stats.Spread]] = {}
    p50: dict[str, dict[float, stats.Spread]] = {}
    trials = []
    for label, rates in by_rate(facts).items():
        for rate, mine in rates.items():
            latencies = [t.response_time for t in mine if t.response_time]
            enough = [x for x in latencies if x.count >= 100 * stats.MIN_BEYOND]
            high = stats.spread(x.p99_ms for x in enough)
            middle = stats.spread(x.p50_ms for x in enough)
            if high and middle:
                p99.setdefault(label, {})[rate] = high
                p50.setdefault(label, {})[rate] = middle
                trials += mine
    if not p99:
        return Skip(
            NAME, TITLE, f"no valid open-loop trial with {100 * stats.MIN_BEYOND:,} response times"
        )
    knees: dict[str, float | None] = {}
    for label, values in p99.items():
        first = next(iter(values.values())).median
        past = [r for r, s in values.items() if s.low > KNEE * first]
        knees[label] = past[0] if past else None
    bent = {label: rate for label, rate in knees.items() if rate}
    finding = None
    if bent and (len(bent) < len(p99) or max(bent.values()) > min(bent.values())):
        first_gone = min(bent, key=lambda k: bent[k])
        lasts = [label for label in p99 if knees[label] is None] or [
            max(bent, key=lambda k: bent[k])
        ]
        rate = bent[first_gone]
        last = p99[lasts[0]].get(rate)
        if last and apart(p99[first_gone][rate], last):
            finding = (
                f"At {number(rate)} requests/s the p99 of {first_gone} is "
                f"{duration(p99[first_gone][rate].median)}; of {lasts[0]}, "
                f"{duration(p99[lasts[0]][rate].median)}"
            )

    def draw(slide: Slide) -> None:
        names = list(p99)
        size = slide.label_size(len(names))
        axes = slide.panels(right=slide.label_room(names, size))[0]
        ends: list[EndLabel] = []
        everything: list[float] = []
        for label, points in p99.items():
            look = slide.look.of(label)
            xs, ys = list(points), [s.median for s in points.values()]
            axes.fill_between(
                xs,
                [s.low for s in points.values()],
                [s.high for s in points.values()],
                color=look.colour,
                alpha=0.18,
                linewidth=0,
            )
            axes.plot(xs, ys, color=look.colour, linewidth=look.width, zorder=look.order)
            middle = [s.median for s in p50[label].values()]
            axes.plot(xs, middle, color=look.colour, linewidth=1.4, linestyle=(0, (2, 2)), zorder=2)
            markers(axes, look, xs, ys, [False] * len(xs), slide.palette.background, 9)
            everything += [*middle, *(s.low for s in points.values())]
            everything += [s.high for s in points.values()]
            ends.append(EndLabel(label, xs[-1], ys[-1], look.colour, look.width > 2))
        value_axis(axes, [r for v in p99.values() for r in v], axis="x", log_beyond=1e9)
        axes.set_xlim(0, max(r for v in p99.values() for r in v) * 1.02)
        time_axis(axes, everything)
        axes.set_xlabel("offered: requests per second on the schedule")
        axes.set_title("response time: p99 solid, median dotted", color=slide.palette.muted)
        slide.label_ends(axes, ends, size)

    blocks = len({t.block for t in trials})
    alt = "Line chart: response time against offered rate. " + "; ".join(
        f"{label} p99 " + ", ".join(f"{duration(s.median)} at {number(r)}/s" for r, s in v.items())
        for label, v in list(p99.items())[:6]
    )
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=(
            "From the intended start to the last byte"
            + (f"; median of {blocks} blocks, shaded from lowest to highest" if blocks > 1 else "")
        ),
        alt=alt + ".",
        draw=draw,
    )
