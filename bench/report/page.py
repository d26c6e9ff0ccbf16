"""The page of a campaign: one self-contained HTML file, made from its records.

Its numbers come from the analysis, its tables and pictures from the modules that
build them. This module arranges them, and :file:`templates/` gives the page its
look. Jinja2 escapes all text.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup, escape

from bench import filesystem, store, turnlog
from bench.analysis import trust
from bench.analysis.analysis import Analysis
from bench.palette import PALETTES
from bench.questions import answers
from bench.report import cite, export, files, findings, inline, markup, summary
from bench.report.charts import Chart
from bench.report.extension import Section
from bench.report.tables.closed_loop import at_a_glance
from bench.report.tables.environment import environment
from bench.report.tables.trials import unusable
from bench.schema import TrialRecord
from bench.show.table import Table
from bench.show.words import footer

#: Findings at the top of the page; the others follow further down.
ANSWERS: Final = 3


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart for both themes, and links to its files."""

    name: str
    title: str
    alt: str
    svg: Markup
    files: Sequence[tuple[str, str]]  # what it is, address relative to the page


@dataclass(frozen=True, slots=True)
class Download:
    """Data inside the page, or a file beside it."""

    what: str
    name: str
    address: str


def page(
    analysis: Analysis,
    charts: Sequence[Chart],
    folder: Path,
    sha256: str,
    sections: Sequence[Section] = (),
    beside: Mapping[str, str] | None = None,
) -> str:
    """The page, for a campaign whose charts were drawn to ``folder``.

    ``beside`` says what further files hold that may lie beside the records.
    """
    templates = markup.templates(__name__)
    sentences = [markup.marked(sentence) for sentence in findings.findings(analysis)]
    trials, campaign = analysis.records.trials, analysis.campaign
    colours = inline.Colours()
    return templates.get_template("page.html").render(
        campaign=campaign,
        answers=sentences[:ANSWERS],
        further=sentences[ANSWERS:],
        footer=footer(analysis),
        tables=page_tables(analysis),
        figures=[figure(chart, folder, colours) for chart in charts if chart.files],
        skipped=[chart for chart in charts if chart.skipped],
        sections=sections,
        warnings=trust.warnings(analysis),
        method=trust.method_lines(analysis),
        limiters=limiters(trials),
        unusable=unusable(analysis.records),
        environment=environment(analysis.records),
        downloads=downloads(analysis, folder, beside or {}),
        citation=cite.text(campaign, sha256),
        bibtex=cite.bibtex(campaign, sha256),
        trials=len(trials),
        usable=sum(trial.status == "ok" for trial in trials),
        palettes=PALETTES,
        colours=colours,
    )


def page_tables(analysis: Analysis) -> list[Table]:
    """The tables in the order of the page, the overview first; none is empty."""
    first = [] if analysis.releases else [at_a_glance(analysis)]
    return [table for table in (*first, *summary.tables(analysis)) if table.rows]


def figure(chart: Chart, folder: Path, colours: inline.Colours) -> Figure:
    """A chart with its picture for both themes, and its files as links."""
    light, dark = (
        filesystem.read_text(chart.files[f"svg/{name}/wide"]) for name in ("light", "dark")
    )
    picture = inline.svg(chart.name, str(escape(chart.alt)), light, dark, colours)
    return Figure(
        chart.name,
        chart.title,
        chart.alt,
        Markup(picture),  # nosec B704: drawn by us, and matplotlib escapes its text
        files=[
            (f"{kind.upper()}, {theme}{', square' if shape == 'square' else ''}", address)
            for what, file in chart.files.items()
            for kind, theme, shape in [what.split("/")]
            for address in [file.relative_to(folder).as_posix()]
        ],
    )


def compressed(text: str) -> str:
    """A text, gzipped, as a data address; the same bytes every time."""
    data = gzip.compress(text.encode(), mtime=0)
    return f"data:application/gzip;base64,{base64.b64encode(data).decode()}"


def downloads(analysis: Analysis, folder: Path, beside: Mapping[str, str]) -> list[Download]:
    """Trials and tables inside the page, and the files beside it."""
    within = (
        ("trials as CSV", "trials.csv.gz", export.to_csv(analysis.records)),
        ("the tables’ numbers as JSON", "summary.json.gz", summary_json(analysis)),
    )
    names = {
        store.FILE_NAME: "raw records",
        store.PACKED: "raw records, compressed",
        turnlog.FILE_NAME: "every turn",
        **beside,
        files.SUMMARY: "tables",
        files.CITATION: "BibTeX",
    }
    return [
        *(Download(what, name, compressed(text)) for what, name, text in within),
        *(Download(what, name, name) for name, what in names.items() if (folder / name).is_file()),
    ]


def summary_json(analysis: Analysis) -> str:
    """The numbers behind the tables, not rounded."""
    return json.dumps(
        {
            "campaign": analysis.campaign.campaign,
            "points": [asdict(row) for row in analysis.rows],
            "memory": [asdict(row) for row in analysis.memory_rows],
            **{question.NAME: found.measured.as_json() for question, found in answers(analysis)},
            **({"mixed": [asdict(row) for row in analysis.mixed]} if analysis.mixed else {}),
            **({"tls": asdict(analysis.encryption)} if analysis.measures_tls else {}),
        }
    )


def limiters(trials: Sequence[TrialRecord]) -> Sequence[tuple[str, int]]:
    """How many valid trials each limiter held back, most first."""
    return Counter(t.limiter for t in trials if t.limiter and t.status == "ok").most_common()
