"""The report of a published campaign takes half a minute: it is drawn once for all these tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.analysis.analysis import Analysis
from bench.report import page
from bench.report.charts import Chart
from bench.report.page import SectionsOf

_drawn: dict[Path, tuple[Path, list[Chart]]] = {}
"""The records of a campaign, and the folder with its report."""


@pytest.fixture(scope="module", autouse=True)
def drawn_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The site and the rebuilt folder have copies of one report."""
    build = page.build

    def copied(
        analysis: Analysis, folder: Path, file: Path, sections_of: SectionsOf
    ) -> list[Chart]:
        if file not in _drawn:
            place = tmp_path_factory.mktemp("drawn")
            for records in file.parent.glob("*.jsonl*"):  # the report links to them
                shutil.copy(records, place)
            _drawn[file] = place, build(analysis, place, file, sections_of)
        place, charts = _drawn[file]
        shutil.copytree(place, folder, dirs_exist_ok=True)
        return charts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "build", copied)
        yield
