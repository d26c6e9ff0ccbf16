"""The page of a campaign: one self-contained HTML file, made from its records.

Its numbers come from the analysis, its tables and pictures from the modules that
build them. This module arranges them, and :file:`templates/` gives the page its
look. Jinja2 escapes all text.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup
from rich.console import Console

from bench import filesystem, store
from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.palette import PALETTES
from bench.questions import analysis_of, asked
from bench.report import cite, export, files, findings, markup, summary
from bench.report.charts import Chart, render_all
from bench.show.table import Table
from bench.show.words import footer
from bench.store import Records
from bench.text import count, listing, plural

GLANCE: Final = "glance"
"""The chart of the first screen."""

MOST: Final = 10
"""Charts that every reader sees; the others are folded."""

FIRST: Final = (
    *("glance", "throughput", "cpu", "memory", "c10k", "tls-memory", "spectrum"),
    *("open_loop", "mixed", "against"),
)
"""These, in this order, where they were drawn; otherwise the first."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page."""

    anchor: str  # its address on the page
    title: str
    body: Markup
    records: Mapping[str, str]  # file beside the campaign's records -> what it holds


SectionsOf = Callable[[Analysis, Path], Sequence[Section]]
"""What another room adds to the report of a campaign, which it gets with its folder."""


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
) -> str:
    """The page, for a campaign whose charts were drawn to ``folder``."""
    templates = markup.templates(__name__)
    templates.finalize = markup.on_one_line
    reader = markup.reader()
    named, campaign = findings.named(analysis), analysis.campaign
    colours = markup.Colours()
    pictures = {
        chart.name: markup.svg(chart.name, chart.alt, chart.files["svg"], colours)
        for chart in charts
    }
    narrow = {
        chart.name: [markup.svg(file.stem, chart.alt, file, colours) for file in chart.narrow]
        for chart in charts
    }
    first = shown_first([*pictures])
    return templates.get_template("page.html").render(
        campaign=campaign,
        answers=[(word, markup.read_line(reader, text)) for word, text in findings.three(named)],
        versus=[markup.read_line(reader, text) for text in findings.versus(named)],
        further=[markup.read_line(reader, finding) for finding in named.values()],
        footer=footer(analysis),
        tables=page_tables(analysis),
        pictures=pictures,
        narrow=narrow,
        folder=folder,
        glance=next((chart for chart in charts if chart.name == GLANCE), None),
        figures=[x for name in first for x in charts if x.name == name and name != GLANCE],
        aside=[chart for chart in charts if chart.name not in first],
        sections=sections,
        trusted=trusted(analysis),
        warnings=summary.warnings(analysis),
        method=summary.method(analysis),
        environment=summary.environment(analysis.records),
        downloads=downloads(analysis, folder, sections),
        citation=cite.text(campaign, sha256),
        bibtex=cite.bibtex(campaign, sha256),
        palettes=PALETTES,
        colours=colours,
    )


MOST_VOID: Final = 0.05
"""A larger share of trials that do not count leaves too little of a campaign to trust."""


def shown_first(drawn: Sequence[str]) -> list[str]:
    """The charts that every reader sees."""
    return ([name for name in FIRST if name in drawn] or [*drawn])[:MOST]


@dataclass(frozen=True, slots=True)
class Trusted:
    """Whether the numbers of a campaign may be quoted, and why."""

    yes: bool
    why: str


def trusted(analysis: Analysis) -> Trusted:
    """The short answer. Noise is no reason against it: nothing below it is called a difference."""
    records, aa = analysis.records, analysis.aa
    floors = {"pages/s": analysis.floor(), "processor time": analysis.floor(stats.CPU_PER_1000)}
    known = [f"{stats.floor_words(f.log)} by {what}" for what, f in floors.items() if f.log]
    trials = len(records.every_trial)
    done = sum(t.status == "ok" for t in records.every_trial)
    bad = trials - done
    blocks = len({t.block for t in records.trials})
    few = f"{plural(blocks, 'block')} {'is' if blocks == 1 else 'are'}"
    compared = f"of {plural(aa.tested, 'comparison')} of a backend with itself"
    alarms = f"{aa.alarms} {compared} raised an alarm"
    against = {
        "it was not measured to its end": records.unfinished is not None,
        f"{records.planned - trials} of {plural(records.planned, 'planned trial')} are missing": (
            records.unfinished is None and trials < records.planned
        ),
        f"{bad} of {plural(trials, 'trial')} do not count": bad > MOST_VOID * trials,
        f"{few} too few for an interval": blocks < stats.MIN_BLOCKS,
        alarms: aa.alarms > (1 - stats.LEVEL) * aa.tested,
    }
    if any(against.values()):
        return Trusted(False, f"{listing([why for why, is_so in against.items() if is_so])}.")
    noise = f", and nothing below {listing(known)} is called a difference"
    raised = f"{aa.alarms} {compared} raised a false alarm"
    return Trusted(
        True,
        f"{count(done)} of {plural(trials, 'trial')} count, each checked page by page; "
        f"{raised if aa.tested else 'no backend was compared with itself'}"
        f"{noise if known else ''}.",
    )


def page_tables(analysis: Analysis) -> list[Table]:
    """The tables in the order of the page, the one at a glance first; none is empty."""
    glance = asked(analysis, GLANCE)
    first = list(glance.tables) if glance else []
    rest = [table for table in summary.tables(analysis) if table not in first]
    return [table for table in (*first, *rest) if table.rows]


def compressed(text: str) -> str:
    """A text, gzipped, as a data address; the same bytes every time."""
    data = gzip.compress(text.encode(), mtime=0)
    return f"data:application/gzip;base64,{base64.b64encode(data).decode()}"


def downloads(analysis: Analysis, folder: Path, sections: Sequence[Section]) -> list[Download]:
    """The trials inside the page, and the files beside it."""
    names = {
        store.FILE_NAME: "raw records",
        store.PACKED: "raw records, compressed",
        store.TURNS: "every turn",
        **{name: what for section in sections for name, what in section.records.items()},
        files.SUMMARY: "tables",
        files.CITATION: "BibTeX",
    }
    return [
        Download("trials as CSV", "trials.csv.gz", compressed(export.to_csv(analysis.records))),
        *(Download(what, name, name) for name, what in names.items() if (folder / name).is_file()),
    ]


def build(analysis: Analysis, folder: Path, file: Path, sections_of: SectionsOf) -> list[Chart]:
    """Draw the charts and write summary, page and citation to ``folder``; returns the charts.

    ``file`` holds the records: its checksum is cited, and what other rooms add has
    its own records beside it. Raises :class:`bench.BenchError` when something
    cannot be written.
    """
    sha256 = cite.checksum(file)
    sections = sections_of(analysis, file.parent)
    with filesystem.scratch() as narrow:
        drawn = render_all(analysis, folder / files.CHARTS, narrow=narrow)
        filesystem.write_text(folder / files.SUMMARY, summary.to_markdown(analysis))
        filesystem.write_text(folder / files.CITATION, cite.bibtex(analysis.campaign, sha256))
        # Last: it links to what is there.
        text = page(analysis, drawn, folder, sha256, sections)
    filesystem.write_text(folder / files.PAGE, text)
    return drawn


def write(
    records: Records,
    folder: Path,
    console: Console,
    file: Path,
    sections_of: SectionsOf,
    *,
    verbose: bool = False,
) -> None:
    """As :func:`build`, and print one screen, or with ``verbose`` the tables before it."""
    analysis = analysis_of(records)
    build(analysis, folder, file, sections_of)
    if not console.is_terminal:
        console.width = max(files.PLAIN_WIDTH, console.width)
    if verbose:
        summary.show(analysis, console)
    findings.show(analysis, folder, console)
