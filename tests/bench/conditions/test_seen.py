"""What conditions see in made-up crawls: how evenly slots were served, and what counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.conditions.recorders import fairness
from bench.conditions.schedule import OPENED_PER_S, Opening, steady
from bench.schema import Fairness
from bench.sides.sides import Sides
from bench.sides.worker import due_times
from tests.bench.sides.test_worker import COMMAND
from tests.bench.sure import sure


def rounds(slots: int, each: int, starved: float = 0.0) -> Fairness:
    """Every slot completes one exchange a second, a share of them one in four seconds."""
    late = int(slots * starved)
    events = [
        (second + slot / slots, slot)
        for second in range(each)
        for slot in range(slots)
        if slot >= late or second % 4 == 3
    ]
    ended, who = zip(*events, strict=True)
    return sure(fairness(np.array(who), np.array(ended), slots))


@pytest.mark.parametrize(("starved", "each", "longest_s"), [(0.0, 41, 1.0), (0.1, 40, 4.0)])
def test_starved_slots_show_in_every_number(starved: float, each: int, longest_s: float) -> None:
    found = rounds(50, each, starved)
    least, _, middle, _, most = found.completions
    assert (most - least <= 1) == (least >= 0.5 * middle) == (found.jain > 0.97) == (not starved)
    assert found.longest_gap_s[-1] == pytest.approx(longest_s, abs=0.1)
    assert found.longest_gap_s[2] == pytest.approx(1.0, abs=0.05)
    assert found.silent == 0


def test_a_slot_that_never_finishes_counts() -> None:
    found = sure(fairness(np.arange(100) % 9, np.arange(1.0, 101.0), 10))
    assert found.completions[0] == 0
    assert found.silent == 1
    assert found.longest_gap_s[-1] == pytest.approx(found.until_s)


def test_slots_that_run_out_of_work_are_not_starved() -> None:
    """The last exchanges, one for each slot, are left out."""
    ended = np.concatenate([np.arange(1, 91), [1e3] * 10]).astype(float)
    found = sure(fairness(np.arange(100) % 10, ended, 10))
    assert found.until_s == 90.0
    assert fairness(np.arange(10), ended[:10], 10) is None


@given(st.integers(1, 20), st.integers(2, 200), st.integers(0, 1000))
def test_any_crawl_gives_numbers_that_make_sense(slots: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    who, ended = rng.integers(0, slots, count + slots), rng.uniform(0, 9, count + slots)
    found = sure(fairness(who, ended, slots))
    assert 1 / slots - 1e-9 <= found.jain <= 1 + 1e-9
    for row in (found.completions, found.longest_gap_s):
        assert row == sorted(row)
    assert found.longest_gap_s[-1] <= found.until_s + 1e-6


# --- the paced start of a closed loop ------------------------------------------------------

SLOTS = st.integers(1, 3000)
DELAYS = st.sampled_from((0.0, 0.01, 0.1, 1.0))


def due(opening: Opening, count: int) -> tuple[float, ...]:
    """When the worker makes its requests that is told of this opening."""
    return due_times(sure(opening.command(COMMAND, Sides()).schedule), count)


@given(SLOTS, DELAYS, st.integers(0, 9000))
def test_a_ramp_opens_at_a_pace_and_holds_the_fast_until_its_end(
    slots: int, delay_s: float, pages: int
) -> None:
    opening = Opening(slots=slots, delay_s=delay_s)
    times = due(opening, slots + pages)
    assert opening.per_s <= OPENED_PER_S * 1.001
    first, second = times[:slots], times[slots:]
    opened_s = opening.lead_s + opening.ramp_s
    assert list(times) == sorted(times)
    assert first[0] == opening.lead_s
    assert first[-1] < opened_s
    assert len(second) == (min(slots, pages) if opening.ramp_s > delay_s else 0)
    assert all(opened_s * 0.999 <= at <= opening.settled_s for at in second)


@given(st.integers(1, 200), st.sampled_from((0.01, 0.1, 1.0)), st.integers(3, 6))
def test_perfect_slots_give_slots_over_delay(slots: int, delay_s: float, waves: int) -> None:
    opening = Opening(slots=slots, delay_s=delay_s)
    times = due(opening, slots * waves)
    starts = list(times) + [0.0] * (slots * waves - len(times))
    for number in range(slots, slots * waves):
        starts[number] = max(starts[number], starts[number - slots] + delay_s)
    started = np.array(starts)
    service = np.full(slots * waves, delay_s)
    part = steady(opening, started + service, service)
    if slots == 1:
        return
    seconds, exchanges, _ = sure(part)
    # An answer at either end of the window may fall on one side of it or on the other.
    assert exchanges == pytest.approx(slots / delay_s * seconds, abs=2.1)


def test_a_list_that_is_too_short_has_no_steady_part() -> None:
    opening = Opening(slots=10, delay_s=0.1)
    started = opening.lead_s + np.arange(10) / 100
    assert steady(opening, started + 0.1, np.full(10, 0.1)) is None
    assert steady(opening, np.array([]), np.array([])) is None
