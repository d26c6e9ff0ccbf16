"""A backend's card: what it is and does, its numbers, and what to keep in mind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis import crossover, mixed_words, stats
from bench.analysis.analysis import Analysis
from bench.cards import alone, libraries
from bench.cards.advantages import advantages, rung_of
from bench.cards.libraries import Library
from bench.cards.numbers import numbers
from bench.costs import report as costs_report
from bench.costs import tuning
from bench.costs.account import Account
from bench.micro.report import Found
from bench.schema import CampaignRecord
from bench.show.table import Column, Row, Table, name
from bench.text import count, duration
from crawlers.backend import Backend

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
    alone: Table
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
    yield from _beside_others(analysis, backend.name)
    step = rung_of(analysis, backend.name)
    if step is not None and step.memory_missing:
        most = analysis.ladder.connections if analysis.ladder else None
        yield f"Memory at {count(most or 0)} connections: {step.memory_missing}."


def _beside_others(analysis: Analysis, label: str) -> Iterator[str]:
    """From how many slots on it falls behind, and what work does to its other pages."""
    for found in analysis.crossover.crossings if analysis.crossover else ():
        if found.label == label and found.below:
            yield (
                f"{crossover.behind(found.delay_ms).capitalize()} it is shown to fetch fewer pages "
                f"per second than `{crossover.AGAINST}` {crossover.said(found)}."
            )
    for row in mixed_words.rows_of(analysis.mixed):
        if row.label == label and row.predicted is not None:
            yield (
                "While it works on a page, all others wait: beside one page in "
                f"{row.every} with {duration(row.work_ms)} of work, their mean response time is "
                f"{duration(row.mean_ms)}."
            )


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


def card(
    analysis: Analysis,
    accounts: Sequence[Account],
    backend: Backend,
    sha256: str,
    single: Found | None = None,
) -> Card:
    """The card of a backend, whether it was measured or not.

    ``single`` has what was measured of single operations, apart from the campaign.
    """
    label = backend.name
    return Card(
        backend=backend,
        library=libraries.of(label),
        numbers=numbers(analysis, label),
        costs=costs(accounts, label),
        alone=alone.table(single, label),
        wins=advantages(analysis, label),
        limits=list(limits(analysis, backend)),
        fairness=list(fairness(tuning.Tuning(analysis, accounts), label)),
        campaign=analysis.campaign,
        sha256=sha256,
    )
