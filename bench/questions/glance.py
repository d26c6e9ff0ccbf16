"""What do throughput, memory and latency come to, at a glance?

One row for each backend of the charts. Each number is that of the question that it belongs to,
read from the same trials in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.schedules import keeps_up, shared_rate, tail_ms
from bench.analysis.stats import Spread
from bench.plan.participants import MAPPED
from bench.questions.question import Answer
from bench.schema import TrialRecord
from bench.show import cells
from bench.show.figures import Bars, Figure, Panel
from bench.show.measured import KIB_EACH, MS, RATE, US, Measure, Value
from bench.show.table import Column, Table, name
from bench.text import capital, count

NAME: Final = "glance"
ASKS: Final = "What do throughput, memory and latency come to, at a glance?"
PAGES, PAGE, HELD, OVER_TLS, P99 = "pages/s", "µs/page", "KiB/connection", "over TLS", "p99"
"""The columns, by name."""
DRAWN: Final = {
    PAGES: "a crawl with 100 slots",
    HELD: "an idle connection",
    P99: "an open loop, at a rate that all carry",
}
"""Throughput, memory and latency, and where each was measured: a row has at least half of them."""


@dataclass(frozen=True)
class GlanceColumn:
    """A number of each backend; its blocks, unless it is a slope; and the title of its panel."""

    measure: Measure
    spreads: Mapping[str, Spread | None]
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict)
    axis: str = ""

    @classmethod
    def of(
        cls,
        measure: Measure,
        trials: Mapping[str, Sequence[TrialRecord]],
        value: Value,
        axis: str = "",
    ) -> GlanceColumn:
        samples = {x: [n for t in own if (n := value(t)) is not None] for x, own in trials.items()}
        return cls(measure, {x: stats.spread(n) for x, n in samples.items()}, samples, axis)


def columns(
    analysis: Analysis, crawls: Mapping[str, Sequence[TrialRecord]]
) -> dict[str, GlanceColumn]:
    plain, tls = analysis.memory, analysis.memory_over_tls
    in_all, in_all_tls = (stats.read_in_all(fits.values()) for fits in (plain, tls))
    kib, over = ("KiB" if whole else "user KiB" for whole in (in_all, in_all_tls))
    held = {label: fit.spread(in_all=in_all) for label, fit in plain.items()}
    held_tls = {label: fit.spread(in_all=in_all_tls) for label, fit in tls.items()}
    opened = analysis.by_size("openloop", "rate")
    rate = shared_rate(opened, [label for label in analysis.main if label in opened]) or 0
    asked = {
        label: rates[rate]
        for label, rates in opened.items()
        if rate in rates and keeps_up(rates[rate], rate)
    }
    slots = stats.number_param(next(iter(crawls.values()))[0], "slots") if crawls else None
    at = f"{count(rate)}/s" if rate else ""
    where = f"a crawl with {count(slots or 0)} slots"
    pages = Measure(PAGES, f"pages/s and processor time per page: {where}", RATE)
    page = Measure(PAGE, "processor time of a page", US)
    memory = Measure(f"{kib}/conn", f"{kib} of an idle connection", KIB_EACH)
    memory_tls = Measure(f"{over}, TLS", f"{over} of one over TLS", KIB_EACH)
    p99 = Measure(f"p99 ms, {at}", f"p99: response time at {at}, open loop", MS)
    answered = f"p99 at {count(rate)} requests/s"
    return {
        PAGES: GlanceColumn.of(pages, crawls, stats.PAGES_PER_S.value, "pages/s"),
        # ms for 1000 pages are µs for one
        PAGE: GlanceColumn.of(page, crawls, stats.CPU_PER_1000.value),
        HELD: GlanceColumn(memory, held, axis=f"{kib} per connection"),
        OVER_TLS: GlanceColumn(memory_tls, held_tls),
        P99: GlanceColumn.of(p99, asked, lambda t: tail_ms(t.response_time), answered),
    }


def answer(analysis: Analysis) -> Answer | None:
    """Medians alone in the table: it is for a narrow terminal, and the charts have intervals."""
    point = analysis.reference_point("throughput")
    crawls = analysis.at_point(point) if point else {}
    every = columns(analysis, crawls)
    found = {
        label: {key: spread for key in every if (spread := every[key].spreads.get(label))}
        for label in analysis.labels
        if label not in MAPPED
    }
    seen = {key: column for key, column in every.items() if any(key in r for r in found.values())}
    least = len(seen.keys() & DRAWN) / 2
    rows = {label: row for label, row in found.items() if len(row.keys() & DRAWN) >= least > 0}
    if not rows:
        return None
    limited = {label for label, own in crawls.items() if stats.limiter_of(own) == "server"}
    hollow = frozenset(limited & rows.keys())

    def cell(label: str, key: str) -> str:
        spread = rows[label].get(key)
        text = cells.figure(spread.median if spread else None)
        return text + " ○" * (spread is not None and key == PAGES and label in hollow)

    table = Table(
        "At a glance",
        [name("backend"), *(Column(column.measure.title) for column in seen.values())],
        [[label, *(cell(label, key) for key in seen)] for label in rows],
        about="; ".join(column.measure.what for column in seen.values()) + ".",
        notes=["○: limited by the server."] * bool(hollow),
    )
    panels = [
        Panel(
            column.axis,
            {label: [row.get(key)] for label, row in rows.items()},
            column.measure.unit,
            hollow if key == PAGES else (),
            dots=True,
            samples={label: [values] for label, values in column.samples.items()},
        )
        for key, column in seen.items()
        if key in DRAWN
    ]
    figure = Figure(
        name=NAME,
        title="Throughput, memory and latency at a glance",
        subtitle=capital("; ".join(at for key, at in DRAWN.items() if key in seen)),
        data=Bars(panels),
        notes=(
            f"Lines: lowest to highest block; of memory the {stats.AT_LEVEL} interval of the "
            "slope.",
        ),
    )
    return Answer(tables=[table], figures=[figure] * (len(rows) > 1 and len(seen) > 1))
