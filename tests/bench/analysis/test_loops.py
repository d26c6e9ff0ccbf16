"""A queue with one server, with and without the timers of a loop."""

from __future__ import annotations

from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import arrivals
from bench.analysis.loops import SLACK_S, STEP_S, SlotSchedule, responses


def queue(due: list[float], worked: set[int], page_s: float, work_s: float) -> list[float]:
    return responses(SlotSchedule(due, worked), page_s, work_s, 0.0, 0.0)


def test_a_request_waits_for_those_before_it() -> None:
    assert queue([0.0, 1.0, 2.0], {0}, 0.0, 1.5) == [0.0, 0.5, 0.0]
    assert queue([0.0, 0.0, 0.0], set(), 1.0, 9.0) == [1.0, 2.0, 3.0]


@given(
    st.lists(st.floats(0, 10), min_size=1, max_size=50),
    st.floats(0, 1),
    st.floats(0, 5),
    st.sampled_from([(0.0, 0.0), (STEP_S, SLACK_S)]),
)
def test_nobody_is_earlier_than_alone_or_later_than_all_work(
    gaps: list[float], page_s: float, work_s: float, timers: tuple[float, float]
) -> None:
    due = [sum(gaps[: place + 1]) for place in range(len(gaps))]
    chosen = set(range(0, len(due), 3))
    found = responses(SlotSchedule(due, chosen), page_s, work_s, *timers)
    everything = len(due) * (page_s + sum(timers)) + len(chosen) * work_s
    assert all(page_s - 1e-9 <= time <= everything + 1e-9 for time in found)


def test_a_loop_with_nothing_to_do_is_late_by_half_a_millisecond_on_average() -> None:
    plan = SlotSchedule(arrivals.poisson(20, 5, 2000), ())
    assert mean(responses(plan, 0.0, 0.0)) == pytest.approx(STEP_S / 2 + SLACK_S, rel=0.05)
