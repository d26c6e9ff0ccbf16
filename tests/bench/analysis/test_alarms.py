"""The accounting of false alarms: pairs and their bound."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis import stats
from bench.questions import analysis_of, trust
from bench.schema import AnyRecord, TrialRecord
from bench.store import Records
from tests.bench.sure import sure
from tests.bench.synthetic import campaign, gathered


@lru_cache
def lines(**changes: Any) -> tuple[AnyRecord, ...]:
    values: dict[str, Any] = {"workloads": ("throughput", "waiting"), "samples": 1100}
    return tuple(campaign(**(values | changes)))


@lru_cache
def made(**changes: Any) -> Records:
    return gathered(lines(**changes))


def test_a_pair_under_several_metrics_is_one_and_none_of_n_still_leaves_three_over_n() -> None:
    result = stats.aa_check(made())
    assert result.tested == 2 * 8  # two metrics at eight points
    assert (result.pairs, result.alarmed) == (8, 0)
    assert result.bound == pytest.approx(1 - 0.05 ** (1 / 8))
    behind = sure(trust.headline(analysis_of(made()))).behind
    assert "8 independent pairs" in behind
    assert f"at most {math.ceil(100 * (1 - 0.05 ** (1 / 8)))} %" in behind, "a bound is rounded up"


def test_a_pair_with_too_few_blocks_is_in_no_count() -> None:
    short = gathered(
        line
        for line in lines()
        if not isinstance(line, TrialRecord) or line.point != "waiting-100" or line.block < 4
    )
    result = stats.aa_check(short)
    assert result.pairs == 7
    assert result.tested < len(result.comparisons)


@given(st.integers(0, 60), st.integers(1, 60))
def test_the_bound_is_the_share_that_gives_so_few_one_time_in_twenty(found: int, of: int) -> None:
    from scipy import stats as sps  # takes a second, and all processes import this module

    bound = stats.noise.clopper_pearson(min(found, of), of)
    assert min(found, of) / of <= bound <= 1
    if found < of:
        assert sps.binom.cdf(found, of, bound) == pytest.approx(0.05)


def test_no_twin_is_no_account() -> None:
    result = stats.aa_check(made(twin=None))
    assert result.comparisons == ()
    assert result.bound is None
