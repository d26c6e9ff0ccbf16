"""A loop followed step by step, and a queue with one server: the formula and the recursion."""

from __future__ import annotations

from collections import defaultdict
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import arrivals
from bench.analysis.loops import (
    EPOLL,
    EXACT,
    LIBUV,
    SELECT,
    SLACK_S,
    Load,
    Timers,
    mean_wait_s,
    responses,
    timers_of,
    waits,
)
from bench.analysis.stats.records import number_param
from crawlers.registry import MODELS
from tests.bench import committed
from tests.bench.synthetic import analysed
from tests.bench.worked import worked

TIMERS = (EXACT, SELECT, EPOLL, LIBUV)
LAZY = Load(0.0, 0.0, 0.0, 10_000)
"""Pages that need nothing: what is left is the timers."""

schedules = st.lists(st.floats(1e-6, 0.05), min_size=1, max_size=60)


def schedule(gaps: list[float]) -> list[float]:
    due, now = [], 0.0
    for gap in gaps:
        now += gap
        due.append(now)
    return due


@given(schedules, st.floats(0, 0.1), st.data())
def test_with_exact_timers_and_steps_that_take_no_time_it_is_the_queue(
    gaps: list[float], work_s: float, data: st.DataObject
) -> None:
    """Work comes after the last byte, as what a page needs of a queue comes after its wait."""
    due = schedule(gaps)
    worked_on = data.draw(st.sets(st.integers(0, len(due) - 1)))
    found = responses(due, worked_on, Load(0.0, work_s, 0.0, len(due)), EXACT)
    assert found == pytest.approx(waits(due, worked_on, 0.0, work_s), abs=1e-9)


@given(
    schedules,
    st.floats(0, 0.002),
    st.floats(0, 0.02),
    st.floats(0, 0.002),
    st.integers(1, 20),
    st.sampled_from(TIMERS),
    st.floats(0, 0.001),
)
def test_no_answer_comes_before_it_can_and_all_come(
    gaps: list[float],
    page_s: float,
    work_s: float,
    fastest_s: float,
    slots: int,
    timers: Timers,
    begins_s: float,
) -> None:
    due = schedule(gaps)
    chosen = set(range(0, len(due), 3))
    load = Load(page_s, work_s, fastest_s, slots)
    found = responses(due, chosen, load, timers, begins_s)
    step_s = load.steps_s(len(due))
    assert len(found) == len(due)
    assert min(found) >= max(2 * step_s, fastest_s) - 1e-9
    # All that ever needs the processor, and for each page its way and two steps of a timer.
    late = 2 * timers.step_s + timers.slack_s
    everything = len(due) * (page_s + fastest_s + late) + len(chosen) * work_s
    assert max(found) <= everything + 1e-6


@given(st.lists(st.floats(0.002, 0.05), min_size=1, max_size=60), st.floats(0, 0.001))
def test_a_loop_with_nothing_to_do_is_late_by_less_than_a_step(
    gaps: list[float], begins_s: float
) -> None:
    due = schedule(gaps)
    assert responses(due, (), LAZY, EXACT, begins_s) == pytest.approx([0.0] * len(due), abs=1e-9)
    (late,) = {round(s, 9) for s in responses(due, (), LAZY, SELECT, begins_s)}
    assert late == pytest.approx(SLACK_S)
    for timers in (EPOLL, LIBUV):
        found = responses(due, (), LAZY, timers, begins_s)
        assert all(-1e-9 <= s <= timers.step_s * 1.5 + SLACK_S + 1e-9 for s in found)


def test_epoll_is_late_by_half_a_millisecond_on_average() -> None:
    due = arrivals.poisson(20, 5, 2000)
    assert mean(responses(due, (), LAZY, EPOLL)) == pytest.approx(0.0005 + SLACK_S, rel=0.05)


def test_uvloop_spins_for_some_and_is_less_late() -> None:
    """What rounds to no delay is asked for again and again, so it is not late at all."""
    due = arrivals.poisson(20, 5, 2000)
    found = responses(due, (), LAZY, LIBUV, 0.0004)
    assert 0.1 < sum(late < 1e-9 for late in found) / len(found) < 0.5
    assert mean(found) < mean(responses(due, (), LAZY, EPOLL))


def test_an_open_loop_without_work_is_late_by_its_timers_too() -> None:
    """The reference, where the processor is idle most of the time: nothing is fitted to it."""
    found = defaultdict[tuple[str, str], list[tuple[float, float]]](list)
    for trial in committed.records().trials:
        rate, count = number_param(trial, "rate"), number_param(trial, "urls")
        timers, seed = timers_of(trial), trial.seeds.get("schedule")
        fast, took, cpu = trial.service_time, trial.response_time, trial.cpu
        if trial.workload != "openloop" or trial.status != "ok" or not rate or rate > 4000:
            continue
        if not (timers and seed and count and fast and took and cpu and trial.pages):
            continue
        page_s = (cpu.client_user_s + cpu.client_system_s) / trial.pages
        slots = int(number_param(trial, "slots") or count)
        load = Load(page_s, 0.0, fast.min_ms / 1000, slots)
        times = responses(arrivals.poisson(rate, seed, int(count)), (), load, timers)
        found[trial.point, trial.label].append((1000 * mean(times), took.mean_ms))
    if not found:
        pytest.skip("this campaign has no open loop at a low rate")
    for where, pairs in found.items():
        predicted, measured = (median(each) for each in zip(*pairs, strict=True))
        if where[1] in MODELS:
            assert predicted == pytest.approx(measured, rel=0.3), where


def test_a_page_has_two_steps_and_work_comes_before_the_second() -> None:
    """By hand: two requests on open connections; the first needs work, and has one slot more."""
    load = Load(0.003, 0.010, 0.004, 2)  # three steps of 1 ms each, two of them on the way
    assert load.steps_s(2) == pytest.approx(0.001)
    # 0: open, 0.1: its socket is writable after a step; the second request is due at 2.5 ms.
    found = responses([0.0, 0.0025], {0}, load, EXACT)
    # The first: open 1 ms, send 1 ms, 2 ms on the way, ready at 4 ms; the second opens at 2.5 and
    # sends until 4.5, so the first is received until 5.5 and worked on until 15.5.
    assert found[0] == pytest.approx(0.0055)
    # The second was ready at 6.5 and is received when the work is done.
    assert found[1] == pytest.approx(0.0165 - 0.0025)


def test_a_request_waits_for_a_slot() -> None:
    found = responses([0.0, 0.0, 0.0], (), Load(0.0, 0.0, 0.010, 1), EXACT)
    assert found == pytest.approx([0.010, 0.020, 0.030])


def test_timers_are_those_of_the_record() -> None:
    (trial, *_) = [t for t in analysed(worked()).records.trials if t.workload == "mixed"]
    for mechanism, timers in (
        ({"selector": "EpollSelector"}, EPOLL),
        ({"selector": "PollSelector"}, EPOLL),
        ({"selector": "SelectSelector"}, SELECT),
        ({"loop": "asyncio.unix_events._UnixSelectorEventLoop"}, EPOLL),
        ({"loop": "uvloop.Loop"}, LIBUV),
        ({"loop": "trio"}, None),
        ({}, None),
    ):
        assert timers_of(trial.model_copy(update={"mechanism": mechanism})) == timers


# --- the queue --------------------------------------------------------------------------


def test_the_formula_is_that_of_textbooks() -> None:
    # M/D/1 at half load waits half a service; M/M/1 would wait a whole one.
    assert mean_wait_s(0.5, [(1.0, 1.0)]) == pytest.approx(0.5)
    # One page in ten needs 10 ms at 500/s: 50 * 1e-4 / (2 * 0.5).
    assert mean_wait_s(500, [(0.1, 0.01), (0.9, 0.0)]) == pytest.approx(0.005)


def test_a_queue_that_grows_has_no_mean() -> None:
    assert mean_wait_s(100, [(1.0, 0.01)]) is None
    assert mean_wait_s(200, [(1.0, 0.01)]) is None


def test_a_request_waits_for_those_before_it() -> None:
    assert waits([0.0, 1.0, 2.0], {0}, 0.0, 1.5) == [0.0, 0.5, 0.0]
    assert waits([0.0, 0.0, 0.0], (), 1.0, 9.0) == [0.0, 1.0, 2.0]


@given(st.lists(st.floats(0, 10), max_size=50), st.floats(0, 1), st.floats(0, 5))
def test_nobody_waits_less_than_nothing_or_longer_than_all_work(
    gaps: list[float], page_s: float, work_s: float
) -> None:
    due, now = [], 0.0
    for gap in gaps:
        now += gap
        due.append(now)
    chosen = set(range(0, len(due), 3))
    found = waits(due, chosen, page_s, work_s)
    everything = len(due) * page_s + len(chosen) * work_s
    assert all(0 <= wait <= everything + 1e-9 for wait in found)


def test_the_recursion_tends_to_the_formula() -> None:
    """With no machine in between: 200,000 requests of one schedule."""
    count, rate = 200_000, 500.0
    chosen = arrivals.chosen(count, 10, 3)
    found = waits(arrivals.poisson(rate, 3, count), chosen, 0.0001, 0.01)
    expected = mean_wait_s(rate, [(0.1, 0.0101), (0.9, 0.0001)])
    assert sum(found) / count == pytest.approx(expected, rel=0.1)
