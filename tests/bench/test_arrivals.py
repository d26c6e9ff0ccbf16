"""The schedule of an open loop and the pages that need work: the same from the same seed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench import arrivals


@given(st.integers(0, 3000), st.integers(1, 20), st.integers())
def test_one_page_in_so_many_is_chosen(count: int, every: int, seed: int) -> None:
    pages = arrivals.chosen(count, every, seed)
    assert len(pages) == count // every
    assert all(0 <= page < count for page in pages)
    assert pages == arrivals.chosen(count, every, seed)


def test_seeds_choose_different_pages() -> None:
    assert arrivals.chosen(400, 10, 1) != arrivals.chosen(400, 10, 2)


@given(st.floats(1, 1e4), st.integers(), st.integers(1, 200))
def test_a_schedule_goes_forward(rate: float, seed: int, count: int) -> None:
    due = arrivals.poisson(rate, seed, count)
    assert len(due) == count
    assert list(due) == sorted(due)
    assert due == arrivals.poisson(rate, seed, count)
