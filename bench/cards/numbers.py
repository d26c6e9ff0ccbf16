"""A backend's figures in one campaign, as rows of its card: plain, and over TLS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.analysis.analysis import Analysis
from bench.analysis.encryption import HeldConnection
from bench.analysis.stats import Spread
from bench.analysis.summary import MemoryRow, SummaryRow
from bench.questions import answers
from bench.report.tables.processors import SIDES
from bench.report.tables.timeouts import added
from bench.show import cells
from bench.show.table import MISSING, Column, Row, Table, name
from bench.text import KIB, MIB, count, duration_tick, plural

CAPTION: Final = "Numbers"


@dataclass(frozen=True, slots=True)
class Numbers:
    """One backend's figures in one campaign, plain and over TLS."""

    analysis: Analysis
    label: str

    def point(self, name: str) -> SummaryRow | None:
        """Its row at a point, if it has valid trials there."""
        found = (row for row in self.analysis.rows if (row.point, row.label) == (name, self.label))
        return next((row for row in found if row.trials), None)

    @property
    def memory(self) -> MemoryRow | None:
        return next((row for row in self.analysis.memory_rows if row.label == self.label), None)

    @property
    def held(self) -> HeldConnection | None:
        return self.analysis.encryption.of(self.label)

    def rows(self) -> Iterator[Row]:
        """What it is, where it was measured, plain, over TLS."""
        yield from self._crawl()
        yield from self._waiting()
        yield from self._memory()
        yield from self._open_loop()
        yield from self._mixed()
        yield from self._timeouts()
        yield from self._processors()
        for question, found in answers(self.analysis):
            yield from found.measured.card(self.label, question.NAME)

    def _crawl(self) -> Iterator[Row]:
        point = self.analysis.reference_point("ladder", "throughput")
        row = self.point(point) if point else None
        if row is None:
            return
        yield ["a crawl, pages/s", row.point, _spread(row.pages_per_s), MISSING]
        if row.ratio is not None:
            ratio = f"{cells.ratio(row.ratio)}, {row.ratio.verdict}"
            yield [f"… to {self.analysis.base}", row.point, ratio, MISSING]
        cpu = sum_known(row.cpu_user_ms, row.cpu_system_ms)
        yield ["a crawled page, processor time, µs", row.point, cells.figure(cpu), MISSING]

    def _waiting(self) -> Iterator[Row]:
        for row in self.analysis.rows:
            if row.workload == "waiting" and row.label == self.label and row.trials:
                times = _times(row.service_p50_ms, row.service_p99_ms)
                yield ["behind a delay, pages/s", row.point, _spread(row.pages_per_s), MISSING]
                yield ["… service time p50, p99, ms", row.point, times, MISSING]

    def _memory(self) -> Iterator[Row]:
        plain, tls = self.memory, self.held
        if plain is None and tls is None:
            return
        user = plain.parts["user"] if plain else None
        where = f"up to {count(max(plain.highest if plain else 0, tls.highest if tls else 0))} held"
        over = (tls.total / KIB, tls.user / KIB) if tls else (None, None)
        total = plain.total if plain else None
        yield ["a connection, KiB", where, cells.tenths(total), cells.tenths(over[0])]
        yield ["… in user space", where, cells.tenths(user), cells.tenths(over[1])]
        fixed = (plain.fixed_mib if plain else None, tls.fixed if tls else None)
        apart = None if fixed[1] is None else fixed[1] / MIB
        yield ["the program without connections, MiB", where, *map(cells.tenths, (fixed[0], apart))]

    def _open_loop(self) -> Iterator[Row]:
        for row in self.analysis.rows:
            if row.workload == "openloop" and row.label == self.label and row.trials:
                times = _times(row.response_p50_ms, row.response_p99_ms)
                offered = f"{cells.figure(row.offered_per_s)}/s offered"
                yield ["response time p50, p99, ms", offered, times, MISSING]

    def _mixed(self) -> Iterator[Row]:
        for row in self.analysis.mixed:
            if row.label == self.label:
                where = f"1 page in {row.every} works {duration_tick(row.work_ms)}"
                mean = _ranged(row.mean_ms, row.means)
                tail = f"p{row.tail:g}"
                times = _times(row.p50_ms, row.tail_ms)
                yield ["response time of the other pages, mean, ms", where, mean, MISSING]
                yield [f"… p50, {tail}, ms", where, times, MISSING]

    def _timeouts(self) -> Iterator[Row]:
        for row in self.analysis.timeouts:
            if self.label in (row.backend, row.rung) and row.added_us is not None:
                what = "a timeout adds to a page, processor time, µs"
                yield [what, row.way, added(row), MISSING]

    def _processors(self) -> Iterator[Row]:
        found = self.analysis.processors
        for row in found.rows if found else ():
            if row.label == self.label and row.spreads:
                where = SIDES.get(row.how, row.how)
                on = f" on {plural(len(row.client), 'processor')}" if row.client else ""
                yield [f"a crawl{on}, pages/s", where, _spread(row.rate), MISSING]
                if row.ratio is not None:
                    ratio = f"{cells.ratio(row.ratio)}, {row.ratio.verdict}"
                    yield [f"… to {row.base} on one", where, ratio, MISSING]


def _ranged(middle: float, found: Spread) -> str:
    """A mean of all trials together, with the range of the single trials' means."""
    shown = cells.figure(middle)
    if found.count == 1:
        return f"{shown} (one trial)"
    return f"{shown} [{cells.figure(found.low)}–{cells.figure(found.high)}]"


def _times(p50: float | None, p99: float | None) -> str:
    return f"{cells.figure(p50)}, {cells.figure(p99)}"


def _spread(found: Spread | None) -> str:
    shown = cells.spread(found)
    return shown if isinstance(shown, str) else shown.text


def _middle(found: Spread | None) -> str:
    return cells.figure(None if found is None else found.median)


def sum_known(*values: float | None) -> float | None:
    """The sum; None if one is missing."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def numbers(analysis: Analysis, label: str) -> Table:
    """The table of numbers; no rows where the backend was not measured."""
    columns = [
        name("what"),
        name("where"),
        Column("plain [lowest–highest; ratio, timeout: 95 %]"),
        Column("over TLS"),
    ]
    return Table(CAPTION, columns, list(Numbers(analysis, label).rows()))
