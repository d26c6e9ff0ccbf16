"""What a campaign leaves for people: charts, ``summary.md``, a table on the terminal.

Everything here is made from the records alone.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from rich.console import Console

from bench import store
from bench.store import Records

CHARTS = "charts"
SUMMARY = "summary.md"
PLAIN_WIDTH = 140
"""Columns where there is no terminal to ask: room for the widest table."""


def write(records: Records, folder: Path, console: Console) -> list[Path]:
    """Draw the charts, write the summary and print the table; returns the files.

    Raises :class:`bench.store.StoreError` when they cannot be written.
    """
    # matplotlib takes a second to import, and not every command draws.
    from bench import charts, summary

    try:
        folder.mkdir(parents=True, exist_ok=True)
        drawn = charts.render_all(records.all, folder / CHARTS)
        (folder / SUMMARY).write_text(summary_text(records))
    except OSError as error:
        raise store.StoreError(f"{error.filename or folder}: {error.strerror}") from None
    if not console.is_terminal:
        console.width = max(PLAIN_WIDTH, console.width)
    summary.print_table(records.all, console)
    if line := trial_overhead(records):
        console.print(f"• {line}", highlight=False)
    return [file for chart in drawn for file in chart.files] + [folder / SUMMARY]


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
