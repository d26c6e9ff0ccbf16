"""What happens when requests come faster than they can be fetched?

A response time counts from the intended start, so a request that had to wait for a slot has
waited. A closed loop sees the service time alone; what it misses is called coordinated omission.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.schedules import (
    TAKEN,
    ByRate,
    all_trials,
    capacity,
    heard,
    keeps_up,
    robbed,
    shared_rate,
    tail_ms,
    taken_s,
)
from bench.analysis.stats import Blocks
from bench.questions.question import Answer, Headline, few, of_models
from bench.schema import TrialRecord
from bench.show import cells
from bench.show.figures import Axis, Figure, Line, Lines, Plot, line
from bench.show.measured import WAIT, Measure, Measured, Value, by_label, median_response
from bench.show.table import MISSING, Column, Row, Table, name
from bench.show.words import blocks_words, listed, not_drawn, of_blocks, says, sentence
from bench.text import count, duration, in_percent, listing, plural
from crawlers.registry import MODELS

NAME: Final = "open_loop"
ASKS: Final = "What happens when requests come faster than they can be fetched?"
WORKLOAD: Final = "openloop"
STEPS: Final = 30
"""Points of a line of percentiles."""

FEWEST: Final = 3
"""Blocks of which one stall is not the median."""

PROSE: Final = (
    "Requests are due on a Poisson schedule, and a response time counts from the moment when the "
    "request was due, once every slot has had two. Where a backend does not keep up, its queue "
    "grows as long as the trial lasts, so its response times are left out.{further} At low rates "
    "loops are slower than threads: they wait for due times in whole milliseconds, so they send "
    "half a millisecond late on average. To measure it: `python -m bench run --profile full --only "
    "openloop`."
)

TIMERS: Final = (
    "A loop sends up to a millisecond late, because its timers count whole ones; threads sleep in "
    "microseconds."
)


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


PARTS: Final[dict[str, Value]] = {
    "p50": median_response,
    "p99": lambda trial: tail_ms(trial.response_time),
    "service": lambda trial: tail_ms(trial.service_time),
}


def key(part: str, rate: float) -> str:
    return f"{part}-{rate:g}"


def measured(data: ByRate) -> Measured:
    """Response times at the rates that a backend keeps up with."""
    measures: dict[str, Measure] = {}
    for rate in sorted({rate for rates in data.values() for rate in rates}):
        at = f"at {count(rate)} requests/s"
        measures |= {
            key("p50", rate): Measure(f"p50 {at}", f"response time {at}, median", WAIT),
            key("p99", rate): Measure(f"p99 {at}", "… 99th percentile", WAIT),
            key("service", rate): Measure(f"service p99 {at}", "… of the service time alone", WAIT),
        }
    values: dict[str, dict[str, Blocks]] = {label: {} for label in data}
    for label, rates in data.items():
        for rate, trials in rates.items():
            if keeps_up(trials, rate):
                read = by_label(trials, [label], {key(part, rate): PARTS[part] for part in PARTS})
                values[label] |= read.get(label, {})
    return Measured(measures, values)


def answer(analysis: Analysis) -> Answer | None:
    data = analysis.by_size(WORKLOAD, "rate")
    if not data:
        return None
    warm = heard(data)
    times = measured(warm)
    models = [label for label in data if label in MODELS]
    # All of them in a campaign of open loops alone.
    shown = [label for label in data if label in analysis.main] or list(data)
    rate, shared = telling(data, models), shared_rate(data, shown)
    tail = in_the_tail(times, shared) if shared else None
    late = behind(data, models, rate) if rate else None
    here = [label for label in shown if warm[label].get(shared or 0.0)]
    figures = [spectrum(here, warm, shared, tail)] if shared and len(here) > 1 else []
    over = over_capacity(shown, data, times)
    return Answer(
        tail or late,
        PROSE.format(further=f" {late.text} ({late.behind})." if late and tail else ""),
        tables=[table(data, times)],
        figures=[*figures, *([over] if over else [])],
        compared=tail.pairs if tail else (),
        warnings=_left_out(all_trials(data), all_trials(warm)),
    )


def _left_out(asked: Sequence[TrialRecord], counted: Sequence[TrialRecord]) -> list[str]:
    """Trials whose tail is not the backend's, and whether they are left out."""
    if not any(stats.number_param(trial, "warmup") for trial in asked):
        return [
            "The schedule had no warm-up, so slots that start and connect decide a p99: no "
            "response time is shown. Measure again."
        ]
    taken = [*map(taken_s, filter(robbed, asked))]
    if not taken:
        return []
    what = "a p99 there may be theirs"
    if len(counted) < len(asked):
        what = "a p99 there may be theirs, so these are in no response time"
    return [
        f"In {len(taken)} of {plural(len(asked), 'trial')} on a schedule other guests, programs or "
        f"a limit took more than {in_percent(TAKEN)} of the time, up to "
        f"{duration(1000 * max(taken))}: {what}."
    ]


def behind(data: ByRate, models: Sequence[str], rate: float) -> Headline | None:
    """The model that is furthest from a rate that it reaches in no block; None where all reach it.

    One that reaches it in some blocks only was disturbed in the others.
    """
    reached = {
        label: spread
        for label in models
        if rate in data[label] and not any(keeps_up([t], rate) for t in data[label][rate])
        if (spread := stats.spread((t.achieved_per_s for t in data[label][rate]), "median"))
        if round(spread.high) < rate  # more may be due than is named
    }
    if not reached:
        return None
    label, most = min(reached.items(), key=lambda pair: pair[1].value)
    only, blocks = few(most.count), plural(most.count, "block")
    text = f"{says(label, 'do')} not reach {count(rate)} requests/s ({count(most.value)}){only}"
    ends = f"{count(most.low)} to {count(most.high)}: lowest and highest of {blocks}"
    return Headline(sentence(text), "no interval" if only else ends)


def in_the_tail(measured: Measured, rate: float) -> Headline | None:
    """The p99 of those that keep up, in blocks enough: one stall is a p99.

    That nothing differs is not said of few blocks.
    """
    name = key("p99", rate)
    blocks = {x: times.count for x in measured.values if (times := measured.spread(x, name))}
    enough = [label for label, number in blocks.items() if number >= FEWEST]
    head = of_models(measured.only(enough), name, f"At {count(rate)} requests/s the p99 is")
    told = head and (head.quotes or min(blocks.values()) >= stats.MIN_BLOCKS)
    return head if told else None


def table(data: ByRate, measured: Measured) -> Table:
    return Table(
        "Open loop: response time from the intended start, after a warm-up",
        [
            name("backend"),
            Column("offered/s"),
            Column("achieved/s [min–max]"),
            Column("response p50 ms", drop=4),
            Column("response p99 ms"),
            Column("service p99 ms", drop=5),
            Column("late starts", drop=6),
            name("limiter"),
        ],
        [
            _row(measured, label, rate, rates[rate])
            for rate in sorted({rate for rates in data.values() for rate in rates})
            for label, rates in data.items()
            if rate in rates
        ],
    )


def _row(measured: Measured, label: str, rate: float, trials: Sequence[TrialRecord]) -> Row:
    late = [trial.late_starts for trial in trials if trial.late_starts is not None]
    response = [measured.spread(label, key(part, rate)) for part in ("p50", "p99")]
    return [
        label,
        cells.figure(stats.middle((trial.offered_per_s for trial in trials), "median")),
        cells.spread(stats.spread((trial.achieved_per_s for trial in trials), "median")),
        *(cells.figure(time.value if time else None) for time in response),
        cells.figure(stats.middle((tail_ms(t.service_time) for t in trials), "median")),
        f"{sum(late):,}" if late else MISSING,
        cells.limiter(stats.limiter_of(trials)),
    ]


def over_capacity(labels: Sequence[str], data: ByRate, measured: Measured) -> Figure | None:
    """Response times over the share of what each backend can do at most."""
    most = {label: rate for label in labels if (rate := capacity(data[label]))}
    x, y = Axis("offered, as a share of each one’s capacity", "shares"), Axis("", "times")
    panels = {"p50": "response time, median", "p99": "response time, p99"}
    plots = []
    for part, title in panels.items():
        of = {
            label: line((r / top, measured.spread(label, key(part, r))) for r in data[label])
            for label, top in most.items()
        }
        lines = {label: points for label, points in of.items() if points}
        plots.append(Plot(lines, x, y, title, beyond=(1.0, "no value")))
    if len(plots[1].lines) < 2:
        return None
    rates = [f"{label} {count(most[label])}" for label in plots[1].lines]
    return Figure(
        name=NAME,
        title="Open loop: response time over the share of capacity",
        subtitle="From the intended start to the last byte; "
        + blocks_words(plots[1].spreads, "median", "shaded", " a rate"),
        data=Lines(plots, columns=2, ranges="shades"),
        notes=(
            "Beyond capacity there is no value: a queue grows as long as the load lasts.",
            TIMERS,
            *listed([trial for label in labels for own in data[label].values() for trial in own]),
            f"Capacity in requests/s, where more were offered: {listing(rates)}.",
            *not_drawn("no rate was beyond what they carry", labels, most),
            *not_drawn("no rate was one that they carry", most, plots[0].lines),
        ),
    )


def spectrum(labels: Sequence[str], data: ByRate, rate: float, head: Headline | None) -> Figure:
    """Every percentile at a rate that all carry: a median over blocks, and each block."""
    lines: dict[str, Line] = {}
    hairs: dict[str, list[Line]] = {}
    trials = [data[label][rate] for label in labels]
    for own in trials:
        times = [stats.merge_histograms([t.response_time.hdr]) for t in own if t.response_time]
        # From the median to where ten samples are left in each block.
        fewest = min(block.count for block in times)
        last = math.log10(fewest / stats.MIN_BEYOND)
        places = sorted({*np.linspace(nines(50), last, STEPS).tolist(), nines(99)})
        read = [[block.at_ms(100 * (1 - 10**-x)) for x in places] for block in times]
        label = own[0].label
        hairs[label] = [_through(places, [[ms] for ms in block]) for block in read]
        lines[label] = _through(places, [*zip(*read, strict=True)])
    at_99 = {x: next(p for p in points if p.x == nines(99)) for x, points in lines.items()}
    blocks = [len(own) for own in hairs.values()]
    if max(blocks) == 1:
        hairs = {}
    x, y = Axis("percentile of the requests", "nines"), Axis("", "times", duration)
    return Figure(
        name="spectrum",
        title=f"Response times at {count(rate)} requests/s",
        headline=head.text if head else None,
        subtitle=f"{count(rate)} requests/s on a schedule, from the intended start to the last "
        f"byte; {'bold: median of ' * bool(hairs)}{of_blocks(blocks)}",
        data=Lines([Plot(lines, x, y, "response time", marks=at_99, hairs=hairs)], told=True),
        notes=(
            f"{'A hairline is one block. ' * bool(hairs)}Each line ends where fewer than "
            f"{stats.MIN_BEYOND} requests of a block lie beyond it; marks and numbers are p99s.",
            TIMERS,
            *listed([trial for own in trials for trial in own]),
        ),
    )


def _through(places: Sequence[float], values: Sequence[Sequence[float]]) -> Line:
    return line((x, stats.spread(some, "median")) for x, some in zip(places, values, strict=True))


def nines(percentile: float) -> float:
    """Place of a percentile on the axis: the number of nines, log10 of 1/(1 - p)."""
    return -math.log10(1.0 - percentile / 100.0)
