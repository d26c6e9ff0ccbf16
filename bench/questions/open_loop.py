"""What happens when requests come faster than they can be fetched?

Requests are due on a schedule whatever happens. A response time counts from the intended start, so
a request that had to wait for a slot has waited. A closed loop sees the service time alone, from
the actual start; what it misses is called coordinated omission.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.summary import SummaryRow
from bench.analysis.wording import prose
from bench.questions.question import Answer, Headline, of_models
from bench.schema import Latency, TrialRecord
from bench.show import cells
from bench.show.figures import Axis, Figure, Lines, Plot, Point
from bench.show.measured import MS, Blocks, Measure, Measured
from bench.show.table import MISSING, Column, Columns, name, tabled
from bench.show.words import blocks_words, listed
from bench.text import count, duration, number
from crawlers.registry import MODELS

NAME: Final = "open_loop"
ASKS: Final = "What happens when requests come faster than they can be fetched?"
WORKLOAD: Final = "openloop"
ENOUGH: Final = 100 * stats.MIN_BEYOND
"""Samples for a 99th percentile."""

KEEPS_UP: Final = 0.98
"""Below this share of the offered rate a backend no longer keeps up."""

CLEAR: Final = 1.5
"""A p99 of response times so many times that of service times shows the omission."""

PROSE: Final = (
    "Requests are due on a Poisson schedule, and a response time counts from the moment when the "
    "request was due.{omission} At low rates loops look slower than threads: they wait for a due "
    "time in whole milliseconds, so they send half a millisecond late. To measure it: `python -m "
    "bench run --profile full --only openloop`."
)

ByRate = Mapping[str, Mapping[float, Sequence[TrialRecord]]]
"""Label -> offered rate -> its trials."""


def by_rate(analysis: Analysis) -> ByRate:
    """The trials; records without the rate among their parameters have it measured."""
    if found := analysis.by_size(WORKLOAD, "rate"):
        return found
    result: dict[str, dict[float, list[TrialRecord]]] = {}
    for trial in stats.trials_of(analysis.records, WORKLOAD, twins=False):
        if trial.offered_per_s:
            result.setdefault(trial.label, {}).setdefault(trial.offered_per_s, []).append(trial)
    return {label: dict(sorted(rates.items())) for label, rates in result.items()}


def keeps_up(trials: Sequence[TrialRecord], rate: float) -> bool:
    """Whether so many requests were fetched as were offered."""
    achieved = stats.spread(t.achieved_per_s for t in trials)
    offered = stats.spread(t.offered_per_s or rate for t in trials)
    return bool(achieved and offered and achieved.median >= KEEPS_UP * offered.median)


def telling(data: ByRate, labels: Sequence[str]) -> float | None:
    """The lowest rate that some of these no longer keep up with, or the highest.

    It shows the effect without having been chosen for its size. None without a common rate.
    """
    common = set.intersection(*(set(data[label]) for label in labels)) if labels else set()
    past = [
        rate
        for rate in sorted(common)
        if any(not keeps_up(data[x][r], r) for x in labels for r in data[x] if r <= rate)
    ]
    return past[0] if past else max(common, default=None)


def key(part: str, rate: float) -> str:
    return f"{part}-{rate:g}"


def measured(data: ByRate) -> Measured:
    measures: dict[str, Measure] = {}
    for rate in sorted({rate for rates in data.values() for rate in rates}):
        at = f"at {count(rate)} requests/s"
        measures |= {
            key("p50", rate): Measure(f"p50 {at}", f"response time {at}, median", MS),
            key("p99", rate): Measure(f"p99 {at}", "… 99th percentile", MS),
            key("service", rate): Measure(f"service p99 {at}", "… of the service time alone", MS),
        }
    values: dict[str, dict[str, Blocks]] = {}
    for label, rates in data.items():
        mine = values.setdefault(label, {})
        for rate, trials in rates.items():
            response = {t.block: t.response_time for t in trials if t.response_time}
            service = {t.block: t.service_time for t in trials if t.service_time}
            mine[key("p50", rate)] = {block: time.p50_ms for block, time in response.items()}
            mine[key("p99", rate)] = _p99(response)
            mine[key("service", rate)] = _p99(service)
    return Measured(measures, values)


def _p99(times: Mapping[int, Latency]) -> Blocks:
    return {block: time.p99_ms for block, time in times.items() if time.count >= ENOUGH}


def answer(analysis: Analysis) -> Answer | None:
    data = by_rate(analysis)
    if not data:
        return None
    found = measured(data)
    models = [label for label in data if label in MODELS]
    rate = telling(data, models)
    at = f"At {count(rate)} requests/s the p99 is" if rate else ""
    head = of_models(found, key("p99", rate), at) if rate else None
    figure = hockey_stick(analysis, data, head)
    return Answer(
        found,
        head,
        PROSE.format(omission=omission(found, rate) if rate else ""),
        tables=[
            tabled(
                "Open loop: response time from the intended start",
                COLUMNS,
                [row for row in analysis.rows if row.workload == WORKLOAD],
            )
        ],
        figures=[figure] if figure else [],
        printed=True,
    )


COLUMNS: Final[Columns[SummaryRow]] = (
    (name("backend"), lambda row: row.label),
    (Column("offered/s"), lambda row: cells.figure(row.offered_per_s)),
    (Column("achieved/s, median [min–max]"), lambda row: cells.spread(row.achieved_per_s)),
    (Column("response p50 ms", drop=4), lambda row: cells.figure(row.response_p50_ms)),
    (Column("response p99 ms"), lambda row: cells.figure(row.response_p99_ms)),
    (Column("service p99 ms", drop=5), lambda row: cells.figure(row.service_p99_ms)),
    (
        Column("late starts", drop=6),
        lambda row: MISSING if row.late_starts is None else f"{row.late_starts:,}",
    ),
    (name("limiter"), lambda row: cells.limiter(row.limiter)),
)


def hockey_stick(analysis: Analysis, data: ByRate, head: Headline | None) -> Figure | None:
    p99 = {x: line for x, rates in data.items() if (line := _line(rates, lambda t: t.p99_ms))}
    p50 = {label: _line(data[label], lambda t: t.p50_ms) for label in p99}
    if not p99:
        return None
    plot = Plot(
        p99,
        Axis("offered: requests per second on the schedule", words=number),
        Axis("", "times"),
        "response time: p99 solid, median dotted",
        dotted=p50,
    )
    return Figure(
        name="hockey-stick",
        title="Open loop: response time against offered rate",
        headline=head.text if head else None,
        subtitle="From the intended start to the last byte; "
        + blocks_words(plot.spreads, "shaded", " a rate"),
        data=Lines([plot], ranges="shades"),
        notes=(
            *listed(stats.trials_of(analysis.records, WORKLOAD)),
            "At low rates loops look slower than threads: they wait for a due time in whole "
            "milliseconds, so they send half a millisecond late.",
        ),
    )


def _line(
    rates: Mapping[float, Sequence[TrialRecord]], which: Callable[[Latency], float]
) -> list[Point]:
    found = []
    for rate, trials in rates.items():
        times = [t.response_time for t in trials if t.response_time]
        spread = stats.spread(which(time) for time in times if time.count >= ENOUGH)
        if spread:
            found.append(Point(rate, spread))
    return found


def omission(found: Measured, rate: float) -> str:
    """What a closed loop would have seen of the model that it tells least about; or nothing."""
    response, service = key("p99", rate), key("service", rate)
    both = {
        label: (found.median(label, service), found.median(label, response))
        for label in found.with_(response, MODELS)
        if found.spread(label, service)
    }
    worst = max(both, key=lambda label: both[label][1] / both[label][0], default="")
    if not worst or both[worst][1] <= CLEAR * both[worst][0]:
        return ""
    seen, waited = map(duration, both[worst])
    return (
        f" The same pages with {prose(worst)} have a p99 of {seen} as service time and {waited} as "
        "response time. A closed loop sees the first."
    )
