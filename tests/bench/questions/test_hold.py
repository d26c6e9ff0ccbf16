"""Servers that hold connections, in made-up records."""

from __future__ import annotations

from bench.questions import hold
from bench.report.charts import story
from tests.bench.questions.campaigns import holding, kept
from tests.bench.synthetic import analysed, where


def test_a_chart_of_nothing_is_not_drawn() -> None:
    """It had ended the report with a traceback."""
    floor = {"kind": "control", "backend": hold.BARE, "label": hold.BARE}
    alone = kept(holding(blocks=2), lambda t: (t.workload, t.label) == ("hold", "callbacks"))
    assert "hold" not in story(analysed(where(alone, bool, **floor)))


def test_what_servers_hold_is_not_what_crawlers_hold() -> None:
    assert analysed(holding(blocks=2)).memory == {}
