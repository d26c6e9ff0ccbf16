"""Writes the page and the chart of the ledger, and prints its table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench import filesystem
from bench.claims import chart, ledger
from bench.claims.readings import Evidence
from bench.claims.verdict import Verdict, judge
from bench.launch import RESULTS
from bench.report import charts
from bench.report import files as report_files
from bench.show.words import footer

PAGE = "claims.md"
USUAL = ("reference", "claims", "interpreters")
"""The default campaigns; those after the first have the trials that only some claims need."""


def usual() -> list[Path]:
    """The campaigns of :data:`USUAL` that exist; always includes the first."""
    first, *rest = (RESULTS / name for name in USUAL)
    return [first, *(path for path in rest if path.is_dir())]


def write(folders: Sequence[Path], page: Path, console: Console) -> list[Path]:
    """Judge every claim by these campaigns; write the page and the chart, print the table.

    The chart goes to the first campaign's charts. Returns the files. Raises
    :class:`bench.store.StoreError` if records cannot be read or files not written.
    """
    evidence, verdicts = judged(folders)
    files = [page]
    if isinstance(design := chart.design(verdicts), charts.Design):
        outdir = folders[0] / report_files.CHARTS
        filesystem.make_folder(outdir)
        analysis = evidence[0].analysis
        drawn = charts.Sheet(outdir, analysis.backends, footer(analysis)).draw(design)
        files += drawn.files.values()
    filesystem.write_text(page, text(folders, page))
    if not console.is_terminal:
        console.width = max(report_files.PLAIN_WIDTH, console.width)
    ledger.show(verdicts, console)
    console.print(f"page: {page}", soft_wrap=True)
    return files


def judged(folders: Sequence[Path]) -> tuple[list[Evidence], list[Verdict]]:
    """The records of these campaigns, and the verdicts on all claims."""
    evidence = [Evidence.load(folder) for folder in folders]
    return evidence, judge(evidence)


def text(folders: Sequence[Path], page: Path) -> str:
    """The contents of the page."""
    evidence, verdicts = judged(folders)
    picture = None
    if chart.rows_of(verdicts):
        file = folders[0] / report_files.CHARTS / f"{chart.NAME}.svg"
        picture = Path(os.path.relpath(file, page.parent)).as_posix()
    return ledger.markdown(verdicts, evidence, command(folders, page), picture)


def command(folders: Sequence[Path], page: Path) -> str:
    """The command that rebuilds this page, from the root of the repository."""
    campaigns = [f"results/{folder.name}" for folder in folders]
    words = [] if list(folders) == usual() else campaigns
    out = [] if page.parent in folders else ["--out", f"{page.parent.name}/{page.name}"]
    return " ".join(["python -m bench claims", *words, *out])
