"""Interrupted crawls, recounted from made-up records with known costs."""

from __future__ import annotations

import pytest

from bench.analysis import cancelling_words
from bench.analysis.cancelling import CONTROL, cancellations
from bench.report import findings
from tests.bench import synthetic
from tests.bench.interrupted import CONTROL_US, SERVER_US, SIZES, each_us, interrupted
from tests.bench.synthetic import MODELS, analysed, gathered


def test_everything_is_closed_when_both_ends_have_closed() -> None:
    found = cancellations(gathered(interrupted()))
    assert found.sizes == list(SIZES)
    for size in SIZES:
        rows = found.at(size)
        assert [row.label for row in rows] == list(MODELS)
        for row in rows:
            assert row.closed.count == 3
            cpu_s = 1.1 * each_us(row.label) * size / 1e6
            server_s = 1.1 * SERVER_US * size / 1e6
            assert row.closed.median == pytest.approx(max(1.2 * cpu_s, server_s))
            assert row.closed.median >= row.returned.median == pytest.approx(1.1 * cpu_s)
            assert row.each_us == pytest.approx(1.1 * each_us(row.label))
        control = found.control(size)
        assert control is not None
        assert control.label == CONTROL
        assert control.each_us == pytest.approx(1.1 * CONTROL_US)
        # It closes faster than the server can follow.
        assert control.server_share == (None if size == 1 else pytest.approx(1 / 1.1))


def test_the_finding_has_numbers_floor_cause_and_command_with_models_first() -> None:
    analysis = analysed(interrupted(backends=(*MODELS, "trio")))
    text = cancelling_words.finding(analysis)
    assert text is not None
    assert text.startswith(
        "**An interrupted crawl with 10,000 exchanges in flight has closed everything in 220 ms "
        "with callbacks and 1.2 s with threads, and left nothing behind.**"
    )
    assert "median of 3 trials: `callbacks` 220 ms (13 µs)" in text
    assert "Variants: `trio` 790 ms (66 µs)." in text
    assert "control `bare_close`, 8.8 µs each" in text
    assert "the server works for 20 µs to end each" in text
    assert "`threads`: a thread must be woken" in text
    assert "`generators`" not in text.partition("What takes the time")[2]
    assert f"`{cancelling_words.COMMAND}`" in text
    assert text in findings.findings(analysis)


def test_one_size_and_no_control_are_enough() -> None:
    text = cancelling_words.finding(analysed(interrupted(sizes=(1,), control=False, blocks=1)))
    assert text is not None
    assert "with 1 exchange in flight" in text
    assert "median of 1 trial:" in text
    assert "bare_close" not in text


def test_what_leaves_something_behind_is_named_and_not_counted() -> None:
    analysis = analysed(interrupted(left="threads"))
    assert {row.label for row in analysis.cancellations.rows} == set(MODELS) - {"threads"}
    text = cancelling_words.finding(analysis)
    assert text is not None
    assert "left behind by `threads`" in text
    assert "left nothing behind" not in text


def test_a_campaign_without_it_says_nothing() -> None:
    analysis = analysed(synthetic.campaign(blocks=2))
    assert analysis.cancellations.rows == []
    assert cancelling_words.finding(analysis) is None


def test_its_trials_are_compared_with_no_other_point() -> None:
    plain = analysed(synthetic.campaign(blocks=3))
    analysis = analysed(interrupted())
    assert [row.point for row in analysis.rows] == [row.point for row in plain.rows]
    assert analysis.memory == plain.memory
