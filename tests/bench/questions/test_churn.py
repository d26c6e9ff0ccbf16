"""What a new connection costs, recounted from made-up records with known costs."""

from __future__ import annotations

import pytest

from bench.questions import churn
from tests.bench.opened import CONNECTION_US, KEPT_US, opened
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed


def test_the_connection_is_a_difference_within_blocks() -> None:
    found = churn.measured(analysed(opened()))
    assert list(found.values) == list(MODELS)
    for label in MODELS:
        opening, pages = found.spread(label, "opening"), found.spread(label, "pages")
        assert opening is not None
        assert opening.median == pytest.approx(1.1 * CONNECTION_US[label])
        assert opening.count == 3
        assert pages is not None
        # Blocks differ by a tenth, and a ratio within a block does not.
        assert pages.low == pytest.approx(pages.high)
        assert pages.median == pytest.approx(CONNECTION_US[label] / KEPT_US)


def test_the_headline_is_in_microseconds_with_its_intervals() -> None:
    answer = sure(churn.answer(analysed(opened(backends=(*MODELS, "uvloop"), blocks=5))))
    assert answer.finding is not None
    assert answer.finding.startswith(
        "**Opening and closing a connection costs 132 µs with async/await and 48.0 µs with "
        "callbacks** (110 µs to 154 µs and 40.0 µs to 56.0 µs: lowest and highest of 5 blocks; "
    )
    assert "`python -m bench run --only churn`" in answer.finding


def test_its_trials_are_compared_with_no_other_point() -> None:
    analysis = analysed(opened())
    assert not any(row.point.startswith("churn") for row in analysis.rows)
    assert not any(point.startswith("churn") for point in analysis.equal_work.points)
