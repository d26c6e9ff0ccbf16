"""A queue with one server: the formula, the recursion, and that they agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import arrivals
from bench.analysis import queue


def test_the_formula_is_that_of_textbooks() -> None:
    # M/D/1 at half load waits half a service; M/M/1 would wait a whole one.
    assert queue.mean_wait_s(0.5, [(1.0, 1.0)]) == pytest.approx(0.5)
    # One page in ten needs 10 ms at 500/s: 50 * 1e-4 / (2 * 0.5).
    assert queue.mean_wait_s(500, [(0.1, 0.01), (0.9, 0.0)]) == pytest.approx(0.005)


def test_a_queue_that_grows_has_no_mean() -> None:
    assert queue.mean_wait_s(100, [(1.0, 0.01)]) is None
    assert queue.mean_wait_s(200, [(1.0, 0.01)]) is None


def test_a_request_waits_for_those_before_it() -> None:
    assert queue.waits([0.0, 1.0, 2.0], {0}, 0.0, 1.5) == [0.0, 0.5, 0.0]
    assert queue.waits([0.0, 0.0, 0.0], (), 1.0, 9.0) == [0.0, 1.0, 2.0]


@given(st.lists(st.floats(0, 10), max_size=50), st.floats(0, 1), st.floats(0, 5))
def test_nobody_waits_less_than_nothing_or_longer_than_all_work(
    gaps: list[float], page_s: float, work_s: float
) -> None:
    due, now = [], 0.0
    for gap in gaps:
        now += gap
        due.append(now)
    chosen = set(range(0, len(due), 3))
    found = queue.waits(due, chosen, page_s, work_s)
    everything = len(due) * page_s + len(chosen) * work_s
    assert all(0 <= wait <= everything + 1e-9 for wait in found)


def test_the_recursion_tends_to_the_formula() -> None:
    """With no machine in between: 200,000 requests of one schedule."""
    count, rate = 200_000, 500.0
    chosen = arrivals.chosen(count, 10, 3)
    found = queue.waits(arrivals.poisson(rate, 3, count), chosen, 0.0001, 0.01)
    expected = queue.mean_wait_s(rate, [(0.1, 0.0101), (0.9, 0.0001)])
    assert sum(found) / count == pytest.approx(expected, rel=0.1)
