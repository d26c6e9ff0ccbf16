"""The statistics on data whose truth is known."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bench.analysis import stats
from bench.questions import trust, waiting
from bench.report import summary
from bench.schema import Shares, TrialRecord
from bench.show import cells
from bench.show.figures import Lines
from bench.store import Records
from tests.bench import synthetic
from tests.bench.sure import sure
from tests.bench.synthetic import altered, in_turns, replaced, where


@lru_cache(maxsize=8)
def made(**kwargs: Any) -> Records:
    """A campaign, made once per set of arguments."""
    return synthetic.gathered(synthetic.campaign(**kwargs))


def blocks_of(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


def test_the_averages_of_a_comparison_are_of_the_blocks_that_were_compared() -> None:
    """ "4.4 ms with threads and 0.88 with a pool, in one trial": 4.4 was that of three."""
    many, alone = {0: 4.7, 2: 4.4, 5: 0.7}, {0: 0.9, 3: 7.0}
    compared = stats.Comparison(
        "mixed",
        "",
        stats.PAGES_PER_S,
        "pool",
        "threads",
        stats.ratio(alone, many),
        server_limited=False,
        sides=(alone, many),
    )
    assert compared.ratio.blocks == 1
    assert compared.averages == (4.7, 0.9)
    assert compared.inverse.averages == (0.9, 4.7)
    apart = replace(compared, sides=({3: 7.0}, many))
    assert apart.averages == (stats.average([4.7, 4.4, 0.7]), 7.0), "no block has both"


@given(st.lists(st.tuples(st.floats(1e-6, 1e9), st.floats(1e-6, 1e9)), min_size=1, max_size=12))
def test_the_quotient_of_two_averages_is_the_ratio(pairs: list[tuple[float, float]]) -> None:
    """Whoever divided the medians of a picture found 33 % where its title said 27."""
    base, other = (blocks_of([*side]) for side in zip(*pairs, strict=True))
    ratio = stats.ratio(base, other)
    averages = stats.average([*base.values()]), stats.average([*other.values()])
    assert sure(ratio.value) == pytest.approx(averages[1] / averages[0])


@pytest.mark.parametrize(
    ("values", "mean", "median"),
    [
        ([3.0], 3.0, 3.0),
        ([0.1, 0.1, 0.1], 0.1, 0.1),  # to the last digit
        ([1.0, 4.0, 16.0], 4.0, 4.0),
        ([8.0, 2.0, 2.0], 32 ** (1 / 3), 2.0),  # a stall of a block moves one of them
        ([-1.0, 0.0, 4.0], 1.0, 0.0),  # differences: the arithmetic mean
    ],
)
def test_what_stands_for_all_blocks(values: list[float], mean: float, median: float) -> None:
    assert stats.average(values) == pytest.approx(mean, rel=1e-12)
    assert stats.average(values, "median") == median
    found = sure(stats.spread([*values, None, math.nan]))
    assert (found.value, found.low, found.high) == (stats.average(values), min(values), max(values))
    assert found.count == len(values)


# --- the interval ------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [2, 5, 6, 12])
def test_the_interval_and_its_p_are_those_of_scipy(blocks: int) -> None:
    """So they cover the truth as often as Student's do: docs/notebook/method-studies.md."""
    from scipy import stats as sps

    for row in np.random.default_rng(3).normal(0.02, 0.05, (40, blocks)).tolist():
        found = sps.ttest_1samp(row, 0.0)
        expected = (*found.confidence_interval(stats.LEVEL), found.pvalue)
        assert stats.student(row) == pytest.approx(expected)


def test_interval_of_equal_values_is_a_point_and_of_one_there_is_none() -> None:
    assert stats.student([0.2] * 6) == pytest.approx((0.2, 0.2, 0.0))
    with pytest.raises(ValueError, match="at least two"):
        stats.student([0.1])


# --- ratios ------------------------------------------------------------------------------

positive = st.floats(min_value=0.5, max_value=2.0)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(positive, positive), min_size=5, max_size=9),
    st.floats(min_value=1e-3, max_value=1e6),
    st.data(),
)
def test_ratio_ignores_the_order_of_blocks_and_the_scale(
    pairs: list[tuple[float, float]], scale: float, data: st.DataObject
) -> None:
    moved = data.draw(st.permutations(pairs))
    one, two = (
        stats.ratio(blocks_of([by * a for a, _ in mine]), blocks_of([by * b for _, b in mine]))
        for mine, by in ((pairs, 1.0), (moved, scale))
    )
    assert one.value == pytest.approx(two.value)
    assert one.low == pytest.approx(two.low)
    assert one.high == pytest.approx(two.high)


DRIFT = [1.0, 0.5, 1.2, 0.9, 2.0, 1.0]
NEARLY = [10.3, 10.31, 10.29, 10.3, 10.32]
HALF = [0.5, 0.51, 0.49, 0.5, 0.52, 0.5]
AROUND = [100.0 + (-1) ** block for block in range(8)]
CPU, MEMORY = {"metric": stats.CPU_PER_1000}, {"metric": stats.USER_PER_CONNECTION}


@pytest.mark.parametrize(
    ("base", "other", "how", "verdict", "reason"),
    [
        # A slow block does not matter when both met it.
        (DRIFT, [1.1 * x * (1 + 0.001 * i) for i, x in enumerate(DRIFT)], {}, "faster", ""),
        # It said "exceeds the noise floor" of numbers that have no A/A pair.
        ([10.0] * 5, NEARLY, {}, "faster", "no A/A pair"),
        ([10.0] * 5, NEARLY, {"floor": 0.01}, "faster", "exceeds the noise floor"),
        ([10.0] * 5, NEARLY, {"floor": 0.05}, "undecided", "noise floor"),
        ([1.0] * 6, HALF, CPU, "less CPU", ""),
        ([1.0] * 6, HALF, MEMORY, "less memory", ""),
        ([100.0] * 8, AROUND, {}, "equivalent", "within ±2 %"),
        # The machine cannot tell what its own A/A pairs differ by.
        ([100.0] * 8, AROUND, {"floor": math.log(1.04)}, "equivalent", "within ±5 %"),
        ([100.0] * 8, AROUND, {"floor": math.log(1.08)}, "undecided", "includes 1"),
        ([100.0] * 8, [100.0 + 12 * (-1) ** block for block in range(8)], {}, "undecided", ""),
        # A mean log ratio of 1e-17 was "faster", and "undecided" once it was corrected.
        ([0.1 * 3 + b for b in range(6)], [0.3 + b for b in range(6)], {}, "equivalent", ""),
    ],
)
def test_a_verdict_needs_an_interval_beyond_1_and_the_floor(
    base: list[float], other: list[float], how: dict[str, Any], verdict: str, reason: str
) -> None:
    found = stats.ratio(blocks_of(base), blocks_of(other), **how)
    assert found.verdict == verdict
    assert reason in found.reason
    margin = re.search(r"within ±(\d) %", reason)
    assert not margin or found.margin == int(margin[1]) / 100
    assert (found.margin is None) == (verdict != "equivalent")
    assert verdict != "undecided" or "floor" in how or sure(found.smallest) > 0.05


@pytest.mark.parametrize(
    ("near_zero", "verdict"),
    [
        ([-0.2, -0.1, -0.3, -0.2, -0.2], "faster"),
        ([0, 0, 0, 0.1, -0.1], "faster"),
        ([9, -9, 8, 1, -4], stats.UNDECIDED),
    ],
)
def test_a_block_that_is_not_above_0_is_compared_and_not_dropped(
    near_zero: list[float], verdict: str
) -> None:
    """A difference of two numbers may be below 0; it was left out, and 0 blocks were left."""
    found = stats.ratio(blocks_of(near_zero), blocks_of([3.0, 3.1, 2.9, 3.0, 3.2]))
    assert (found.verdict, found.blocks, found.value) == (verdict, 5, None)
    assert "difference" in found.reason
    few = stats.ratio(blocks_of(near_zero[:3]), blocks_of([3.0, 3.1, 2.9]))
    assert (few.verdict, few.blocks, few.per_block) == ("too few blocks", 3, ())


@pytest.mark.parametrize("blocks", range(1, stats.MIN_BLOCKS))
def test_too_few_blocks_are_refused(blocks: int) -> None:
    result = stats.ratio(blocks_of([1.0] * blocks), blocks_of([2.0] * blocks))
    assert result.verdict == "too few blocks"
    assert (result.low, result.high, result.p) == (None, None, None)
    assert result.value == pytest.approx(2.0)
    assert f"{blocks} of at least {stats.MIN_BLOCKS}" in result.reason
    assert not result.shown


def test_blocks_without_a_partner_are_left_out() -> None:
    result = stats.ratio({0: 1.0, 1: 1.0, 9: 5.0}, {0: 2.0, 1: 2.0, 7: 9.0})
    assert result.blocks == 2
    assert result.per_block == (2.0, 2.0)
    assert stats.ratio({0: 1.0}, {1: 1.0}).value is None


@pytest.mark.parametrize(
    ("mean", "scatter", "verdict", "margin"),
    [(0.05, 0.03, "undecided", None), (0.008, 0.005, "equivalent", 0.02)],
)
def test_what_the_correction_withdraws_is_equivalent_if_it_is_small(
    mean: float, scatter: float, verdict: str, margin: float | None
) -> None:
    logs = [mean + scatter * x for x in (-1.3, -1, 0.5, 0.8, 1)]
    alone = stats.ratio(blocks_of([1.0] * 5), blocks_of([math.exp(log) for log in logs]))
    assert alone.shown
    assert alone.margin is None
    family = [
        stats.Comparison("w", str(n), stats.PAGES_PER_S, "a", "b", ratio, server_limited=False)
        for n, ratio in enumerate([alone, *[replace(alone, p=0.9, verdict="undecided")] * 50])
    ]
    withdrawn = stats.corrected(family)[0].ratio
    assert (withdrawn.verdict, withdrawn.margin) == (verdict, margin)
    assert "correcting for 51" in withdrawn.reason


# --- campaigns ---------------------------------------------------------------------------


def test_true_differences_are_found_and_false_ones_are_not() -> None:
    records = made(blocks=8, samples=50, workloads=("throughput", "waiting"))
    verdicts = {(c.point, c.label): c.ratio.verdict for c in synthetic.compared(records)}
    assert verdicts["throughput-100", "callbacks"] == "faster"
    assert verdicts["throughput-100", "async_await"] == "slower"
    assert verdicts["waiting-10", "callbacks"] == "equivalent"


@pytest.mark.parametrize("drift", [0.0, 0.1])
def test_aa_false_alarm_rate_is_near_nominal(drift: float) -> None:
    tested = alarms = interval_alarms = 0
    for seed in range(4):
        records = made(
            workloads=("throughput", "waiting", "real", "c10k"),
            backends=("callbacks",),
            base="callbacks",
            blocks=6,
            samples=30,
            noise=0.05,
            drift=drift,
            seed=seed,
        )
        result = stats.aa_check(records)
        tested += result.tested
        alarms += result.alarms
        interval_alarms += sum(
            not sure(c.ratio.low) <= 1 <= sure(c.ratio.high)
            for c in result.comparisons
            if c.ratio.low is not None
        )
    assert tested >= 80
    assert alarms / tested <= 0.05
    assert interval_alarms / tested <= 0.11


def test_void_trials_are_never_averaged() -> None:
    whole = made(samples=30, workloads=("throughput",))
    trial, *others = whole.trials
    void = trial.model_copy(update={"status": "void", "pages_per_s": 1e12})
    records = replace(whole, trials=[void, *others])
    assert all(t.pages_per_s != 1e12 for t in stats.trials_of(records))
    values = stats.block_values(stats.trials_of(records), stats.PAGES_PER_S)
    assert trial.block not in values[trial.point, trial.label]


def first_trial() -> TrialRecord:
    return made(samples=30, workloads=("throughput",)).trials[0]


def test_time_that_the_host_took_does_not_make_a_backend_slower() -> None:
    """A turn of 111 ms with a theft of 100, as on 27 November 2026: 0.43 of the others' rate."""
    trial = in_turns(first_trial(), 20.0)
    turns = sure(trial.turns).model_copy(update={"wall_s": 0.114, "cpu_s": 0.111, "steal_s": 0.0})
    robbed = turns.model_copy(update={"wall_s": 0.214, "steal_s": 0.1})
    rate = 1000.0
    quiet = trial.model_copy(update={"turns": turns, "pages_per_s": rate})
    slow = trial.model_copy(update={"turns": robbed, "pages_per_s": rate * 0.114 / 0.214})
    assert stats.pages_per_s(quiet) == rate
    assert stats.pages_per_s(slow) == pytest.approx(rate)
    assert stats.PAGES_PER_S.value(slow) == stats.pages_per_s(slow)


def test_a_chart_of_rates_has_those_of_the_table() -> None:
    """Else the title goes where a theft has met the median, and the line lies below its number."""

    def robbed(trial: TrialRecord) -> TrialRecord:
        turned = in_turns(trial, 20.0)
        turns = sure(turned.turns).model_copy(update={"steal_s": 0.1})
        return turned.model_copy(update={"turns": turns})

    lines = replaced(synthetic.campaign(workloads=("throughput",), samples=30), robbed)
    analysis = synthetic.analysed(lines)
    (figure,) = sure(waiting.answer(analysis)).figures
    data = figure.data
    assert isinstance(data, Lines)
    drawn = {p.x: p.y.value for p in data.plots[0].lines["callbacks"]}
    own = analysis.at_point("throughput-100")["callbacks"]
    assert drawn[100] == stats.middle(map(stats.pages_per_s, own))
    assert figure.headline


@pytest.mark.parametrize(
    ("wall_s", "cpu_s", "steal_s", "own_s"),
    [
        (0.25, 0.2, None, 0.25),  # nobody knows
        (0.25, 0.2, 0.03, 0.22),
        (0.25, 0.2, 0.5, 0.2),  # it ran in the meantime: most of that was before
        (0.25, 0.4, 0.1, 0.25),  # on several processors
        (0.0, 0.0, 0.01, 0.0),
        (0.25, 0.2, -0.03, 0.25),  # the counter went back
    ],
)
def test_the_host_takes_no_time_in_which_the_worker_ran(
    wall_s: float, cpu_s: float, steal_s: float | None, own_s: float
) -> None:
    update = {"wall_s": wall_s, "cpu_s": cpu_s, "steal_s": steal_s}
    trial = in_turns(first_trial(), 20.0)
    turns = sure(trial.turns).model_copy(update=update)
    assert turns.own_s == pytest.approx(own_s)
    assert stats.pages_per_s(trial.model_copy(update={"turns": turns})) is not None


def test_host_spread() -> None:
    records = made(samples=30, workloads=("throughput",))
    host = sure(stats.host_spread(records))
    assert host.probe_p95_over_median >= 1
    assert host.steal_share is not None
    assert stats.host_spread(replace(records, trials=[])) is None
    first, *others = records.trials
    wrong = {"host__probe_after_s": 0.0, "host__steal_s": -100.0}
    reset = sure(stats.host_spread(replace(records, trials=[altered(first, **wrong), *others])))
    assert sure(reset.steal_share) >= 0
    assert reset.probe_p95_over_median >= 1


def test_what_the_host_took_from_labels_that_took_turns_counts_once() -> None:
    """Each of 15 labels of a block has all of its stolen time: "4.8 % of the time" were 0.3."""
    records = made(samples=30, workloads=("throughput",))
    first, *others = records.trials[:3]
    host = sure(first.host).model_copy(update={"steal_s": 0.6})
    update = {"host": host, "trial_s": 10.0, "block": first.block}
    together = [trial.model_copy(update=update) for trial in (first, *others)]
    environment = records.campaign.environment.model_copy(update={"cpu_count": 2})
    campaign = records.campaign.model_copy(update={"environment": environment})
    two = replace(records, campaign=campaign, trials=together[:2], controls=together[2:])
    assert sure(stats.host_spread(two)).steal_share == pytest.approx(0.6 / 30 / 2)
    alone = [first.model_copy(update=update | {"block": block}) for block in (0, 1)]
    apart = replace(records, campaign=campaign, trials=alone)
    assert sure(stats.host_spread(apart)).steal_share == pytest.approx(1.2 / 20 / 2)


# --- latency -----------------------------------------------------------------------------


def test_latency_round_trip() -> None:
    times = np.random.default_rng(5).lognormal(-6, 0.7, 20_000)
    latency = sure(stats.encode_latency(times))
    merged = stats.merge_histograms([latency.hdr, latency.hdr])
    assert (latency.count, merged.count) == (20_000, 40_000)
    read = {0.5: latency.p50_ms, 0.99: latency.p99_ms, 0.999: latency.p99_9_ms}
    for share, ms in read.items():
        assert ms == pytest.approx(1000 * np.quantile(times, share), rel=0.01)
        assert merged.at_ms(100 * share) == pytest.approx(ms)
    assert latency.min_ms == pytest.approx(1000 * times.min(), abs=0.001)
    assert latency.max_ms == pytest.approx(1000 * times.max(), abs=0.001)


def test_latency_edges() -> None:
    assert stats.encode_latency([]) is None
    assert sure(stats.encode_latency([0.0, 1e-9])).max_ms == 0.001
    ten_beyond = (sure(stats.encode_latency(np.ones(count))).p99_9_ms for count in (9_999, 10_000))
    assert [value is None for value in ten_beyond] == [True, False]
    assert sure(stats.encode_latency([7200.0])).max_ms == pytest.approx(3.6e6)
    for bad in ([-1.0], [math.nan], [math.inf]):
        with pytest.raises(ValueError, match="finite"):
            stats.encode_latency(bad)


# --- memory ------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(-50, 50)), min_size=2, max_size=20))
def test_a_slope_is_that_of_scipy(points: list[tuple[int, int]]) -> None:
    """scipy.stats, which takes a second to import, is for the tests; ties of x and y too."""
    from scipy import stats as sps

    x, y = zip(*((float(x), float(y)) for x, y in points), strict=True)
    if len({*x}) < 2:
        with pytest.raises(ValueError, match="different x"):
            stats.theil_sen(x, y)
        return
    with np.errstate(invalid="ignore"):
        slope, intercept, low, high = sps.theilslopes(y, x, stats.LEVEL, method="joint")
    expected = (slope, intercept, *((slope, slope) if math.isnan(low) else (low, high)))
    assert stats.theil_sen(x, y) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=30), st.integers(0, 30))
def test_a_family_is_corrected_as_scipy_does(ps: list[float], untested: int) -> None:
    from scipy import stats as sps

    adjusted = sps.false_discovery_control(ps)
    assume(not np.any(np.isclose(adjusted, 0.05)))
    usual = stats.ratio(blocks_of([1.0, 1.01, 0.99]), blocks_of([2.0, 2.02, 1.99]))
    ratio = replace(usual, verdict="faster", low=1.9, high=2.1)
    family = [
        stats.Comparison("", "p", stats.PAGES_PER_S, "0", str(i), replace(ratio, p=p), False)
        for i, p in enumerate([*ps, *[None] * untested])
    ]
    corrected = stats.corrected(family)
    assert [one.ratio.shown for one in corrected[: len(ps)]] == [p <= 0.05 for p in adjusted]
    assert {one.family for one in corrected} == {len(ps)}


def test_theil_sen_is_not_moved_by_a_wild_trial() -> None:
    x = [100.0, 1000.0, 5000.0, 10_000.0] * 3
    y = [5.0 * v + 7 for v in x]
    y[3] *= 10
    assert stats.theil_sen(x, y)[0] == pytest.approx(5.0)


def test_memory_fit_finds_the_slopes() -> None:
    fits = stats.fit_memory(made(workloads=("c10k",), samples=30, blocks=3))
    assert set(fits) == set(synthetic.MODELS)
    for label, fit in fits.items():
        model = synthetic.KNOWN[label]
        user = fit.parts["user"]
        assert user.slope == pytest.approx(model.user_kib * 1024, rel=0.05)
        assert sure(user.low) <= (user.slope or 0) <= sure(user.high)
        for in_all, parts in ((True, [*fit.parts.values()]), (False, [user])):
            ends = [
                sum(max(sure(end), 0.0) for end in each) / 1024
                for each in ([part.low for part in parts], [part.high for part in parts])
            ]
            spread = sure(fit.spread(in_all=in_all))
            assert [spread.low, spread.high] == pytest.approx(ends)
        assert fit.fixed == pytest.approx(model.fixed_mib * 1024**2, rel=0.1)
        assert fit.server_side == fit.server.slope == pytest.approx(4.6 * 1024, rel=0.05)
        assert fit.total == pytest.approx(
            sum(p.slope or 0 for p in fit.parts.values())
        )  # the server's side is not in it
    assert fits["callbacks"].parts["kernel stacks"].slope == 0.0


def test_too_few_connection_counts_are_refused() -> None:
    whole = made(workloads=("c10k",), samples=30, blocks=3)
    records = replace(whole, trials=[t for t in whole.trials if t.point != "c10k-5000"])
    fit = stats.fit_memory(records)["threads"]
    part = fit.parts["user"]
    assert part.slope is None
    assert part.reason == "3 of at least 4 connection counts"
    assert fit.user == pytest.approx(synthetic.KNOWN["threads"].user_kib * 1024, rel=0.1)
    trials = [trial for trial in records.trials if trial.label == "threads"]
    assert (fit.blocks, stats.fit_label("threads", trials[1:]).blocks) == (3, 2)


def test_a_part_that_was_not_read_has_the_reason_of_its_trials_and_no_total() -> None:
    whole = made(workloads=("c10k",), samples=30, blocks=3)
    blind: dict[str, Any] = {"memory__held__kernel_socket_bytes": None}
    blind["memory__reasons"] = {"kernel_socket_bytes": "for root"}
    blind["memory__sources"] = {"user_bytes": "smaps", "send_buffer_bytes": "calculated: threads"}
    records = replace(whole, trials=[altered(t, **blind) for t in whole.trials])
    fit = stats.fit_memory(records)["callbacks"]
    assert fit.parts["kernel sockets"].reason == "for root"
    assert (fit.total, fit.interval, fit.spread(in_all=True)) == (None, None, None)
    assert fit.calculated == ("send buffers",)


def test_a_process_that_shrank_says_nothing_of_its_connections() -> None:
    """It counted as one that grew by nothing: a connection of 3.7 KiB on 3.13.5t, all kernel."""
    trials = [t for t in made(workloads=("c10k",), samples=30, blocks=2).trials if t.memory]
    few = [t for t in trials if t.label == "callbacks" and t.point == "c10k-100"]
    assert sure(stats.fit_label("callbacks", few).total) > 0
    shrunk = altered(few[0], memory__held__user_bytes=0)
    fit = stats.fit_label("callbacks", [shrunk, *few[1:]])
    assert (fit.user, fit.total) == (None, None)


# --- the rest ----------------------------------------------------------------------------


def test_work_is_not_equal_when_one_backend_opens_more_connections() -> None:
    lines = synthetic.campaign(samples=30, workloads=("throughput",))
    assert not stats.equal_work(synthetic.gathered(lines)).unequal
    opened = {"ledger__connections_opened": 999}
    more = synthetic.gathered(where(lines, lambda t: t.label == "threads", **opened))
    found = stats.equal_work(more)
    assert {label for _, label in found.unequal} == {"threads"}
    assert "threads at throughput-100 opened 999 connections" in trust.equal_work_sentence(found)
    there = [c for c in synthetic.compared(more) if c.point == "throughput-100"]
    assert {c.ratio.verdict for c in there if "threads" in (c.base, c.label)} == {stats.OTHER_WORK}


OPENED = "ledger__connections_opened"


@pytest.mark.parametrize(
    ("everywhere", "own", "unequal"),
    [
        ({}, {OPENED: 121}, "opened 121 connections, 100 of the others"),
        ({}, {OPENED: 79}, "opened 79 connections, 100 of the others"),
        ({}, {OPENED: 120}, ""),  # a hundredth of 2,000 pages
        ({}, {"ledger__repeated": 1}, "requested a page twice"),
        ({"params__mode": "churn"}, {OPENED: 999}, ""),
        ({"pages": 300}, {OPENED: 60}, ""),  # three for each slot
        ({"pages": 300}, {OPENED: 104}, "opened 104 connections for 100 slots"),
        ({"pages": 400}, {OPENED: 60}, "opened 60 connections, 100 of the others"),
        ({"response_time": lambda t: t.service_time}, {OPENED: 60}, ""),
        ({"params__slots": 101}, {OPENED: 999}, ""),  # more than it says that it can hold
    ],
)
def test_who_opens_how_many_connections_is_other_work(
    everywhere: dict[str, Any], own: dict[str, Any], unequal: str
) -> None:
    limited = [rung.model_copy(update={"most": 100}) for rung in synthetic.rungs(synthetic.MODELS)]
    lines = synthetic.campaign(samples=30, workloads=("throughput",), ladder=limited)
    there = where(lines, lambda t: t.point == "throughput-100", **everywhere)
    changed = where(there, lambda t: (t.point, t.label) == ("throughput-100", "threads"), **own)
    found = stats.equal_work(synthetic.gathered(changed)).unequal
    assert found == ({("throughput-100", "threads"): unequal} if unequal else {})


def pairs_of(*logs: float) -> dict[tuple[str, str], dict[int, float]]:
    return {(f"point-{n}", "callbacks"): {0: log, 1: log} for n, log in enumerate(logs)}


@given(st.lists(st.floats(0.001, 0.02), min_size=1, max_size=20), st.floats(0.5, 3))
def test_a_wild_pair_counts_for_itself_and_a_third_of_them_not_for_others(
    logs: list[float], wild: float
) -> None:
    """A thousand threads of CPython differ by a third from run to run, and all others by 1 %."""
    mad = {(f"fetch-{n}", "threads"): {0: wild, 1: wild} for n in range(len(logs) // 2)}
    floor = stats.comparisons.floor_from({**pairs_of(*logs), **mad})
    assert sure(floor.log) <= 2 * max(logs)
    for point, label in mad:
        assert floor.at(point, "callbacks", label) == pytest.approx(wild)
        assert floor.at(point, "callbacks", "generators") == floor.log
    assert floor.pairs == len(logs) + len(mad)


def test_the_floor_names_the_pairs_that_differ_from_themselves_by_more() -> None:
    said = trust.floor_sentence(stats.comparisons.floor_from(pairs_of(0.01, 0.01, 0.01, 0.04)))
    assert said == (
        "Noise floor ±2.0 %, from 4 A/A comparisons. Larger where these differed from themselves "
        "by more: callbacks at point-3 (±4.1 %)."
    )


def test_the_cost_of_measuring_comes_from_trials_without_any_of_it() -> None:
    """The counter was on in all trials, and its cost was a guess."""

    def both(line: TrialRecord) -> Iterator[TrialRecord]:
        if (line.point, line.label) == ("throughput-100", "callbacks"):
            for recorder, us in (("null", 100.0), ("times", 100.9)):
                at = altered(line, workload="cost", point="cost-100", params__recorder=recorder)
                yield in_turns(at, us + line.block / 100)

    made = synthetic.campaign(workloads=("throughput",), samples=30, noise=0.001)
    analysis = synthetic.analysed(replaced(made, both))
    cost = analysis.instrument_cost["cost-100", "callbacks"]
    assert cost.value == pytest.approx(1 / 1.009, abs=1e-4)
    told = summary.method(analysis)
    assert any(
        line.startswith("Keeping and counting times costs callbacks +0.9 %") for line in told
    )


def test_few_counted_rounds_are_a_warning_of_the_summary() -> None:
    """It was on the terminal alone, and gone with it."""
    made = synthetic.campaign(workloads=("throughput",), samples=30, noise=0.001)
    turned = replaced(made, lambda t: in_turns(t, 50.0))
    few = (2, "throughput-100")
    lines = where(turned, lambda t: (t.block, t.point) == few, turns__counted=8)
    found = [text for text in summary.warnings(synthetic.analysed(lines)) if "rounds" in text]
    assert found == [
        "throughput-100: fewer than 5 rounds of turns counted in 1 of 6 blocks (the fewest 4), "
        "so that noise hardly averages out there."
    ]


@pytest.mark.parametrize(("client", "server", "said"), [(0.08, 0.03, True), (0.4, 0.6, False)])
def test_a_point_that_other_programs_starved_is_a_warning(
    client: float, server: float, *, said: bool
) -> None:
    """With a loaded machine callbacks fetched 1,600 pages/s, threads 14,000: nothing said why."""
    made = synthetic.campaign(workloads=("throughput",), samples=30, noise=0.001)
    shares = Shares(client_share=client, server_share=server)
    lines = replaced(made, lambda t: altered(in_turns(t, 50.0), limiter="unclear", shares=shares))
    found = [text for text in summary.warnings(synthetic.analysed(lines)) if "neither" in text]
    assert len(found) == int(said)
    assert all("throughput-1, throughput-10, " in text for text in found)


@pytest.mark.parametrize(
    ("label", "throttled_us", "said"),
    [
        ("", 9, "other programs had it"),
        ("", 10**9, "a limit of 0.5 processors stopped them"),
        ("generators", 0, ""),
    ],
)
def test_a_block_in_which_crawlers_waited_is_a_warning(
    label: str, throttled_us: int, said: str
) -> None:
    """Nothing was said of a campaign whose crawlers had a tenth of their processor."""

    def crowded(trial: TrialRecord) -> TrialRecord:
        there = trial.block == 1 and trial.point == "throughput-10" and label in trial.label
        shares = Shares(server_share=0.5, waited_share=0.6 if there else 0.01)
        return altered(trial, shares=shares, kernel={"throttled_us": throttled_us})

    made = synthetic.campaign(workloads=("throughput",), samples=30, noise=0.001)
    lines = replaced([altered(made[0], environment__cpu_quota=0.5), *made[1:]], crowded)
    found = [text for text in summary.warnings(synthetic.analysed(lines)) if "waited" in text]
    assert len(found) == bool(said), "one label that waits is its own affair"
    assert all("In 1 of 24 blocks" in text for text in found)
    assert all(f"up to 60 % of the time (at throughput-10): {said}" in text for text in found)


@pytest.mark.parametrize("companions", [True, False])
def test_a_pair_is_compared_only_where_the_server_did_the_same_for_both(
    *, companions: bool
) -> None:
    """Waking the server is part of each send: a fifth of a page of ``callbacks``."""
    us_of = {"threads": 60.0, "callbacks": 20.0, "async_await": 30.0}
    asleep = {"server_polls": False, "kind": "companion", "params__server": "asleep"}

    def both(line: TrialRecord) -> Iterator[TrialRecord]:
        if line.point == "throughput-100" and line.label in us_of:
            polled = altered(line, server_polls=line.label != "threads")
            yield in_turns(polled, us_of[line.label])
            if line.label == "callbacks" and companions:
                yield in_turns(altered(line, **asleep), 24.0)

    made = synthetic.campaign(workloads=("throughput",), samples=30, noise=0.001)
    records = synthetic.gathered(replaced(made, both))
    there = synthetic.compared(records, stats.CPU_PER_1000, base="callbacks")
    found = {c.label: c.ratio.value for c in there}
    back = synthetic.compared(records, stats.CPU_PER_1000, base="threads")
    assert found["async_await"] == pytest.approx(1.5)
    if companions:
        assert found["threads"] == pytest.approx(60 / 24)
        assert [c.ratio.value for c in back] == [pytest.approx(24 / 60)]
    else:
        assert set(found) == {"async_await"}
        assert back == []
    met = [t for t in records.trials if t.point == "throughput-100" and t.label in us_of]
    assert stats.asleep(met) == {"threads"}
    # A companion is in no average of its own label.
    values = stats.block_values(stats.trials_of(records), stats.CPU_PER_1000)
    assert list(values["throughput-100", "callbacks"].values()) == pytest.approx([20.0] * 6)
    assert len(records.companions) == companions * len(values["throughput-100", "callbacks"])
    assert [r for r in records.all if isinstance(r, TrialRecord)] == records.every_trial


def test_memory_that_a_process_gave_back_is_no_memory_of_connections() -> None:
    """On 3.13.5t one of five trials had grown, by 0.2 KiB a connection, and that was published."""
    grown = {"threads@3.13t": 200_000.0, "callbacks@3.13t": -100.0, "async_await@3.13t": 1500.0}
    grown |= {"callbacks@3.13": 900.0, "async_await@3.13t#2": 1500.0}
    (trial, *_) = made(samples=30, workloads=("throughput",), blocks=1).trials
    trials = [
        trial.model_copy(update={"label": label, "backend": label, "block": block, "pages": size})
        for label, size in grown.items()
        for block in range(3)
    ]
    metric = replace(stats.CPU_PER_1000, value=lambda t: float(t.pages or 0) + 110.0 * t.block)
    values = stats.block_values(trials, metric)
    # callbacks has -100, 10 and 120; async_await may have given as much back.
    assert {label for _, label in values} == {"threads@3.13t", "callbacks@3.13"}


def test_pairs_of_a_client_with_several_processors_are_in_no_floor_but_their_own() -> None:
    lines = synthetic.campaign(workloads=("throughput",), samples=30, noise=0.05)
    alone = synthetic.gathered(lines)
    backend = next(t.backend for t in alone.trials if t.label != t.backend)
    wide = {"client": [0, 1], "server": [0]}
    moved = synthetic.gathered(where(lines, lambda t: t.backend == backend, pinning=wide))
    assert stats.aa_noise_floor(alone).pairs == 4
    floor = stats.aa_noise_floor(moved)
    assert (floor.pairs, floor.log, len(floor.own)) == (0, None, 4)
    (point, label), log = next(iter(floor.own.items()))
    assert floor.at(point, "generators", label) == log
    assert floor.at(point, "generators", "async_await") is None
    assert trust.floor_sentence(floor).startswith("No A/A pair was measured")


def test_natural_order_of_points() -> None:
    names = ["throughput-1000", "throughput-10", "throughput-1", "throughput-100"]
    assert sorted(names, key=stats.records.natural_key) == [
        f"throughput-{n}" for n in (1, 10, 100, 1000)
    ]
    for odd in ("throughput-²", f"throughput-{'9' * 5000}"):  # names in records may be any
        assert stats.records.natural_key(odd)[0] == stats.records.natural_key("throughput-1")[0]


def test_limiter_by_majority() -> None:
    as_ = [altered(first_trial(), limiter=x) for x in ("server", "server", "client", None)]
    assert stats.limiter_of(as_[:3]) == "server"
    assert stats.limiter_of(as_[1:3]) == "unclear"
    assert stats.limiter_of(as_[3:]) is None
    assert stats.limiter_of([*as_[2:], as_[3]]) == "client"
    two = (altered(trial, label=label) for trial, label in zip(as_, "bbab", strict=True))
    assert stats.limited_by_load([*two]) == {"a"}
    floors = [first_trial(), altered(as_[0], status="void"), altered(as_[0], workload="serve")]
    found = replace(made(samples=30), trials=[], controls=floors)
    assert stats.served(found, "serve") == floors[2:], "of other workloads there is more"


@pytest.mark.parametrize(
    ("per_block", "skewed"),
    [
        ((1.70, 1.41, 1.42, 1.41, 1.59, 1.41), True),
        ((1.41, 1.41, 1.42, 1.41, 1.43, 1.42), False),
        ((1.39, 1.40, 1.42, 1.41, 1.44, 1.43), False),
    ],
)
def test_the_median_block_stands_beside_a_mean_that_few_blocks_decide(
    per_block: tuple[float, ...], skewed: bool
) -> None:
    """The first were threads in one reference: two blocks of six made 48 % of 41."""
    found = stats.ratio(dict.fromkeys(range(6), 1.0), dict(enumerate(per_block)))
    assert found.skewed is skewed
    assert (", median" in cells.ratio(found)) is skewed
