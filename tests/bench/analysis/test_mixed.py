"""Mixed load: times of pages without work, and what a queue would have made of them."""

from __future__ import annotations

import pytest

from bench.analysis import findings, mixed_words
from tests.bench import synthetic
from tests.bench.synthetic import analysed
from tests.bench.worked import worked

FULL = analysed(worked())
BY_LABEL = {row.label: row for row in FULL.mixed}


def test_a_loop_is_compared_with_a_queue_and_nothing_else_is() -> None:
    assert [row.label for row in FULL.mixed if row.predicted] == [
        "callbacks",
        "generators",
        "async_await",
    ]


def test_what_is_a_queue_agrees_with_the_queue() -> None:
    row = BY_LABEL["callbacks"]
    assert row.predicted is not None
    assert row.mean_ms == pytest.approx(row.predicted.mean_ms, rel=0.02)
    assert row.p50_ms == pytest.approx(row.predicted.p50_ms, rel=0.02)
    assert row.tail_ms == pytest.approx(row.predicted.tail_ms, rel=0.02)
    assert row.predicted.long_run_ms is not None
    assert 0 < row.predicted.long_run_ms < 10 * row.mean_ms


def test_pages_with_work_are_not_among_the_others() -> None:
    row = BY_LABEL["async_await_pool"]
    assert (row.count, row.blocks, row.every, row.rate) == (1350, 3, 10, 500)
    assert row.worked_p50_ms is not None
    assert row.worked_p50_ms > 10 > row.p50_ms
    assert row.means.low <= row.mean_ms <= row.means.high


def test_the_tail_has_samples_beyond_it() -> None:
    (few,) = {row.tail for row in analysed(worked(blocks=1)).mixed}
    (many,) = {row.tail for row in FULL.mixed}
    assert (few, many) == (90.0, 99.0)
    assert all(row.p99_ms is None for row in analysed(worked(blocks=1)).mixed)


def test_the_least_work_comes_first() -> None:
    rows = analysed(worked(works=(100, 1, 10))).mixed
    assert list(dict.fromkeys(row.work_ms for row in rows)) == [1, 10, 100]
    assert {row.work_ms for row in mixed_words.rows_of(rows)} == {10}


def test_the_finding_has_its_cause_its_check_and_its_command() -> None:
    found = mixed_words.finding(FULL.mixed)
    assert found is not None
    assert found.startswith("**If one page in 10 needs 10 ms of the processor, the others take ")
    assert "`async_await_pool`" in found.split("**")[1]
    assert "99th percentile" in found
    assert "A queue with one server" in found
    assert "--only mixed" in found
    assert "had the client's processor as well" not in found
    assert found in findings.findings(FULL)


def test_a_processor_that_was_shared_is_said() -> None:
    rows = analysed(worked(slower=1.6)).mixed
    assert [row.undisturbed for row in rows if row.predicted] == [False] * 3
    found = mixed_words.finding(rows)
    assert found is not None
    assert "the work took 16 ms by the clock and 10 ms of the processor" in found


def test_a_queue_that_grows_has_no_long_run() -> None:
    row = next(r for r in analysed(worked(slower=3.0)).mixed if r.label == "callbacks")
    assert row.predicted is not None
    assert row.predicted.long_run_ms is None
    assert row.mean_ms == pytest.approx(row.predicted.mean_ms, rel=0.05)


def test_a_campaign_without_it_has_no_rows_and_no_finding() -> None:
    old = analysed(synthetic.campaign(blocks=2))
    assert old.mixed == []
    assert mixed_words.finding(old.mixed) is None
