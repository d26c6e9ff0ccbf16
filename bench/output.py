"""What a campaign leaves for people: charts, ``summary.md``, a table on the terminal.

Everything here is made from the records alone.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from bench import overhead, store
from bench.store import Records

CHARTS = "charts"
SUMMARY = "summary.md"


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
    summary.print_table(records.all, console)
    for line in overhead.words(records):
        console.print(line, highlight=False)
    return [file for chart in drawn for file in chart.files] + [folder / SUMMARY]


def summary_text(records: Records) -> str:
    """The summary, with what the instrument cost."""
    from bench import summary

    text = summary.to_markdown(records.all).rstrip("\n") + "\n"
    if lines := overhead.words(records):
        text += (
            "\n## The instrument's own cost\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"
        )
    return text
