"""Service and response time of the same trials: coordinated omission made visible."""

from __future__ import annotations

from bench import stats
from bench.charts.facts import Facts
from bench.charts.open_loop import by_rate, highest_kept
from bench.charts.percentiles import curve, percentile_axis, time_axis
from bench.charts.style import Plan, Skip, Slide, count, duration

NAME = "omission"
TITLE = "Service time and response time of the same trials"
#: Panels on one slide.
MOST = 4


def plan(facts: Facts) -> Plan | Skip:
    """Two curves per backend at one rate: what a closed loop sees, and what a user would."""
    data = by_rate(facts)
    data = {
        label: {r: ts for r, ts in rates.items() if all(t.response_time for t in ts)}
        for label, rates in data.items()
    }
    data = {label: rates for label, rates in data.items() if rates}
    if not data:
        return Skip(NAME, TITLE, "no valid open-loop trial with response times")
    labels = list(data)[:MOST]
    common = set.intersection(*(set(data[x]) for x in labels))
    if not common:
        return Skip(NAME, TITLE, "no offered rate was measured for all backends")
    # The lowest rate that some backend no longer keeps up with shows the effect
    # without having been chosen for size; without one, the highest rate.
    past = [r for r in sorted(common) if any((highest_kept(data[x]) or 0.0) < r for x in labels)]
    rate = past[0] if past else max(common)
    pairs = {}
    for label in labels:
        service = curve(data[label][rate], lambda t: t.service_time)
        response = curve(data[label][rate], lambda t: t.response_time)
        if service and response:
            pairs[label] = (service, response)
    if not pairs:
        return Skip(NAME, TITLE, "too few samples for percentile curves")
    p99: dict[str, tuple[float, float]] = {}
    for label in pairs:
        mine = data[label][rate]
        p99[label] = (
            stats.merge_histograms(t.service_time.hdr for t in mine if t.service_time).at_ms(99),
            stats.merge_histograms(t.response_time.hdr for t in mine if t.response_time).at_ms(99),
        )
    worst = max(p99, key=lambda x: p99[x][1] / max(p99[x][0], 1e-9))
    finding = None
    apart = all(
        t.response_time.p99_ms > 1.5 * t.service_time.p99_ms
        for t in data[worst][rate]
        if t.response_time and t.service_time
    )
    if apart:
        finding = (
            f"The same {worst} trials: p99 is {duration(p99[worst][0])} by service time, "
            f"{duration(p99[worst][1])} by response time"
        )
    left_out = [x for x in data if x not in pairs]
    left = ", ".join(left_out) if len(left_out) < 6 else f"{len(left_out)} further backends"

    def draw(slide: Slide) -> None:
        many = len(pairs)
        columns = many if slide.look.wide or many < 2 else 2
        rows = -(-many // columns)
        panels = slide.panels(columns, rows, sharey=True, sharex=True)
        everything = [v for a, b in pairs.values() for c in (a, b) for v in c[1]]
        highest = max(
            100 * (1 - stats.MIN_BEYOND / c[5]) for a, b in pairs.values() for c in (a, b)
        )
        for axes, (label, (service, response)) in zip(panels, pairs.items(), strict=False):
            look = slide.look.of(label)
            axes.plot(
                service[0], service[1], color=look.colour, linewidth=2.4, linestyle=(0, (2, 1.4))
            )
            axes.plot(response[0], response[1], color=look.colour, linewidth=3.4)
            a = dict(zip(service[0], service[1], strict=False))
            common_x = [x for x in response[0] if x in a]
            axes.fill_between(
                common_x,
                [a[x] for x in common_x],
                [y for x, y in zip(response[0], response[1], strict=True) if x in a],
                color=look.colour,
                alpha=0.14,
                linewidth=0,
            )
            axes.set_title(label, fontweight="bold", fontsize=17)
            percentile_axis(axes, highest)
            axes.tick_params(axis="x", labelsize=12)
            time_axis(axes, everything, 0.12)
            for values, name, va, dy in (
                (response[1], "response", "bottom", 8),
                (service[1], "service", "top", -9),
            ):
                middle = len(values) // 2
                axes.annotate(
                    name,
                    (response[0][middle], values[middle]),
                    xytext=(0, dy),
                    textcoords="offset points",
                    ha="right" if name == "response" else "left",
                    va=va,
                    fontsize=13,
                    color=slide.palette.ink,
                )
        for spare in panels[many:]:
            spare.set_visible(False)

    alt = f"Percentile curves at {count(rate)} requests/s offered. " + "; ".join(
        f"{label}: p99 service {duration(s)}, response {duration(r)}"
        for label, (s, r) in p99.items()
    )
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=(
            f"{count(rate)} requests/s offered. Service time runs from the actual start, response "
            "time from the intended one"
        ),
        alt=alt + ".",
        draw=draw,
        notes=(
            "A closed loop can know the service time only: what it leaves out is coordinated "
            "omission.",
            *((f"Not drawn: {left}.",) if left_out else ()),
        ),
    )
