"""How evenly slots were served: on made-up crawls whose fairness is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.conditions.recorders import fairness
from bench.schema import Fairness
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
