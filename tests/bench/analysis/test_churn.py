"""What a connection for each page costs, recounted from made-up records with known costs."""

from __future__ import annotations

import pytest

from bench.analysis import churn_words, findings
from bench.analysis.churn import churn
from tests.bench import synthetic
from tests.bench.opened import CONNECTION_US, KEPT_US, opened
from tests.bench.synthetic import MODELS, analysed, gathered


def test_the_connection_is_a_difference_within_blocks() -> None:
    found = churn(gathered(opened()))
    assert [row.label for row in found] == list(MODELS)
    for row in found:
        assert row.slots == 100
        assert row.opening is not None
        assert row.opening.median == pytest.approx(1.1 * CONNECTION_US[row.label])
        assert row.opening.count == 3
        assert row.pages is not None
        # Blocks differ by a tenth, and a ratio within a block does not.
        assert row.pages.low == pytest.approx(row.pages.high)
        assert row.pages.median == pytest.approx(CONNECTION_US[row.label] / KEPT_US)


def test_the_finding_has_numbers_cause_and_command_with_models_first() -> None:
    analysis = analysed(opened(backends=(*MODELS, "uvloop")))
    text = churn_words.finding(analysis)
    assert text is not None
    assert text.startswith(
        "**A new connection costs as much processor time as 1.60 to 4.4 pages.**"
    )
    assert "`async_await` 4.4 (121), `threads` 2.4 (66.0)" in text
    assert "Variants: `uvloop` 3.0 (82.5)." in text
    assert "100 slots" in text
    assert "`connect`" in text
    assert "python -m bench run --only churn" in text
    assert text in findings.findings(analysis)


def test_a_campaign_without_it_says_nothing() -> None:
    analysis = analysed(synthetic.campaign(blocks=2))
    assert analysis.churn == []
    assert churn_words.finding(analysis) is None


def test_its_trials_are_compared_with_no_other_point() -> None:
    analysis = analysed(opened())
    assert not any(row.point.startswith("churn") for row in analysis.rows)
    assert not any(row.point.startswith("churn") for row in analysis.parity.rows)
    plain = analysed(synthetic.campaign(blocks=3))
    assert [row.point for row in analysis.rows] == [row.point for row in plain.rows]
