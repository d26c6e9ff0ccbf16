"""The few lines of the model: limits they must keep, and values known from elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.capacity import model
from bench.capacity.model import Extra, Need
from tests.bench.capacity import samples

SLOTS = st.integers(1, 200)
DELAY = st.floats(0, 1)
COST = st.floats(1, 10_000)


@given(SLOTS, DELAY, COST)
def test_no_closed_loop_beats_its_processor_or_its_delay(
    slots: int, delay_s: float, total_us: float
) -> None:
    rate = model.closed_loop(slots, delay_s, total_us)
    assert rate <= 1e6 / total_us * 1.000001
    assert rate <= slots / (delay_s + total_us / 1e6) * 1.000001
    # And no worse than one slot that waits for all others each time.
    assert rate >= slots / (delay_s + slots * total_us / 1e6) * 0.999999


@given(st.floats(0.5, 20_000))
def test_a_factor_lies_between_its_neighbours(in_flight: float) -> None:
    factors = [(10, 0.9), (100, 1.0), (1000, 1.5)]
    found = model.factor_at(factors, in_flight)
    assert 0.9 <= found <= 1.5
    assert model.factor_at(factors, in_flight * 1.1) >= found


def test_a_factor_is_the_measured_one_where_it_was_measured() -> None:
    factors = [(10, 0.9), (100, 1.0), (1000, 1.5)]
    assert [model.factor_at(factors, slots) for slots in (1, 10, 100, 1000, 9999)] == [
        *(0.9, 0.9, 1.0, 1.5, 1.5)
    ]
    assert model.factor_at(factors, 10**2.5) == pytest.approx(1.25)


def test_waiting_is_that_of_known_queues() -> None:
    # M/D/1 at half load waits half a service time.
    assert model.waiting_s(50, 0.01, 0.0, 1.0) == pytest.approx(0.005)
    # Half of the pages take 10 ms, half 30: E[S] = 20 ms, E[S²] = 500 ms².
    assert model.waiting_s(25, 0.01, 0.02, 0.5) == pytest.approx(25 * 500e-6 / 2 / 0.5)


def test_what_is_added_to_a_page() -> None:
    one = samples.backend("one")
    assert model.added_us(one, Need()) == 0
    assert model.added_us(one, Need(tls=True)) == 10
    assert model.added_us(one, Need(work_s=0.002, share=0.1)) == pytest.approx(200)
    assert model.added_us(one, Need(pages_per_connection=4)) == 10
    assert model.added_us(one, Need(tls=True, pages_per_connection=4)) == 10 + 640 / 4
    unknown = samples.backend("one", extra=Extra())
    assert model.added_us(unknown, Need(work_s=0.001)) == 1000
    assert model.added_us(unknown, Need(tls=True)) is None
    assert model.added_us(unknown, Need(pages_per_connection=4)) is None
