"""One verdict for one pair, whoever asks; and the accounting of false alarms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats.comparisons import Family
from bench.questions import analysis_of, trust
from bench.report.summary import closed_loop
from bench.store import Records
from crawlers.registry import MODELS
from tests.bench import committed
from tests.bench.sure import sure
from tests.bench.synthetic import altered, campaign, gathered, rungs


@lru_cache
def made() -> Records:
    workloads = ("throughput", "waiting", "regime", "ladder")
    how: dict[str, Any] = {"samples": 30, "base": "callbacks", "noise": 0.04}
    return gathered(campaign(workloads=workloads, ladder=rungs(MODELS), **how))


@lru_cache
def twins(twin: str | None = "callbacks") -> Records:
    return gathered(campaign(workloads=("throughput", "waiting"), samples=1100, twin=twin))


def test_a_family_only_withdraws_what_a_pair_alone_would_show() -> None:
    """Why there is one family: among many comparisons a pair alone may be shown by chance."""
    analysis = committed.analysis()
    many = [c for c in analysis.compare(stats.PAGES_PER_S) if c.ratio.shown]
    assert many
    for found in many[::8]:
        (alone,) = stats.compare_pairs(analysis.records, [(found.point, found.base, found.label)])
        assert alone.ratio.shown, (found.point, found.label)
        assert alone.ratio.value == found.ratio.value
    across = committed.analysis("interpreters").family(stats.CPU_PER_1000).compared
    assert all(c.base.partition("@")[0] == c.label.partition("@")[0] for c in across), "no star"


def test_a_pair_is_compared_once_and_mirrored_for_the_other_side() -> None:
    family = Family(
        made(),
        stats.CPU_PER_1000,
        [("throughput-100", "callbacks", "threads"), ("throughput-100", "threads", "callbacks")],
    )
    assert len(family.compared) == 1
    one = sure(family.get(("throughput-100", "callbacks", "threads")))
    other = sure(family.get(("throughput-100", "threads", "callbacks")))
    assert (one.ratio.verdict, other.ratio.verdict) == ("more CPU", "less CPU")
    assert family.get(("throughput-100", "callbacks", "trio")) is None


def test_the_limit_of_either_side_is_that_of_their_comparison() -> None:
    limiters = {"callbacks": "server"}
    trials = [altered(t, limiter=limiters.get(t.label, "client")) for t in made().trials]
    sides = [("callbacks", "threads"), ("threads", "callbacks"), ("threads", "generators")]
    pairs = (("throughput-100", *pair) for pair in sides)
    found = stats.compare_pairs(replace(made(), trials=trials), pairs)
    assert [one.server_limited for one in found] == [True, True, False]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.5, 2.0), min_size=5, max_size=9), st.floats(0, 0.3))
def test_a_mirrored_ratio_is_the_ratio_of_the_other_side(values: list[float], floor: float) -> None:
    found = stats.ratio(
        dict.fromkeys(range(len(values)), 1.0), dict(enumerate(values)), floor=floor
    )
    mirrored = found.inverse(stats.PAGES_PER_S)
    assert found.low is not None
    assert mirrored.high == pytest.approx(1 / found.low)
    assert mirrored.shown == found.shown
    opposite = {"faster": "slower", "slower": "faster"}
    assert mirrored.verdict == opposite.get(found.verdict, found.verdict)
    assert mirrored.value == pytest.approx(1 / sure(found.value))
    twice = mirrored.inverse(stats.PAGES_PER_S)
    assert twice.verdict == found.verdict
    assert twice.low == pytest.approx(found.low)


@pytest.mark.parametrize(
    "analysed", [lambda: analysis_of(made()), committed.analysis], ids=["made", "reference"]
)
def test_every_row_that_is_undecided_says_what_could_have_been_seen(
    analysed: Callable[[], Analysis],
) -> None:
    analysis = analysed()
    for row in closed_loop(analysis).rows:
        if row[4] == stats.UNDECIDED:
            assert "nothing could have been seen" in row[5]


def test_a_pair_under_several_metrics_is_one_and_none_of_n_still_leaves_three_over_n() -> None:
    result = stats.aa_check(twins())
    assert result.tested == 2 * 8  # two metrics at eight points
    assert (result.pairs, result.alarmed) == (8, 0)
    assert result.bound == pytest.approx(1 - 0.05 ** (1 / 8))
    behind = sure(trust.headline(analysis_of(twins()))).behind
    assert "8 independent pairs" in behind
    assert f"at most {math.ceil(100 * (1 - 0.05 ** (1 / 8)))} %" in behind, "a bound is rounded up"


def test_a_pair_with_too_few_blocks_is_in_no_count() -> None:
    few = [t for t in twins().trials if t.point != "waiting-100" or t.block < 4]
    result = stats.aa_check(replace(twins(), trials=few))
    assert result.pairs == 7
    assert result.tested < len(result.comparisons)


@given(st.integers(0, 60), st.integers(1, 60))
def test_the_bound_is_the_share_that_gives_so_few_one_time_in_twenty(found: int, of: int) -> None:
    from scipy import stats as sps

    bound = stats.comparisons.clopper_pearson(min(found, of), of)
    assert min(found, of) / of <= bound <= 1
    if found < of:
        assert sps.binom.cdf(found, of, bound) == pytest.approx(0.05)


def test_no_twin_is_no_account() -> None:
    result = stats.aa_check(twins(None))
    assert result.comparisons == ()
    assert result.bound is None
