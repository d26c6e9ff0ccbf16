"""What do throughput, memory and latency come to, at a glance?

One row for each backend of the charts. Each number is that of the question that it belongs to,
read from the same trials in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.schedules import heard, keeps_up, shared_rate, tail_ms
from bench.plan.participants import MAPPED
from bench.questions.question import Answer
from bench.schema import TrialRecord
from bench.show import cells
from bench.show.figures import Bars, Figure
from bench.show.measured import KIB_EACH, RATE, US, WAIT, Measure, Measured, by_label
from bench.show.table import Column, Table, name
from bench.show.words import not_drawn
from bench.text import capital, count, listing

NAME: Final = "glance"
ASKS: Final = "What do throughput, memory and latency come to, at a glance?"
PAGES, PAGE, HELD, OVER_TLS, P99 = "pages/s", "µs/page", "KiB/connection", "over TLS", "p99"
"""The columns, by name."""
TITLES: Final = {PAGES: "throughput", HELD: "memory", P99: "latency"}
DRAWN: Final = {
    PAGES: "a crawl with 100 slots",
    HELD: "an idle connection",
    P99: "an open loop, at a rate that all carry",
}
"""Throughput, memory and latency, and where each was measured: a row has more than half of them."""


def measured(
    analysis: Analysis, crawls: Mapping[str, Sequence[TrialRecord]]
) -> tuple[Measured, dict[str, str]]:
    """Each number of each backend, and the axes of those that are drawn."""
    plain, tls = analysis.memory, analysis.memory_over_tls
    in_all, in_all_tls = (stats.read_in_all(fits.values()) for fits in (plain, tls))
    kib, over = ("KiB" if whole else "user KiB" for whole in (in_all, in_all_tls))
    opened = analysis.by_size("openloop", "rate")
    rate = shared_rate(opened, [label for label in analysis.main if label in opened]) or 0
    asked = [of[rate] for of in heard(opened).values() if rate in of and keeps_up(of[rate], rate)]
    slots = stats.number_param(next(iter(crawls.values()))[0], "slots") if crawls else None
    at = f"{count(rate)}/s" if rate else ""
    where = f"a crawl with {count(slots or 0)} slots"
    measures = {
        PAGES: Measure(PAGES, f"pages/s and processor time per page: {where}", RATE),
        PAGE: Measure(PAGE, "processor time of a page", US),
        HELD: Measure(f"{kib}/conn", f"{kib} of an idle connection", KIB_EACH),
        OVER_TLS: Measure(f"{over}, TLS", f"{over} of one over TLS", KIB_EACH),
        P99: Measure(f"p99 ms, {at}", f"p99: response time at {at}, open loop", WAIT),
    }
    # ms for 1000 pages are µs for one
    read = {PAGES: stats.PAGES_PER_S.value, PAGE: stats.CPU_PER_1000.value}
    crawled = by_label(chain(*crawls.values()), analysis.labels, read)
    answered = by_label(
        chain(*asked), analysis.labels, {P99: lambda trial: tail_ms(trial.response_time)}
    )
    values = {x: {**crawled.get(x, {}), **answered.get(x, {})} for x in analysis.labels}
    held = ((HELD, plain, in_all), (OVER_TLS, tls, in_all_tls))
    slopes = {
        (label, key): fits[label].spread(in_all=whole)
        for key, fits, whole in held
        for label in values.keys() & fits
    }
    axes = {
        PAGES: "pages/s",
        HELD: f"{kib} per connection",
        P99: f"p99 at {count(rate)} requests/s",
    }
    return Measured(measures, values, slopes=slopes), axes


def answer(analysis: Analysis) -> Answer | None:
    """Averages alone in the table: it is for a narrow terminal, and the charts have intervals."""
    point = analysis.reference_point("throughput")
    crawls = analysis.at_point(point) if point else {}
    every, axes = measured(analysis, crawls)
    labels = [label for label in analysis.labels if label not in MAPPED]
    seen = [key for key in every.measures if every.with_(key, labels)]
    half = len({*seen} & axes.keys()) / 2
    known = {x: sum(every.spread(x, key) is not None for key in axes) for x in labels}
    rows = every.only(label for label in labels if known[label] > half)
    if not rows.values:
        return None
    main = [label for label in analysis.main if label not in MAPPED]
    limited = {label for label, own in crawls.items() if stats.limiter_of(own) == "server"}
    hollow = frozenset(limited & rows.values.keys())

    def cell(label: str, key: str) -> str:
        spread = rows.spread(label, key)
        text = cells.figure(spread.value if spread else None)
        return text + " ○" * (spread is not None and key == PAGES and label in hollow)

    table = Table(
        "At a glance",
        [name("backend"), *(Column(every.measures[key].title) for key in seen)],
        [[label, *(cell(label, key) for key in seen)] for label in rows.values],
        about="; ".join(every.measures[key].what for key in seen) + ".",
        notes=["○: limited by the server."] * bool(hollow),
    )
    panels = [
        replace(rows.panel(axis, key, hollow=hollow if key == PAGES else ()), dots=True)
        for key, axis in axes.items()
        if key in seen
    ]
    marks = [
        f"the {rows.average([key])} of {what}"
        for key, what in {PAGES: "pages/s", P99: "the p99"}.items()
        if key in seen
    ]
    what = f"Marks: {listing(marks)} over blocks. " if marks else ""
    slope = f"; of memory the {stats.AT_LEVEL} interval of the slope"
    figure = Figure(
        name=NAME,
        title=f"{capital(listing([TITLES[key] for key in TITLES if key in seen]))} at a glance",
        subtitle=capital("; ".join(at for key, at in DRAWN.items() if key in seen)),
        data=Bars(panels),
        notes=(
            f"{what}Lines: lowest to highest block{slope * (HELD in seen)}.",
            *not_drawn("half of it or more is missing", main, rows.values),
        ),
    )
    return Answer(tables=[table], figures=[figure] * (len(rows.values) > 1 and len(seen) > 1))
