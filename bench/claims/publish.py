"""From campaigns to the page, the chart and the table of the ledger."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench import charts, output
from bench.claims import chart, ledger
from bench.claims.readings import Evidence
from bench.claims.verdict import Verdict, judge
from bench.process import RESULTS

PAGE = "claims.md"
USUAL = ("reference", "claims")
"""Campaigns judged by unless others are named; the second has what only claims need."""


def usual() -> list[Path]:
    """Those of :data:`USUAL` that are there; the first even when it is not."""
    first, *rest = (RESULTS / name for name in USUAL)
    return [first, *(path for path in rest if path.is_dir())]


def write(folders: Sequence[Path], page: Path, console: Console) -> list[Path]:
    """Judge every claim by these campaigns; write the page and the chart, print the table.

    The chart goes to the first campaign's charts. Returns the files. Raises
    :class:`bench.store.StoreError` when records cannot be read or files not written.
    """
    evidence, verdicts = judged(folders)
    files = [page]
    if isinstance(plan := chart.plan(verdicts), charts.Plan):
        outdir = folders[0] / output.CHARTS
        output.make_folder(outdir)
        facts = charts.Facts(evidence[0].trials)
        drawn = charts.draw(plan, outdir, facts.backends, facts.footer, themes=("light", "dark"))
        files += drawn.values()
    output.write_text(page, text(folders, page))
    if not console.is_terminal:
        console.width = max(output.PLAIN_WIDTH, console.width)
    ledger.show(verdicts, console)
    console.print(f"page: {page}", highlight=False, soft_wrap=True)
    return files


def judged(folders: Sequence[Path]) -> tuple[list[Evidence], list[Verdict]]:
    """The records of these campaigns and what they say of every claim."""
    evidence = [Evidence.load(folder) for folder in folders]
    return evidence, judge(evidence)


def text(folders: Sequence[Path], page: Path) -> str:
    """What stands on the page, if it is written there."""
    evidence, verdicts = judged(folders)
    picture = None
    if chart.rows_of(verdicts):
        file = folders[0] / output.CHARTS / f"{chart.NAME}.png"
        picture = Path(os.path.relpath(file, page.parent)).as_posix()
    return ledger.markdown(verdicts, evidence, command(folders, page), picture)


def command(folders: Sequence[Path], page: Path) -> str:
    """What makes this page again, seen from the repository."""
    campaigns = [f"results/{folder.name}" for folder in folders]
    words = [] if list(folders) == usual() else campaigns
    out = [] if page.parent in folders else ["--out", f"{page.parent.name}/{page.name}"]
    return " ".join(["python -m bench claims", *words, *out])
