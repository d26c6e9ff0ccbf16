"""Servers that hold connections, in made-up records."""

from __future__ import annotations

import pytest

from bench.analysis.stats import Spread
from bench.questions import hold
from bench.report.charts import story
from bench.show.figures import Bars
from bench.text import KIB
from tests.bench.altered import where
from tests.bench.questions.campaigns import HOLD, holding, kept
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed


def test_a_chart_of_nothing_is_not_drawn() -> None:
    """It had ended the report with a traceback."""
    floor = {"kind": "control", "backend": hold.BARE, "label": hold.BARE}
    alone = kept(holding(blocks=2), lambda t: (t.workload, t.label) == ("hold", "callbacks"))
    assert "hold" not in story(analysed(where(alone, bool, **floor)))


def test_what_servers_hold_is_not_what_crawlers_hold() -> None:
    assert analysed(holding(blocks=2)).memory == {}


def test_both_ends_are_in_one_chart_where_both_were_measured() -> None:
    """At the client's end as much as the memory chart says."""
    analysis = analysed(HOLD["crawlers held connections, too"]())
    answer = sure(hold.answer(analysis))
    (figure,) = (figure for figure in answer.figures if figure.name == "both-ends")
    assert isinstance(figure.data, Bars)
    (panel,) = figure.data.panels
    for label in MODELS:
        client, server = panel.rows[label]
        assert isinstance(client, Spread)
        assert client.median == pytest.approx(sure(analysis.memory[label].total) / KIB)
        assert server == hold.measured(analysis).spread(label, hold.PLAIN)
