"""What a campaign leaves for people: charts, page, summary, citation, a table on the terminal.

Everything here is made from the records alone.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from rich.console import Console

from bench import store
from bench.process import ROOT
from bench.store import Records

if TYPE_CHECKING:
    from bench.charts import Chart

CHARTS = "charts"
SUMMARY = "summary.md"
PAGE = "report.html"
CITATION = "citation.bib"
PLAIN_WIDTH = 140
"""Columns where there is no terminal to ask: room for the widest table."""


def build(records: Records, folder: Path, file: Path, *, everything: bool = False) -> list[Chart]:
    """Draw the charts and write summary, page and citation; returns the charts.

    ``file`` is the one that the records are from: its checksum is cited, and the
    experiments beside it are held against the claims. Charts are drawn wide, light
    and dark, as SVG and PNG; ``everything`` adds square ones and PDF. Raises
    :class:`bench.store.StoreError` when something cannot be written.
    """
    # matplotlib takes a second to import, and not every command draws.
    from bench import charts, cite, report
    from bench.claims import chart, verdict

    sha256 = cite.checksum(file)
    verdicts = verdict.of_campaign(records, file.parent)
    try:
        drawn = charts.render_all(
            records.all,
            folder / CHARTS,
            formats=("svg", "png", "pdf") if everything else ("svg", "png"),
            themes=("light", "dark"),
            shapes=("wide", "square") if everything else ("wide",),
            further=[chart.plan(verdicts)] if verdicts else (),
        )
        (folder / SUMMARY).write_text(summary_text(records))
        (folder / CITATION).write_text(cite.bibtex(records.campaign, sha256))
        (folder / PAGE).write_text(report.page(records, drawn, folder, sha256, verdicts))
    except OSError as error:
        raise store.StoreError(f"{error.filename or folder}: {error.strerror}") from None
    return drawn


def write(
    records: Records, folder: Path, console: Console, file: Path, *, everything: bool = False
) -> None:
    """As :func:`build`, and print the table."""
    from bench import summary

    build(records, folder, file, everything=everything)
    if not console.is_terminal:
        console.width = max(PLAIN_WIDTH, console.width)
    summary.print_table(records.all, console)
    if line := trial_overhead(records):
        console.print(f"• {line}", highlight=False)
    where = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    for what, name in (("page", PAGE), ("charts", CHARTS), ("table", SUMMARY)):
        console.print(f"{what + ':':<7} {where / name}", highlight=False, markup=False)


def write_text(file: Path, text: str) -> None:
    """Write one file for people; raises :class:`bench.store.StoreError` when it cannot be."""
    make_folder(file.parent)
    try:
        file.write_text(text)
    except OSError as error:
        raise store.StoreError(f"{error.filename or file}: {error.strerror}") from None


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; raises :class:`bench.store.StoreError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise store.StoreError(f"{error.filename or folder}: {error.strerror}") from None


def summary_text(records: Records) -> str:
    """The summary, with what the harness cost in each trial."""
    from bench import summary

    text = summary.to_markdown(records.all).rstrip("\n") + "\n"
    line = trial_overhead(records)
    return f"{text}\n{line}\n" if line else text


def trial_overhead(records: Records) -> str | None:
    """What the harness adds to each trial, in a sentence; None without trials."""
    around = [trial.trial_s - trial.elapsed_s for trial in records.trials if trial.elapsed_s]
    if not around:
        return None
    return f"A trial took {median(around):.2f} s besides its timed part (median)."
