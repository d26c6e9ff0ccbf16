"""A backend's card: what it is and does, its numbers, and what to keep in mind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis import churn, stats
from bench.analysis.analysis import Analysis
from bench.analysis.encryption import HeldConnection, PageOverTls
from bench.analysis.stats import Spread
from bench.analysis.summary import MemoryRow, SummaryRow
from bench.cards import libraries
from bench.cards.advantages import advantages, rung_of
from bench.cards.libraries import Library
from bench.costs import report as costs_report
from bench.costs import tuning
from bench.costs.account import Account
from bench.report.tables import cells
from bench.report.tables.table import MISSING, Column, Row, Table, name
from bench.schema import CampaignRecord
from bench.text import KIB, MIB, count
from crawlers.backend import Backend

NUMBERS: Final = "Numbers"
COSTS: Final = "Exact costs"
FAMILIES: Final = {
    "threads": "one stack for each slot",
    "callbacks": "callbacks on an event loop",
    "generators": "generators on a hand-built loop",
    "async": "async and await, or a library of that kind",
    "stack": "a whole HTTP stack; compare it with stacks, not with models",
}

Words = Sequence[str]
"""Sentences in Markdown; links are relative to docs/."""


@dataclass(frozen=True, slots=True)
class Card:
    """All that is shown of one backend. Tables without rows, and lists without items, are empty."""

    backend: Backend
    library: Library | None
    numbers: Table
    costs: Table
    wins: Words
    limits: Words
    fairness: Words
    campaign: CampaignRecord
    sha256: str

    @property
    def changes(self) -> str:
        """What it changes, with the other backend's name as code."""
        against = self.backend.against
        words = self.backend.changes
        return words.replace(against, f"`{against}`", 1) if against else words

    @property
    def nowhere(self) -> str:
        """What stands in the place of :attr:`wins` where there are none."""
        if not self.numbers.rows:
            return "It was not measured."
        return "No comparison of this campaign shows it ahead."

    @property
    def cite(self) -> str:
        """How to cite the numbers of this card."""
        commit = self.campaign.environment.commit or "unknown"
        return (
            f"Backend `{self.backend.name}`, campaign `{self.campaign.campaign}`, commit "
            f"`{commit}`, SHA-256 of the records `{self.sha256}`. `python -m bench cite` prints "
            "the whole entry."
        )


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

    @property
    def page(self) -> PageOverTls | None:
        pages = self.analysis.encryption.pages
        return next((row for row in pages if row.label == self.label), None)

    def rows(self) -> Iterator[Row]:
        """What it is, where it was measured, plain, over TLS."""
        yield from self._crawl()
        yield from self._waiting()
        yield from self._pages()
        yield from self._churn()
        yield from self._memory()
        yield from self._open_loop()
        yield from self._cancelled()

    def _crawl(self) -> Iterator[Row]:
        point = self.analysis.reference_point("ladder", "throughput")
        row = self.point(point) if point else None
        if row is None:
            return
        yield ["a crawl, pages/s", row.point, _spread(row.pages_per_s), MISSING]
        if row.ratio is not None:
            ratio = f"{cells.ratio(row.ratio)}, {row.ratio.verdict}"
            yield [f"… to {self.analysis.base}", row.point, ratio, MISSING]
        cpu = _sum(row.cpu_user_ms, row.cpu_system_ms)
        yield ["a crawled page, processor time, µs", row.point, cells.figure(cpu), MISSING]

    def _waiting(self) -> Iterator[Row]:
        for row in self.analysis.rows:
            if row.workload == "waiting" and row.label == self.label and row.trials:
                times = _times(row.service_p50_ms, row.service_p99_ms)
                yield ["behind a delay, pages/s", row.point, _spread(row.pages_per_s), MISSING]
                yield ["… service time p50, p99, ms", row.point, times, MISSING]

    def _pages(self) -> Iterator[Row]:
        page = self.page
        if page is None:
            return
        where = "tls-fetch"
        plain, tls, churn, handshake = (
            _middle(page.costs.get(mode)) for mode in ("plain", "tls", "churn", "handshake")
        )
        yield ["a fetched page, processor time, µs", where, plain, tls]
        where = "tls-handshake"
        yield ["… with a connection of its own", where, churn, handshake]
        if page.resumption is not None:
            resumed = _middle(page.costs.get("tickets"))
            yield ["… and sessions that are resumed", where, MISSING, resumed]

    def _churn(self) -> Iterator[Row]:
        for row in self.analysis.churn:
            if row.label == self.label and row.opening is not None:
                opening = "to open a connection, processor time, µs"
                yield [opening, churn.WORKLOAD, _middle(row.opening), MISSING]
                yield ["… in pages on a kept one", churn.WORKLOAD, _middle(row.pages), MISSING]

    def _cancelled(self) -> Iterator[Row]:
        for row in self.analysis.cancellations.rows:
            if row.label == self.label:
                where = f"{count(row.in_flight)} in flight"
                closed = cells.figure(1000 * row.closed.median)
                yield ["from an interrupt until all is closed, ms", where, closed, MISSING]

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


def _times(p50: float | None, p99: float | None) -> str:
    return f"{cells.figure(p50)}, {cells.figure(p99)}"


def _spread(found: Spread | None) -> str:
    shown = cells.spread(found)
    return shown if isinstance(shown, str) else shown.text


def _middle(found: Spread | None) -> str:
    return cells.figure(None if found is None else found.median)


def _sum(*values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def numbers(analysis: Analysis, label: str) -> Table:
    """The table of numbers; no rows where the backend was not measured."""
    columns = [
        name("what"),
        name("where"),
        Column("plain [lowest–highest; ratio: 95 %]"),
        Column("over TLS"),
    ]
    return Table(NUMBERS, columns, list(Numbers(analysis, label).rows()))


def costs(accounts: Sequence[Account], label: str) -> Table:
    """The table of counted costs; no rows where the backend was not counted."""
    mine = {each.workload: each for each in accounts if each.backend == label and each.costs}
    order = sorted(mine, key=lambda workload: (workload != tuning.CRAWL, workload))
    columns = [name("a page takes"), *(Column(f"of {workload}") for workload in order)]
    rows: list[Row] = [
        [column.title, *(costs_report.cell(mine[workload].costs.get(key)) for workload in order)]
        for key, column in costs_report.COLUMNS.items()
        if any(key in mine[workload].costs for workload in order)
    ]
    return Table(COSTS, columns, rows)


def limits(analysis: Analysis, backend: Backend) -> Iterator[str]:
    """What it cannot do, and why numbers are missing."""
    if backend.most is not None:
        yield f"It holds at most {count(backend.most)} connections at once."
    if backend.no_https is not None:
        yield f"No HTTPS: {backend.no_https}."
    if backend.cannot_see:
        kinds = ", ".join(f"`{kind}`" for kind in sorted(backend.cannot_see))
        yield f"Its library hides these errors of TLS: {kinds}."
    for reason in dict.fromkeys(backend.differs.values()):
        yield f"Conformance: {reason}."
    missing = analysis.ladder.missing.get(backend.name) if analysis.ladder else None
    if missing:
        yield f"Not measured in this campaign: {missing}."
    elif backend.name not in analysis.labels:
        yield "Not measured in this campaign."
    step = rung_of(analysis, backend.name)
    if step is not None and step.memory_missing:
        most = analysis.ladder.connections if analysis.ladder else None
        yield f"Memory at {count(most or 0)} connections: {step.memory_missing}."


def fairness(table: tuning.Tuning, label: str) -> Iterator[str]:
    """What its author could say, and the comparisons of docs/fairness.md that it takes part in."""
    library = libraries.of(label)
    if library is not None:
        yield f"**Still to be said.** {library.still}"
    question = ""
    for section in tuning.SECTIONS:
        for row in section.rows:
            question = row.question or question
            if label in (row.plain, row.form) and (found := _ratios(table, row)):
                yield f"{question}: `{row.form}` ({row.how}) over `{row.plain}`, {found}."


def _ratios(table: tuning.Tuning, row: tuning.Row) -> str:
    """The ratios of a row that were measured, in words."""
    found = [
        f"{words} {table.ratio(row, metric)}"
        for metric, words in (
            (stats.CPU_PER_1000, "processor time"),
            (stats.PAGES_PER_S, "pages per second"),
        )
        if (compared := table.compared(row, metric)) and compared.ratio.value is not None
    ]
    return "; ".join(found)


def card(analysis: Analysis, accounts: Sequence[Account], backend: Backend, sha256: str) -> Card:
    """The card of a backend, whether it was measured or not."""
    label = backend.name
    return Card(
        backend=backend,
        library=libraries.of(label),
        numbers=numbers(analysis, label),
        costs=costs(accounts, label),
        wins=advantages(analysis, label),
        limits=list(limits(analysis, backend)),
        fairness=list(fairness(tuning.Tuning(analysis, accounts), label)),
        campaign=analysis.campaign,
        sha256=sha256,
    )
