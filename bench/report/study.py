"""What every study beside the campaigns writes: a summary, and charts with their origin below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from bench import filesystem
from bench.report.charts import Design, Sheet, Skip, designed
from bench.report.files import CHARTS, SUMMARY
from bench.schema import Environment
from bench.show.figures import Figure
from bench.show.words import commit_words, machine_words


def origin(source: str, environment: Environment, created: str) -> tuple[str, str]:
    """Where and when the numbers of a chart were taken, and by what."""
    return machine_words(environment, created), f"{source} · commit {commit_words(environment)}"


def drawn(figure: Figure, below: tuple[str, str]) -> Design:
    """A figure with its origin below it."""
    return replace(designed(figure), footer=below)


def write(
    folder: Path, summary: str, designs: Iterable[Design | Skip], backends: Sequence[str]
) -> list[Path]:
    """Draw the charts and write the summary; returns the files.

    ``backends`` are in the order that decides on their colours. Raises
    :class:`bench.filesystem.FileError`.
    """
    filesystem.make_folder(folder / CHARTS)
    sheet = Sheet(folder / CHARTS, backends, ())
    charts = [sheet.draw(design) for design in designs]
    filesystem.write_text(folder / SUMMARY, summary)
    return [*(file for chart in charts for file in chart.files.values()), folder / SUMMARY]
