"""The page of a campaign: one HTML file that needs nothing else, made from its records.

What it says comes from the functions that make the tables and the charts; this
module arranges it and :file:`templates/` gives it its look. Jinja2 escapes all
of it.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import jinja2
from markupsafe import Markup, escape

from bench import across, cite, export, findings, ladder, stats, store, summary
from bench.charts import Chart, Facts
from bench.charts.style import PALETTES
from bench.claims import ledger
from bench.claims import records as experiments
from bench.claims.verdict import Verdict
from bench.schema import TrialRecord
from bench.store import Records
from bench.summary import MemoryRow, SummaryRow

#: Findings that stand on top; the others follow where they belong.
ANSWERS: Final = 3
#: Columns whose cells are words, set to the left.
WORDS: Final = frozenset(
    {"backend", "point", "status", "reason", "verdict", "limiter", "interpreter"}
    | {"what it changes", *summary.REGIME_HEADER}
)
#: Columns whose cells are names, which are not broken into lines.
NAMES: Final = frozenset({"point", "limiter", "status"})


@dataclass(frozen=True, slots=True)
class Table:
    """A table to sort: the first column names the row."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart in both themes, and the files it is kept in."""

    name: str
    title: str
    alt: str
    light: str
    dark: str
    files: Sequence[tuple[str, str]]  # what it is, address relative to the page


@dataclass(frozen=True, slots=True)
class Download:
    """Data that the page holds itself, or a file beside it."""

    what: str
    name: str
    address: str


def page(
    records: Records,
    charts: Sequence[Chart],
    folder: Path,
    sha256: str,
    claims: Sequence[Verdict] = (),
) -> str:
    """The page, for a campaign whose charts were drawn to ``folder``."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bench.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    everything = records.all
    said = [words(sentence) for sentence in findings.findings(everything)]
    campaign = records.campaign
    return environment.get_template("page.html").render(
        campaign=campaign,
        answers=said[:ANSWERS],
        further=said[ANSWERS:],
        footer=Facts(everything).footer,
        tables=tables(records),
        figures=[figure(chart, folder) for chart in charts if chart.files],
        skipped=[chart for chart in charts if chart.skipped],
        claims=claims,
        said=ledger.said_in_all,
        now=ledger.now,
        warnings=summary.warnings(everything),
        method=summary.method_lines(everything),
        limiters=limiters(records.trials),
        unusable=unusable(records.trials),
        environment=summary.environment_rows(campaign),
        downloads=downloads(records, folder),
        citation=cite.text(campaign, sha256),
        bibtex=cite.bibtex(campaign, sha256),
        trials=len(records.trials),
        usable=sum(trial.status == "ok" for trial in records.trials),
        words_columns=WORDS,
        names_columns=NAMES,
        light=PALETTES["light"],
        dark=PALETTES["dark"],
    )


def words(sentence: str) -> Markup:
    """A finding's bold and code marks as HTML, all else escaped."""
    safe = str(escape(sentence))
    safe = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", safe)
    safe = re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
    # Escaped before the marks were put in.
    return Markup(safe)  # nosec B704


def tables(records: Records) -> list[Table]:
    """The tables in the order of the page, the one at a glance first; none is empty."""
    if across.interpreters(records.all):
        return [
            Table("Across interpreters", summary.ACROSS_HEADER, summary.across_rows(records.all))
        ]
    rows = summary.summary_rows(records.all)
    memory = summary.memory_rows(records.all)
    base = records.campaign.base
    found = [at_a_glance(records, rows, memory)]
    closed = [row for mine in summary.by_point(rows, stats.CLOSED).values() for row in mine]
    found.append(
        Table(
            "Closed loop: every backend at every point",
            ("backend", "point", *summary.CLOSED_HEADER[1:]),
            [with_point(row, summary.closed_cells(row, base)) for row in closed],
        )
    )
    found.append(
        Table(
            "Memory per connection, KiB",
            summary.MEMORY_HEADER,
            [summary.memory_cells(row) for row in memory],
        )
    )
    opened = [row for mine in summary.by_point(rows, ("openloop",)).values() for row in mine]
    found.append(
        Table(
            "Open loop: response time from the intended start",
            summary.OPEN_HEADER,
            [summary.open_cells(row) for row in opened],
        )
    )
    steps = ladder.ladder(records.all)
    if steps is not None:
        found.append(
            Table(
                "The ladder: one change per rung",
                summary.LADDER_HEADER,
                summary.ladder_rows(steps),
                summary.ladder_notes(steps),
            )
        )
    found.append(
        Table(
            "Which model wins, by slots and delay",
            summary.REGIME_HEADER,
            summary.regime_rows(records.all),
            [summary.REGIME_NOTE],
        )
    )
    found.append(
        Table(
            "Fairness between slots",
            summary.FAIRNESS_HEADER,
            summary.fairness_rows(records.all),
        )
    )
    return [table for table in found if table.rows]


def with_point(row: SummaryRow, cells: Sequence[str]) -> list[str]:
    """The cells of a row with its point after its name."""
    return [cells[0], row.point, *cells[1:]]


def at_a_glance(records: Records, rows: Sequence[SummaryRow], memory: Sequence[MemoryRow]) -> Table:
    """One row for each backend: speed, cost and memory at the point that stands for all."""
    point = Facts(records.all).reference_point("throughput", "real", "waiting")
    held = {row.label: summary.memory_cells(row) for row in memory}
    total, user = (summary.MEMORY_HEADER.index(name) for name in ("total", "user"))
    at = dict(zip(summary.CLOSED_HEADER, range(len(summary.CLOSED_HEADER)), strict=True))
    chosen = ("pages/s, median [min–max]", "ratio [95 %]", "verdict")
    later = ("CPU user ms", "CPU system ms", "p99 ms", "limiter")
    found = []
    for row in rows:
        if row.point != point or "#" in row.label:
            continue
        cells = summary.closed_cells(row, records.campaign.base)
        mine = held.get(row.label)
        found.append(
            [
                row.label,
                *(cells[at[name]] for name in chosen),
                *(cells[at[name]] for name in later[:-1]),
                mine[total] if mine else "–",
                mine[user] if mine else "–",
                cells[at[later[-1]]],
            ]
        )
    return Table(
        f"At a glance: {point}, ratios to {records.campaign.base}; CPU per 1000 pages; "
        "memory per waiting connection",
        ("backend", *chosen, *later[:-1], "memory KiB", "of it user KiB", later[-1]),
        found,
    )


def figure(chart: Chart, folder: Path) -> Figure:
    """A chart with its pictures as data, and its files as links."""

    def picture(theme: str) -> str:
        return data_uri("image/svg+xml", chart.by_format[f"svg/{theme}/wide"].read_bytes())

    return Figure(
        chart.name,
        chart.title,
        chart.alt,
        picture("light"),
        picture("dark"),
        files=[
            (f"{kind.upper()}, {theme}{', square' if shape == 'square' else ''}", address)
            for what, file in chart.by_format.items()
            for kind, theme, shape in [what.split("/")]
            for address in [file.relative_to(folder).as_posix()]
        ],
    )


def data_uri(kind: str, data: bytes) -> str:
    """Bytes as an address that needs no request."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def downloads(records: Records, folder: Path) -> list[Download]:
    """The trials' table within the page, and the files that lie beside it."""
    found = [
        Download(
            "trials as CSV",
            "trials.csv",
            data_uri("text/csv;charset=utf-8", export.to_csv(records).encode()),
        ),
        Download(
            "the tables’ numbers as JSON",
            "summary.json",
            data_uri("application/json", summary_json(records).encode()),
        ),
    ]
    beside = {
        store.FILE_NAME: "raw records",
        experiments.FILE_NAME: "raw records of the experiments for the claims",
        "summary.md": "tables",
        "citation.bib": "BibTeX",
    }
    return found + [
        Download(what, name, name) for name, what in beside.items() if (folder / name).is_file()
    ]


def summary_json(records: Records) -> str:
    """What the tables are made from, unrounded."""
    return json.dumps(
        {
            "campaign": records.campaign.campaign,
            "points": [asdict(row) for row in summary.summary_rows(records.all)],
            "memory": [asdict(row) for row in summary.memory_rows(records.all)],
        }
    )


def limiters(trials: Sequence[TrialRecord]) -> Sequence[tuple[str, int]]:
    """How many trials were held back by what, most first."""
    return Counter(t.limiter for t in trials if t.limiter and t.status == "ok").most_common()


def unusable(trials: Sequence[TrialRecord]) -> Table:
    """The trials that no figure counts, each with its reason."""
    return Table(
        "Trials that no figure counts",
        ("backend", "point", "block", "status", "reason"),
        [
            (t.label, t.point, str(t.block + 1), t.status, t.reason or "no reason given")
            for t in trials
            if t.status != "ok"
        ],
    )
