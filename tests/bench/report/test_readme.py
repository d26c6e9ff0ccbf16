"""Parts of documents that are made from a campaign."""

from __future__ import annotations

from bench.launch import ROOT
from bench.report import readme
from bench.text import block
from tests.bench import committed
from tests.bench.synthetic import analysed, campaign


def test_the_method_quotes_the_pairs_of_its_campaign() -> None:
    """Rebuild with: python -m tools.rebuild documents."""
    made = readme.doubts(committed.analysis())
    page = ROOT / "docs" / "notebook" / "method-studies.md"
    assert block(page.read_text(), readme.DOUBTS) == made


def test_the_pairs_are_told() -> None:
    text = readme.doubts(analysed(campaign(workloads=("throughput",), samples=30)))
    assert "4 independent pairs" in text
    assert max(map(len, text.splitlines())) <= 100
