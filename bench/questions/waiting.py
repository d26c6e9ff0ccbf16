"""What does a slow server change?

A crawl by slots: without delay, and behind a delay of 50 ms. Behind a delay, slots ÷ delay is the
most that any model can fetch, and few slots fetch it with every model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import PAGES_PER_S, Comparison
from bench.plan.workloads import mean_delay_s
from bench.questions.question import Answer, Headline, interval_of, stated, upright
from bench.schema import TrialRecord
from bench.show.figures import Axis, Figure, LinePoint, Lines, Plot, calculated
from bench.show.words import (
    basis,
    blocks_words,
    difference,
    leading,
    point_words,
    prose,
    says,
    silence,
)
from bench.text import count, plural
from crawlers.registry import MODELS

NAME: Final = "waiting"
ASKS: Final = "What does a slow server change?"
PROSE: Final = (
    "Where slots ÷ delay sets the rate, no model can be faster than another. The delay of a page "
    "is {delay}. To measure it: `python -m bench run --only waiting`."
)
WITHOUT, BEHIND = "throughput", "waiting"
FIGURES: Final = {
    WITHOUT: ("Throughput against slots", "Pages per second without a delay"),
    BEHIND: (
        "Throughput against slots when the server is slow",
        "Pages per second with a delay before every answer",
    ),
}
"""Workload, which names the figure too -> its title, and what is drawn."""
LITTLE: Final = "slots ÷ delay"
BySize = Mapping[str, Mapping[float, Sequence[TrialRecord]]]
"""Label -> slots -> its trials."""


def answer(analysis: Analysis) -> Answer | None:
    """The largest difference that is shown behind the delay; none where none is measured."""
    sizes = {workload: analysis.by_size(workload, "slots") for workload in FIGURES}
    lines = {workload: _lines(here) for workload, here in sizes.items()}
    if not any(lines.values()):
        return None
    behind = stats.trials_of(analysis.records, BEHIND, twins=False)
    head = _headline(analysis, behind) if behind else None
    alike = {BEHIND: head.text} if head and not head.pairs else {}
    return Answer(
        head,
        PROSE.format(delay=_delay(behind[0])) if behind else "",
        figures=[
            _figure(analysis, workload, here, alike.get(workload))
            for workload, here in lines.items()
            if here
        ],
        compared=analysis.compare(PAGES_PER_S),  # what the figures' headlines rest on
    )


def _headline(analysis: Analysis, behind: Sequence[TrialRecord]) -> Headline | None:
    """The largest difference that is shown between models: at 100 slots, or else anywhere."""
    where = f"With a delay of {_median_ms(behind[0])} ms"
    best = leading(analysis, PAGES_PER_S, BEHIND)
    if best is None:
        compared = [c for c in analysis.compare(PAGES_PER_S) if c.workload == BEHIND]
        if not any({c.label, c.base} <= {*MODELS} for c in compared):
            return None
        blocks = plural(len({trial.block for trial in behind}), "block")
        return Headline(f"{where}, no difference between models is shown", blocks)
    at = point_words(next(iter(analysis.at_point(best.point).values()))[0])
    more = f"{says(best.label, 'fetch')} {difference(best, 'pages per second', 'fewer')}"
    return Headline(f"{where}, {more} at {at}", basis(best), [best])


def _median_ms(trial: TrialRecord) -> str:
    return str(trial.params.get("delay")).split(":")[1]


def _delay(trial: TrialRecord) -> str:
    """``random, with a median of 50 ms and a mean of 57 ms``, from the records."""
    mean_ms = 1000 * mean_delay_s(str(trial.params.get("delay")))
    return f"random, with a median of {_median_ms(trial)} ms and a mean of {mean_ms:.0f} ms"


def _lines(sizes: BySize) -> dict[str, list[LinePoint]]:
    lines = {
        label: [
            LinePoint(slots, spread, stats.limiter_of(trials) == "server")
            for slots, trials in by_slots.items()
            if (spread := stats.spread(map(stats.pages_per_s, trials)))
        ]
        for label, by_slots in sizes.items()
    }
    return {label: points for label, points in lines.items() if points}


def _figure(
    analysis: Analysis,
    workload: str,
    lines: Mapping[str, Sequence[LinePoint]],
    alike: str | None,
) -> Figure:
    """``alike`` is the headline where no difference is shown."""
    title, what = FIGURES[workload]
    best = leading(analysis, PAGES_PER_S, workload)
    point = best.point if best else analysis.reference_point(workload) or ""
    trial = next(iter(analysis.at_point(point).values()))[0]
    slots, delay_s = stats.number_param(trial, "slots"), mean_delay_s(str(trial.params["delay"]))
    drawn = {x: p.y.value for x, line in lines.items() for p in line if p.x == slots}
    here = [c for c in analysis.compare(PAGES_PER_S) if c.point == trial.point]
    what += f" ({_delay(trial)})" if delay_s else ""
    verb = "crawl" if workload == WITHOUT else "fetch"
    head = stated(here, drawn, lambda compared: _rates(compared, verb, point_words(trial)))
    why = interval_of(head) if head else silence(analysis, PAGES_PER_S, workload)
    axis = Axis("slots (one connection and one request at a time each)", "counts")
    ends = sorted({point.x for line in lines.values() for point in line})
    most = {LITTLE: [calculated(n, n / delay_s) for n in ends]} if delay_s else {}
    plot = Plot(lines, axis, Axis("", "values"), "pages per second", dotted=most)
    return Figure(
        name=workload,
        title=title,
        headline=head.text if head else alike,
        subtitle=f"{what}; {blocks_words(point.y for line in lines.values() for point in line)}",
        data=Lines([plot], told=head is not None and slots == ends[-1]),
        notes=(
            *[f"Dotted: {LITTLE}, the most that anything can fetch."] * bool(most),
            *filter(None, [why]),
        ),
    )


def _rates(compared: Comparison, verb: str, where: str) -> str:
    """Both values, the larger first."""
    more = upright(compared)
    label, base = map(count, more.averages)
    subject = says(more.label, verb)
    return f"At {where} {subject} {label} pages/s and {prose(more.base)} {base} pages/s"
