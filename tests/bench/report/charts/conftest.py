"""Charts that are drawn once for all tests of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bench.report.charts import Chart, render_all
from tests.bench import synthetic
from tests.bench.report.charts.campaigns import unequal


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Chart]:
    """Every chart of a campaign that has something for each, light and wide, as SVG."""
    analysis = synthetic.analysed(unequal())
    folder = tmp_path_factory.mktemp("charts")
    found = render_all(analysis, folder, formats=("svg",))
    return {chart.name: chart for chart in found}
