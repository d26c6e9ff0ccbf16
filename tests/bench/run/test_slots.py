"""What the slots did: on made-up crawls whose fairness is known, and in real trials."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.plan.workloads import Opening
from bench.run import record as writing
from bench.run.record import NOTHING_STEADY, QUANTILES, WINDOWS, fairness
from bench.run.state import Bench
from bench.schema import Fairness, TrialRecord
from tests.bench import small


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
    found = fairness(np.array(who), np.array(ended), slots)
    assert found is not None
    return found


def test_slots_that_take_turns_are_even() -> None:
    found = rounds(50, 41)
    assert found.jain == pytest.approx(1.0, abs=1e-3)
    least, *_, most = found.completions[-1]
    assert most - least <= 1
    assert found.silent == [0] * WINDOWS
    assert found.longest_gap_s[-1] == pytest.approx(1.0, abs=0.05)


def test_starved_slots_show_in_every_number() -> None:
    found = rounds(50, 40, starved=0.1)
    least, low, middle, *_ = found.completions[-1]
    assert least <= low < 0.5 * middle
    assert found.jain < 0.97
    assert found.longest_gap_s[-1] >= 3.9
    assert found.longest_gap_s[2] == pytest.approx(1.0, abs=0.05)
    assert max(found.silent) == 5


def test_a_slot_that_never_finishes_counts() -> None:
    ended = np.arange(1.0, 101.0)
    found = fairness(np.arange(100) % 9, ended, 10)
    assert found is not None
    assert found.completions[-1][0] == 0
    assert min(found.silent) >= 1
    assert found.longest_gap_s[-1] == pytest.approx(found.ends_s[-1])


def test_slots_that_run_out_of_work_are_not_starved() -> None:
    """The last exchanges, one for each slot, are left out."""
    ended = np.concatenate([np.arange(1, 91), [1e3] * 10]).astype(float)
    found = fairness(np.arange(100) % 10, ended, 10)
    assert found is not None
    assert found.ends_s[-1] == 90.0
    assert fairness(np.arange(10), ended[:10], 10) is None


@given(st.integers(1, 20), st.integers(2, 200), st.integers(0, 1000))
def test_any_crawl_gives_numbers_that_make_sense(slots: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    who, ended = rng.integers(0, slots, count + slots), rng.uniform(0, 9, count + slots)
    found = fairness(who, ended, slots)
    assert found is not None
    assert 1 / slots - 1e-9 <= found.jain <= 1 + 1e-9
    assert len(found.ends_s) == len(found.completions) == len(found.silent) == WINDOWS
    for row in (*found.completions, found.longest_gap_s):
        assert len(row) == len(QUANTILES)
        assert row == sorted(row)
    for earlier, later in zip(found.completions, found.completions[1:], strict=False):
        assert earlier[0] <= later[0]
        assert earlier[-1] <= later[-1]
    assert found.longest_gap_s[-1] <= found.ends_s[-1] + 1e-6


SLOTS, PAGES = 20, 400


def measured(shared: Bench) -> TrialRecord:
    where = small.point(
        f"list:{PAGES}:512",
        SLOTS,
        urls=PAGES,
        delay="fixed:10",
        recorder="slots",
        opening=Opening(SLOTS, 0.01),
    )
    assert where.ramp_per_s == SLOTS / 0.01
    return small.trial(shared, where, "callbacks")


def test_a_trial_counts_from_when_all_slots_are_at_work(shared: Bench) -> None:
    record = measured(shared)
    assert (record.status, record.reason) == ("ok", None)
    assert record.pages == PAGES
    counted, took = record.extra["steady_exchanges"], record.extra["steady_s"]
    assert isinstance(counted, int)
    assert isinstance(took, float)
    assert 0 < counted <= PAGES
    assert record.pages_per_s == pytest.approx(counted / took)
    assert record.params["ramp_per_s"] == SLOTS / 0.01
    assert record.extra["slots_unused"] == 0
    assert record.service_time is not None
    assert record.service_time.count <= PAGES
    assert record.fairness is None


def test_a_trial_without_a_part_that_counts_is_void(
    shared: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "steady_part", lambda trial, result: None)
    record = measured(shared)
    assert (record.status, record.reason) == ("void", NOTHING_STEADY)
    assert record.pages_per_s is None
