"""A backend's card: what it is, its numbers, where it is ahead, and what to keep in mind.

As Markdown: docs/cards, and a section of every report. There is a card for each backend that people
choose between, and one table for all variants.
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
from bench.analysis.stats import Comparison, Metric, Ratio, Spread
from bench.capacity.report import PEOPLE
from bench.cards import libraries
from bench.cards.libraries import Library
from bench.costs import report as costs_report
from bench.costs.accounts import Account
from bench.machine.instruments import INSTRUCTIONS
from bench.questions import answers
from bench.report import markup
from bench.report.tables import grid
from bench.schema import CampaignRecord
from bench.show import cells
from bench.show.table import MISSING, Column, Row, Table, name, text_of
from bench.text import count, listing, markdown_table
from crawlers.backend import Backend
from crawlers.catalogue import OURS
from crawlers.registry import about

CRAWL: Final = "crawl"
"""The counted workload that comes first."""
FAMILIES: Final = {
    "threads": "one stack for each slot",
    "callbacks": "callbacks on an event loop",
    "generators": "generators on a hand-built loop",
    "async": "async and await, or a library of that kind",
    "stack": "a whole HTTP stack; compare it with stacks, not with models",
}
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


@dataclass(frozen=True, slots=True)
class Card:
    """All that is shown of one backend, in Markdown whose links are relative to docs/.

    Tables without rows, and lists without items, are not shown.
    """

    backend: Backend
    library: Library | None
    tables: Sequence[Table]
    ahead: Sequence[str]
    limits: Sequence[str]
    cite: str

    @property
    def changes(self) -> str:
        """What it changes, with the other backend's name as code."""
        against = self.backend.against
        words = self.backend.changes
        return words.replace(against, f"`{against}`", 1) if against else words


def card(
    analysis: Analysis,
    accounts: Sequence[Account],
    backend: Backend,
    sha256: str,
) -> Card:
    """The card of a backend, whether it was measured or not."""
    label = backend.name
    tables = numbers(analysis, label), costs(accounts, label)
    return Card(
        backend,
        libraries.of(label),
        [table for table in tables if table.rows],
        list(ahead(analysis, label)),
        list(limits(analysis, backend)),
        cited(analysis.campaign, label, sha256),
    )


def numbers(analysis: Analysis, label: str) -> Table:
    rows = list(_crawl(analysis, label))
    for question, found in answers(analysis):
        rows += found.measured.card(label, question.NAME)
    campaign = analysis.campaign
    plain = Column(f"plain [lowest–highest; ratio: {stats.AT_LEVEL}]")
    columns = [name("what"), name("where"), plain, Column("over TLS")]
    about = NUMBERS.format(campaign=campaign.campaign, python=campaign.environment.python)
    return Table("Numbers", columns, rows, about=about)


def _crawl(analysis: Analysis, label: str) -> Iterator[Row]:
    point = analysis.reference_point("ladder", "throughput")
    found = (row for row in analysis.rows if (row.point, row.label) == (point, label))
    row = next((row for row in found if row.trials), None)
    if row is None:
        return
    yield ["a crawl, pages/s", row.point, _spread(row.pages_per_s), MISSING]
    if row.ratio is not None:
        ratio = f"{cells.ratio(row.ratio)}, {row.ratio.verdict}"
        yield [f"… to {analysis.base}", row.point, ratio, MISSING]


def costs(accounts: Sequence[Account], label: str) -> Table:
    mine = {each.workload: each for each in accounts if each.backend == label and each.costs}
    order = sorted(mine, key=lambda workload: (workload != CRAWL, workload))
    columns = [name("a page takes"), *(Column(f"of {workload}") for workload in order)]
    rows: list[Row] = [
        [column.title, *(costs_report.cell(mine[workload].costs.get(key)) for workload in order)]
        for key, column in costs_report.COLUMNS.items()
        if any(key in mine[workload].costs for workload in order)
    ]
    counted = list(mine.values())
    about = " ".join((COUNTED, *costs_report.untold(counted)))
    return Table(costs_report.captioned("Exact costs", counted), columns, rows, about=about)


def _spread(found: Spread | None) -> str:
    return text_of(cells.spread(found))


# --- sentences ---------------------------------------------------------------------------


def ahead(analysis: Analysis, label: str) -> Iterator[str]:
    """Where it is ahead of the base, by the verdicts of the campaign and by nothing else."""
    for metric, what in BY:
        found = [c for c in analysis.compare(metric) if c.label == label]
        points = [
            f"`{c.point}` ({cells.ratio(c.ratio)}{_capped(c)})"
            for c in found
            if better(metric, c.ratio)
        ]
        if points:
            where = f"{listing(points)}, of {len(found)} points"
            yield f"Compared with `{analysis.base}`, {what} at {where}."


def better(metric: Metric, ratio: Ratio) -> bool:
    """Whether a difference is shown, to the better."""
    more = metric.name == stats.PAGES_PER_S.name
    return ratio.shown and ratio.value is not None and (ratio.value > 1) == more


def _capped(found: Comparison) -> str:
    return ", the server was the limit" if found.server_limited else ""


def limits(analysis: Analysis, backend: Backend) -> Iterator[str]:
    if backend.most is not None:
        yield f"It holds at most {count(backend.most)} connections at once."
    if backend.no_https is not None:
        yield f"No HTTPS: {backend.no_https}."
    if backend.cannot_see:
        kinds = ", ".join(f"`{kind}`" for kind in sorted(backend.cannot_see))
        yield f"Its library hides these errors of TLS: {kinds}."
    for reason in dict.fromkeys(backend.differs.values()):
        yield f"Conformance: {reason}."
    if backend.name not in analysis.labels:
        yield "Not measured in this campaign."
    library = libraries.of(backend.name)
    if library is not None:
        yield f"**Still to be said.** {library.still}"


def cited(campaign: CampaignRecord, label: str, sha256: str) -> str:
    commit = campaign.environment.commit or "unknown"
    return (
        f"Backend `{label}`, campaign `{campaign.campaign}`, commit `{commit}`, SHA-256 of the "
        f"records `{sha256}`. `python -m bench cite` prints the whole entry."
    )


# --- as Markdown ------------------------------------------------------------------------------

CHOSEN: Final = (*PEOPLE, "tornado", "twisted")
"""The backends with a card."""
OVERVIEW: Final = "README.md"
MADE: Final = "<!-- Made by `python -m tools.site` from the records in results/. -->"
HEAD: Final = (
    "backend",
    "what it changes",
    "pages/s",
    "CPU µs / page",
    "1,000 instructions / page",
    "KiB / connection",
    "over TLS",
)
FROM: Final = (
    ("a crawl, pages/s", 2),
    ("a crawled page among all variants, processor time, µs", 2),
    ("a connection, KiB", 2),
    ("a connection, KiB", 3),
)
"""Which rows and columns of a card's numbers the overview has."""


def pages(analysis: Analysis, accounts: Sequence[Account], sha256: str) -> dict[str, str]:
    names = sorted(OURS, key=lambda name: OURS[name].rung)
    every = [card(analysis, accounts, about(name), sha256) for name in names]
    campaign = analysis.campaign
    overview = (
        f"Every backend in campaign `{campaign.campaign}`, {campaign.environment.python}. Those "
        "that people choose between have a card: what its documentation recommends, its numbers, "
        f"where it is ahead, and its limits.\n\n{table(every, accounts)}"
    )
    texts = {OVERVIEW: f"# Cards\n\n{overview}"} | {
        f"{each.backend.name}.md": f"# `{each.backend.name}`\n\n{_moved(body(each))}"
        for each in every
        if each.backend.name in CHOSEN
    }
    return {name: f"{MADE}\n\n{text}\n" for name, text in texts.items()}


def write(folder: Path, made: dict[str, str]) -> None:
    """Write the files, and remove the cards of backends that are no more."""
    filesystem.make_folder(folder)
    for file_name, text in made.items():
        filesystem.write_text(folder / file_name, text)
    for file in folder.glob("*.md"):
        if file.name not in made:
            file.unlink()


def body(found: Card) -> str:
    """A card below its title; links are relative to docs/."""
    template = markup.templates(__name__, grid=grid).get_template("card.md")
    return template.render(card=found, families=FAMILIES)


def table(found: Sequence[Card], accounts: Sequence[Account]) -> str:
    """Backends in a row each; those with a card lead to it."""
    instructions = {
        one.backend: one.costs[INSTRUCTIONS].middle
        for one in accounts
        if one.workload == CRAWL and INSTRUCTIONS in one.costs
    }
    rows = []
    for each in found:
        name = each.backend.name
        numbers = next((one for one in each.tables if one.caption == "Numbers"), None)
        rate, cpu, plain, tls = (_figure(numbers, what, column) for what, column in FROM)
        counted = instructions.get(name)
        rows.append(
            [
                f"[`{name}`]({name}.md)" if name in CHOSEN else f"`{name}`",
                each.changes,
                *(rate, cpu),
                MISSING if counted is None else cells.figure(counted / 1000),
                *(plain, tls),
            ]
        )
    missing = [f"`{one.backend.name}`" for one in found if not one.tables]
    why = f" Not measured: {listing(missing)}." if missing else ""
    if accounts:
        why += f" Instructions were counted with {accounts[0].python}."
    lines = markdown_table(HEAD, rows, right=len(HEAD) - 2)
    return "\n".join([*lines, "", f"A dash means that it was not measured.{why}"])


def _figure(numbers: Table | None, what: str, column: int) -> str:
    rows = numbers.rows if numbers else ()
    found = (text_of(row[column]) for row in rows if row[0] == what)
    return next(found, MISSING).partition(" ")[0]


def _moved(text: str) -> str:
    """With links relative to docs/, as it must be in docs/cards."""
    return re.sub(r"\]\((?!https?:|#)", "](../", text)
