"""What a new connection costs, recounted from made-up records with known costs."""

from __future__ import annotations

import pytest

from bench.questions import churn
from tests.bench.costed import costed
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed


def us(label: str, key: str) -> float:
    return 25.0 + 10 * len(label) * (key == "new")


def test_the_connection_is_a_difference_within_blocks() -> None:
    found = churn.measured(analysed(costed(churn.COLUMNS, us)))
    assert list(found.values) == list(MODELS)
    for label in MODELS:
        assert found.median(label, churn.OPENING) == pytest.approx(11 * len(label))
        pages = sure(found.spread(label, "pages"))
        # Blocks differ by a tenth, and a ratio within a block does not.
        assert pages.low == pytest.approx(pages.high)
        assert pages.median == pytest.approx(len(label) / 2.5)


def test_its_trials_are_compared_with_no_other_point() -> None:
    analysis = analysed(costed(churn.COLUMNS))
    assert not any(row.point.startswith("churn") for row in analysis.rows)
    assert not any(point.startswith("churn") for point in analysis.equal_work.points)
