"""Parts of documents that are made from a campaign."""

from __future__ import annotations

from pathlib import Path

from bench.launch import RESULTS, ROOT
from bench.report import files, readme
from bench.text import block
from tests.bench import committed
from tests.bench.synthetic import analysed, campaign


def test_the_method_quotes_the_pairs_of_its_campaign() -> None:
    """Rebuild with: python -m tools.rebuild documents."""
    charts = RESULTS / "reference" / files.CHARTS
    made = readme.doubts(committed.analysis(), "../../results/reference/charts", charts)
    page = ROOT / "docs" / "notebook" / "method-studies.md"
    assert block(page.read_text(), readme.DOUBTS) == made


def test_the_pairs_are_told_without_a_chart_too(tmp_path: Path) -> None:
    analysis = analysed(campaign(workloads=("throughput",), samples=30))
    text = readme.doubts(analysis, "charts", tmp_path)
    assert "4 independent pairs" in text
    assert "noise.svg" not in text
    (tmp_path / "noise.svg").write_text("<svg/>")
    assert "charts/noise.svg" in readme.doubts(analysis, "charts", tmp_path)
    assert max(map(len, text.splitlines())) <= 100
