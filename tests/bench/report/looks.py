"""Charts in every look that a report and a talk use."""

from __future__ import annotations

from pathlib import Path

from bench.analysis.analysis import Analysis
from bench.report.charts import render_all

LOOKS = {"svg/light/wide", "svg/light/square", "svg/dark/wide", "svg/dark/square"}


def draw_in_every_look(analysis: Analysis, folder: Path, *names: str) -> None:
    """Draw these charts, and check that each has a file for each look."""
    drawn = render_all(
        analysis,
        folder,
        formats=("svg",),
        themes=("light", "dark"),
        shapes=("wide", "square"),
        only=names,
        processes=1,
    )
    assert [chart.name for chart in drawn] == list(names)
    for chart in drawn:
        assert set(chart.files) == LOOKS
