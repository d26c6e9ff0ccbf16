"""The paced start of a closed loop: when requests are due, and what of the crawl counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.conditions.schedule import OPENED_PER_S, Opening, steady
from bench.sides.protocol import Schedule
from bench.sides.worker import due_times

SLOTS = st.integers(1, 3000)
DELAYS = st.sampled_from((0.0, 0.01, 0.1, 1.0))


def schedule(opening: Opening) -> Schedule:
    return Schedule(
        kind="ramp",
        rate=opening.per_s,
        slots=opening.slots,
        delay_s=opening.delay_s,
        lead_s=opening.lead_s,
    )


@given(SLOTS, DELAYS, st.integers(0, 9000))
def test_a_ramp_opens_at_a_pace_and_holds_the_fast_until_its_end(
    slots: int, delay_s: float, pages: int
) -> None:
    opening = Opening(slots=slots, delay_s=delay_s)
    due = due_times(schedule(opening), slots + pages)
    assert opening.per_s <= OPENED_PER_S * 1.001
    first, second = due[:slots], due[slots:]
    opened_s = opening.lead_s + opening.ramp_s
    assert list(due) == sorted(due)
    assert first[0] == opening.lead_s
    assert first[-1] < opened_s
    assert len(second) == (min(slots, pages) if opening.ramp_s > delay_s else 0)
    assert all(opened_s * 0.999 <= at <= opening.settled_s for at in second)


@given(st.integers(1, 200), st.sampled_from((0.01, 0.1, 1.0)), st.integers(3, 6))
def test_perfect_slots_give_slots_over_delay(slots: int, delay_s: float, waves: int) -> None:
    opening = Opening(slots=slots, delay_s=delay_s)
    due = due_times(schedule(opening), slots * waves)
    starts = list(due) + [0.0] * (slots * waves - len(due))
    for number in range(slots, slots * waves):
        starts[number] = max(starts[number], starts[number - slots] + delay_s)
    started = np.array(starts)
    service = np.full(slots * waves, delay_s)
    part = steady(opening, started + service, service)
    if slots == 1:
        return
    assert part is not None
    # An answer at either end of the window may fall on one side of it or on the other.
    assert part.rate * part.seconds == pytest.approx(slots / delay_s * part.seconds, abs=2.1)


def test_a_list_that_is_too_short_has_no_steady_part() -> None:
    opening = Opening(slots=10, delay_s=0.1)
    started = opening.lead_s + np.arange(10) / 100
    assert steady(opening, started + 0.1, np.full(10, 0.1)) is None
    assert steady(opening, np.array([]), np.array([])) is None
