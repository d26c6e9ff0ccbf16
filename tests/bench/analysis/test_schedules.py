"""The rate at which all can be compared, and a queue with and without the timers of a loop."""

from __future__ import annotations

from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.schedules import (
    SLACK_S,
    STEP_S,
    capacity,
    keeps_up,
    responses,
    shared_rate,
)
from bench.sides.protocol import poisson
from tests.bench.report.charts.campaigns import made
from tests.bench.synthetic import analysed


def test_the_rate_is_one_that_all_carry() -> None:
    rates = analysed(made()).by_size("openloop", "rate")
    rate = shared_rate(rates, rates)
    assert rate
    assert all(keeps_up(found[rate], rate) for found in rates.values())
    most = {label: capacity(found) for label, found in rates.items()}
    slowest = min((each for each in most.values() if each), default=None)
    assert slowest is None or rate <= slowest / 2 or rate == min(min(r) for r in rates.values())
    assert shared_rate(rates, ["nobody"]) is None


def test_a_rate_with_blocks_for_an_interval_comes_before_a_higher_one() -> None:
    """At 4,000/s there were three blocks, and so no finding about latency in a whole run."""
    rates = analysed(made(rates=(2000, 4000))).by_size("openloop", "rate")
    assert shared_rate(rates, rates) == 4000
    fewer = {x: {r: ts[: 3 if r == 4000 else 5] for r, ts in of.items()} for x, of in rates.items()}
    assert shared_rate(fewer, fewer) == 2000


def queue(due: list[float], worked: set[int], page_s: float, work_s: float) -> list[float]:
    return responses(due, worked, page_s, work_s, 0.0, 0.0)


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
    found = responses(due, chosen, page_s, work_s, *timers)
    everything = len(due) * (page_s + sum(timers)) + len(chosen) * work_s
    assert all(page_s - 1e-9 <= time <= everything + 1e-9 for time in found)


def test_a_loop_with_nothing_to_do_is_late_by_half_a_millisecond_on_average() -> None:
    waits = responses(poisson(20, 5, 2000), (), 0.0, 0.0)
    assert mean(waits) == pytest.approx(STEP_S / 2 + SLACK_S, rel=0.05)
