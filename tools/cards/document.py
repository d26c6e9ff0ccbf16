"""A backend's card: what it is, its numbers, where it is ahead, and what to keep in mind.

As Markdown, in docs/cards: ``templates/card.md`` for each backend that people choose between, and
``templates/overview.md``, one table for all variants. Here is what they show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import filesystem
from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Metric, Ratio
from bench.costs import report as costs_report
from bench.costs.accounts import Account
from bench.machine.instruments import INSTRUCTIONS
from bench.questions import answers
from bench.questions.memory import MemoryByBackend
from bench.report import markup
from bench.report.tables import grid
from bench.schema import CampaignRecord
from bench.show import cells
from bench.show.measured import Measured
from bench.show.table import MISSING, Column, Row, Table, name, text_of
from bench.text import count, listing
from crawlers.backend import Backend
from crawlers.catalogue import OURS
from crawlers.registry import PEOPLE
from tools.cards import libraries
from tools.cards.libraries import LibraryEntry

CRAWL: Final = "crawl"
"""The counted workload that comes first."""
BY: Final[tuple[tuple[Metric, str], ...]] = (
    (stats.PAGES_PER_S, "more pages per second"),
    (stats.CPU_PER_1000, "less processor time for a page"),
    (stats.USER_PER_CONNECTION, "less user memory for a connection"),
)
"""What a backend can be ahead by. More is better for the rate alone."""

NUMBERS: Final = (
    "Medians, on plain HTTP and over TLS; a dash means that it was not measured. From campaign "
    "`{campaign}`, {python}. [How it is measured](method.md), and how to [read the "
    "charts](reading-the-charts.md)."
)
COUNTED: Final = (
    "Counted, not timed: medians over hash seeds, with the range in brackets. "
    "[What counts leave out](costs.md)."
)
HELD: Final = ("a connection, KiB", "… in user space", "the program without connections, MiB")
CHOSEN: Final = (*PEOPLE, "tornado", "twisted")
"""The backends with a card."""
OVERVIEW: Final = "README.md"
CAPPED: Final = ", the server was the limit"


@dataclass(frozen=True, slots=True)
class Card:
    """What the records say of one backend. Links are relative to docs/."""

    backend: Backend
    library: LibraryEntry | None
    measured: bool
    tables: Sequence[Table]  # that have rows
    ahead: Sequence[str]
    instructions: str  # of a crawled page, in thousands

    @property
    def changes(self) -> str:
        """What it changes, with the other backend's name as code."""
        against = self.backend.against
        words = self.backend.changes
        return words.replace(against, f"`{against}`", 1) if against else words

    def figure(self, what: str, column: int) -> str:
        """The first figure of a row of its numbers."""
        rows = (row for table in self.tables if table.caption == "Numbers" for row in table.rows)
        cells_of_row = (text_of(row[column]) for row in rows if row[0] == what)
        return next(cells_of_row, MISSING).partition(" ")[0]


def card(analysis: Analysis, accounts: Sequence[Account], backend: Backend) -> Card:
    """The card of a backend, whether it was measured or not."""
    label = backend.name
    own = [account for account in accounts if account.backend == label and account.costs]
    counted = {account.workload: account for account in own}
    crawl = counted[CRAWL].costs.get(INSTRUCTIONS) if CRAWL in counted else None
    tables = numbers(analysis, label), costs(counted)
    return Card(
        backend,
        libraries.of(label),
        label in analysis.labels,
        [table for table in tables if table.rows],
        list(ahead(analysis, label)),
        MISSING if crawl is None else cells.figure(crawl.median / 1000),
    )


def numbers(analysis: Analysis, label: str) -> Table:
    rows = list(_crawl(analysis, label))
    for question, answer in answers(analysis):
        if isinstance(answer.measured, Measured):
            rows += _measured(answer.measured, label, question.NAME)
        elif isinstance(answer.measured, MemoryByBackend):
            rows += _held(answer.measured, label)
    campaign = analysis.campaign
    plain = Column(f"plain [lowest–highest; ratio: {stats.AT_LEVEL}]")
    columns = [name("what"), name("where"), plain, Column("over TLS")]
    about = NUMBERS.format(campaign=campaign.campaign, python=campaign.environment.python)
    return Table("Numbers", columns, rows, about=about)


def _crawl(analysis: Analysis, label: str) -> Iterator[Row]:
    point = analysis.reference_point("ladder", "throughput")
    rows = (row for row in analysis.rows if (row.point, row.label) == (point, label))
    row = next((row for row in rows if row.trials), None)
    if row is None:
        return
    yield ["a crawl, pages/s", row.point, text_of(cells.spread(row.pages_per_s)), MISSING]
    if row.ratio is not None:
        ratio = f"{cells.ratio(row.ratio)}, {row.ratio.verdict}"
        yield [f"… to {analysis.base}", row.point, ratio, MISSING]


def _measured(measured: Measured, label: str, where: str) -> Iterator[Row]:
    for key, spread in measured.row(label).items():
        what = f"{measured.measures[key].what}, {measured.measures[key].unit.symbol}"
        yield [what, where, cells.figure(spread.median), MISSING]


def _held(memory: MemoryByBackend, label: str) -> Iterator[Row]:
    plain, tls = memory.plain.get(label), memory.over_tls.get(label)
    if plain is None and tls is None:
        return
    most = max(plain.connections[-1] if plain else 0, tls.highest if tls else 0)
    on, over = [MISSING] * 3, [MISSING] * 3
    if plain:
        on = [cells.kib(plain.total), cells.kib(plain.user), cells.mib(plain.fixed)]
    if tls:
        over = [cells.kib(tls.fit.total), cells.kib(tls.user), cells.mib(tls.fit.fixed)]
    for what, *both in zip(HELD, on, over, strict=True):
        yield [what, f"up to {count(most)} held", *both]


def costs(counted: dict[str, Account]) -> Table:
    """The counts of one backend, by workload."""
    order = sorted(counted, key=lambda workload: (workload != CRAWL, workload))
    columns = [name("a page takes"), *(Column(f"of {workload}") for workload in order)]
    rows: list[Row] = [
        [column.title, *(costs_report.cell(counted[workload].costs.get(key)) for workload in order)]
        for key, column in costs_report.COLUMNS.items()
        if any(key in counted[workload].costs for workload in order)
    ]
    every = list(counted.values())
    about = " ".join((COUNTED, *costs_report.untold(every)))
    return Table(costs_report.captioned("Exact costs", every), columns, rows, about=about)


def ahead(analysis: Analysis, label: str) -> Iterator[str]:
    """Where it is ahead of the base, by the verdicts of the campaign and by nothing else."""
    for metric, what in BY:
        comparisons = [c for c in analysis.compare(metric) if c.label == label]
        points = [
            f"`{c.point}` ({cells.ratio(c.ratio)}{CAPPED if c.server_limited else ''})"
            for c in comparisons
            if better(metric, c.ratio)
        ]
        if points:
            where = f"{listing(points)}, of {len(comparisons)} points"
            yield f"Compared with `{analysis.base}`, {what} at {where}."


def better(metric: Metric, ratio: Ratio) -> bool:
    """Whether a difference is shown, to the better."""
    more = metric.name == stats.PAGES_PER_S.name
    return ratio.shown and ratio.value is not None and (ratio.value > 1) == more


def pages(analysis: Analysis, accounts: Sequence[Account], sha256: str) -> dict[str, str]:
    """The files of docs/cards, and their texts."""
    rungs = sorted(OURS.values(), key=lambda backend: backend.rung)
    every = [card(analysis, accounts, backend) for backend in rungs]
    python = accounts[0].python if accounts else ""
    texts = {OVERVIEW: rendered("overview.md", cards=every, campaign=analysis.campaign, on=python)}
    for made in every:
        if made.backend.name in CHOSEN:
            # In docs/cards, links to what is in docs/ are one level up.
            moved = re.sub(r"\]\((?!https?:|#)", "](../", body(made, analysis.campaign, sha256))
            texts[f"{made.backend.name}.md"] = moved
    return {name: f"{text.rstrip()}\n" for name, text in texts.items()}


def body(card: Card, campaign: CampaignRecord, sha256: str) -> str:
    return rendered("card.md", card=card, campaign=campaign, sha256=sha256)


def rendered(template: str, **names: object) -> str:
    environment = markup.templates(__name__, grid=grid, count=count)
    return environment.get_template(template).render(chosen=CHOSEN, **names)


def write(folder: Path, made: dict[str, str]) -> None:
    """Write the files, and remove the cards of backends that are no more."""
    filesystem.make_folder(folder)
    for file_name, text in made.items():
        filesystem.write_text(folder / file_name, text)
    for file in folder.glob("*.md"):
        if file.name not in made:
            file.unlink()
