"""What a response header costs, recounted from made-up records with known costs."""

from __future__ import annotations

import pytest

from bench.plan import plan
from bench.plan.participants import Participants
from bench.plan.sizes import sized
from bench.plan.workloads import headers as point_of
from bench.questions import headers
from tests.bench.costed import costed
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed


def test_a_line_is_a_difference_within_blocks() -> None:
    cost = {"with_5": 10.0, "with_20": 25.0, "with_80": 85.0}
    made = analysed(costed(headers.COLUMNS, lambda name, key: cost[key]))
    for label in MODELS:
        assert headers.measured(made).median(label, "line") == pytest.approx(1.1)  # blocks differ
    answer = sure(headers.answer(made))
    assert sure(answer.headline).text.startswith("A new header line costs")


def test_the_server_is_told_how_many_lines() -> None:
    point = point_of(100, 16000, Participants(1))
    sites = [sized(point, label).site for label in plan.labels_of(point, ["callbacks"])]
    assert [site.rpartition(":")[2] for site in sites] == ["5", "20", "80"]
