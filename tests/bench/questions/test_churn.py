"""What a new connection costs, recounted from made-up records with known costs."""

from __future__ import annotations

from bench.questions import churn
from tests.bench.costed import costed
from tests.bench.synthetic import analysed


def us(label: str, key: str) -> float:
    return 25.0 + 10 * len(label) * (key == "new")


def test_its_trials_are_compared_with_no_other_point() -> None:
    analysis = analysed(costed(churn.COLUMNS))
    assert not any(row.point.startswith("churn") for row in analysis.rows)
    assert not any(point.startswith("churn") for point in analysis.equal_work.points)
