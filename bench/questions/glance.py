"""What do throughput, memory and latency come to, at a glance?

One row for each backend of the charts. Each number is that of the question that it belongs to,
read from the same trials in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from bench.show.table import MISSING, Column, Table, name
from bench.text import capital, count

NAME: Final = "glance"
ASKS: Final = "What do throughput, memory and latency come to, at a glance?"
PAGES, PAGE, HELD, OVER_TLS, P99 = "pages/s", "µs/page", "KiB/connection", "over TLS", "p99"
"""The columns, by name."""
WORDS: Final = {PAGES, HELD, P99}
"""Throughput, memory and latency: a row has at least half of those that were measured."""


@dataclass(frozen=True)
class Glance:
    """The headline numbers of each backend, in the campaign's order."""

    columns: Mapping[str, Measure]
    rows: Mapping[str, Mapping[str, Spread]]  # label -> column -> median and its range
    hollow: frozenset[str]  # labels whose pages/s the server limited
    samples: Mapping[str, Mapping[str, Sequence[float]]]  # column -> label -> each block
    rate: float | None  # requests/s at which the p99 is read

    @property
    def table(self) -> Table:
        """Medians alone: it is for a narrow terminal, and the charts have the intervals."""
        return Table(
            "At a glance",
            [name("backend"), *(Column(measure.title) for measure in self.columns.values())],
            [[label, *(self._cell(label, key) for key in self.columns)] for label in self.rows],
            about="; ".join(measure.what for measure in self.columns.values()) + ".",
            notes=["○: limited by the server."] * bool(self.hollow & self.rows.keys()),
        )

    def _cell(self, label: str, key: str) -> str:
        if (spread := self.rows[label].get(key)) is None:
            return MISSING
        return cells.figure(spread.median) + " ○" * (key == PAGES and label in self.hollow)


def glance(analysis: Analysis) -> Glance:
    """All of it that was measured; a column without a value is left out."""
    point = analysis.reference_point("throughput")
    crawls = analysis.at_point(point) if point else {}
    plain, tls = analysis.memory, analysis.memory_over_tls
    in_all, in_all_tls = (stats.read_in_all(fits.values()) for fits in (plain, tls))
    kib, over = ("KiB" if whole else "user KiB" for whole in (in_all, in_all_tls))
    opened = analysis.by_size("openloop", "rate")
    rate = shared_rate(opened, [label for label in analysis.main if label in opened])
    asked = {
        label: rates[rate]
        for label, rates in opened.items()
        if rate in rates and keeps_up(rates[rate], rate)
    }
    read: dict[str, tuple[Mapping[str, Sequence[TrialRecord]], Value]] = {
        PAGES: (crawls, stats.PAGES_PER_S.value),
        PAGE: (crawls, stats.CPU_PER_1000.value),  # ms for 1000 pages are µs for one
        P99: (asked, lambda trial: tail_ms(trial.response_time)),
    }
    samples = {
        key: {x: [n for t in ts if (n := value(t)) is not None] for x, ts in trials.items()}
        for key, (trials, value) in read.items()
    }
    spreads: dict[str, Mapping[str, Spread | None]] = {
        **{key: {x: stats.spread(n) for x, n in own.items()} for key, own in samples.items()},
        HELD: {label: fit.spread(in_all=in_all) for label, fit in plain.items()},
        OVER_TLS: {label: fit.spread(in_all=in_all_tls) for label, fit in tls.items()},
    }
    slots = stats.number_param(next(iter(crawls.values()))[0], "slots") if crawls else None
    at = f"{count(rate)}/s" if rate else ""
    where = f"a crawl with {count(slots or 0)} slots"
    measures = {
        PAGES: Measure(PAGES, f"pages/s and processor time per page: {where}", RATE),
        PAGE: Measure(PAGE, "processor time of a page", US),
        HELD: Measure(f"{kib}/conn", f"{kib} of an idle connection", KIB_EACH),
        OVER_TLS: Measure(f"{over}, TLS", f"{over} of one over TLS", KIB_EACH),
        P99: Measure(f"p99 ms, {at}", f"p99: response time at {at}, open loop", MS),
    }
    rows = {
        label: {key: spread for key in measures if (spread := spreads[key].get(label))}
        for label in analysis.labels
        if label not in MAPPED
    }
    seen = {key for row in rows.values() for key in row}
    least = len(seen & WORDS) / 2
    rows = {label: row for label, row in rows.items() if len(row.keys() & WORDS) >= least}
    limited = [label for label, ts in crawls.items() if stats.limiter_of(ts) == "server"]
    return Glance(
        {key: measure for key, measure in measures.items() if key in seen},
        rows if seen & WORDS else {},
        frozenset(limited),
        samples,
        rate,
    )


def answer(analysis: Analysis) -> Answer | None:
    shown = glance(analysis)
    if not shown.rows:
        return None
    figures = [_figure(shown)] if len(shown.rows) > 1 and len(shown.columns) > 1 else []
    return Answer(shown, tables=[shown.table], figures=figures)


DRAWN: Final = {
    PAGES: ("pages/s", "a crawl with 100 slots"),
    HELD: ("{user}KiB per connection", "an idle connection"),
    P99: ("p99 at {rate} requests/s", "an open loop, at a rate that all carry"),
}
"""The three words, with the titles of their panels, and where each was measured."""


def _figure(shown: Glance) -> Figure:
    panels = [
        Panel(
            title.format(
                user="user " * shown.columns[key].title.startswith("user"),
                rate=count(shown.rate or 0),
            ),
            {label: [row.get(key)] for label, row in shown.rows.items()},
            shown.columns[key].unit,
            shown.hollow if key == PAGES else (),
            dots=True,
            samples={x: [values] for x, values in shown.samples.get(key, {}).items()},
        )
        for key, (title, _) in DRAWN.items()
        if key in shown.columns
    ]
    return Figure(
        name=NAME,
        title="Throughput, memory and latency at a glance",
        subtitle=capital("; ".join(at for key, (_, at) in DRAWN.items() if key in shown.columns)),
        data=Bars(panels),
        notes=(
            f"Lines: lowest to highest block; of memory the {stats.AT_LEVEL} interval of the "
            "slope.",
        ),
    )
