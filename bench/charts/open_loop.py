"""Open loop: offered against achieved rate."""

from __future__ import annotations

from bench import stats
from bench.charts.facts import Facts, apart
from bench.charts.style import EndLabel, Plan, Skip, Slide, markers, number, range_bar, value_axis
from bench.schema import TrialRecord

NAME = "open-loop"
TITLE = "Open loop: achieved against offered rate"
#: Below this share of the offered rate a backend no longer keeps up.
KEEPS_UP = 0.98


def by_rate(facts: Facts) -> dict[str, dict[float, list[TrialRecord]]]:
    """label -> offered rate -> trials."""
    found = facts.by_size("openloop", "rate")
    if found:
        return found
    result: dict[str, dict[float, list[TrialRecord]]] = {}
    for trial in stats.trials_of(facts.records, "openloop", twins=False):
        if trial.offered_per_s:
            result.setdefault(trial.label, {}).setdefault(trial.offered_per_s, []).append(trial)
    return {label: dict(sorted(rates.items())) for label, rates in result.items()}


def highest_kept(rates: dict[float, list[TrialRecord]]) -> float | None:
    """The highest offered rate that every lower rate, too, was kept up with."""
    best = None
    for rate, trials in sorted(rates.items()):
        spread = stats.spread(t.achieved_per_s for t in trials)
        offered = stats.spread(t.offered_per_s or rate for t in trials)
        if spread is None or offered is None or spread.median < KEEPS_UP * offered.median:
            break
        best = rate
    return best


def plan(facts: Facts) -> Plan | Skip:
    """One line per backend; the diagonal is keeping up."""
    data = {
        label: {r: ts for r, ts in rates.items() if any(t.achieved_per_s for t in ts)}
        for label, rates in by_rate(facts).items()
    }
    data = {label: rates for label, rates in data.items() if rates}
    if not data:
        return Skip(NAME, TITLE, "no valid open-loop trial")
    kept = {label: highest_kept(rates) for label, rates in data.items()}
    known = {label: rate for label, rate in kept.items() if rate}
    finding = None
    if len(known) > 1 and max(known.values()) > min(known.values()):
        most, least = max(known, key=lambda k: known[k]), min(known, key=lambda k: known[k])
        at = known[most]
        ours, theirs = (
            stats.spread(t.achieved_per_s for t in data[x].get(at, [])) for x in (most, least)
        )
        if ours and theirs and apart(ours, theirs):
            finding = (
                f"{most} keeps up with {number(known[most])} requests/s, "
                f"{least} with {number(known[least])}"
            )
    trials = [t for rates in data.values() for ts in rates.values() for t in ts]
    hollow = any(stats.limiter_of(ts) == "server" for r in data.values() for ts in r.values())

    def draw(slide: Slide) -> None:
        names = list(data)
        size = slide.label_size(len(names))
        axes = slide.panels(right=slide.label_room(names, size))[0]
        rates = sorted({r for rs in data.values() for r in rs})
        axes.plot(
            [0, max(rates)],
            [0, max(rates)],
            color=slide.palette.muted,
            linewidth=1.4,
            linestyle=(0, (4, 3)),
            zorder=1,
        )
        ends: list[EndLabel] = []
        everything: list[float] = [max(rates)]
        for label, points in data.items():
            look = slide.look.of(label)
            xs, ys, empty = [], [], []
            for rate, mine in points.items():
                found = stats.spread(t.achieved_per_s for t in mine)
                if found is None:
                    continue
                xs.append(rate)
                ys.append(found.median)
                empty.append(stats.limiter_of(mine) == "server")
                everything.append(found.high)
                range_bar(axes, look, rate, found)
            axes.plot(xs, ys, color=look.colour, linewidth=look.width, zorder=look.order)
            markers(axes, look, xs, ys, empty, slide.palette.background, 9)
            ends.append(EndLabel(label, xs[-1], ys[-1], look.colour, look.width > 2))
        value_axis(axes, everything, log_beyond=1e9)
        value_axis(axes, [max(rates)], axis="x", log_beyond=1e9)
        axes.set_xlim(0, max(rates) * 1.02)
        axes.set_xlabel("offered: requests per second on the schedule")
        axes.set_title("achieved requests per second (dashed: keeps up)", color=slide.palette.muted)
        slide.label_ends(axes, ends, size)

    alt = "Line chart: achieved against offered rate. " + "; ".join(
        f"{label} keeps up to {number(rate)} requests/s" if rate else f"{label} never keeps up"
        for label, rate in list(kept.items())[:8]
    )
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=(f"Requests are due on a schedule whatever happens; {facts.spread_words(trials)}"),
        alt=alt + ".",
        draw=draw,
        notes=(f"Keeps up: achieves at least {100 * KEEPS_UP:.0f} % of what is offered.",),
        hollow=hollow,
    )
