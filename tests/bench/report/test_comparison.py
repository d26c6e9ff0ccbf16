"""Two campaigns compared: only what can be defended is called worse or better."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.analysis import stats
from bench.questions import analysis_of
from bench.report import comparison
from bench.report.comparison import INCOMPLETE, LOST, CompareError, MachineComparison
from bench.schema import PointParams, PointPlan
from bench.store import Records
from tests.bench.synthetic import MODELS, altered, campaign, environment, gathered, where


def records(
    scale: dict[str, float] | None = None, seed: int = 1, blocks: int = 8, **around: Any
) -> Records:
    """A made-up campaign; ``scale`` makes a backend so many times as fast."""
    how: dict[str, Any] = {"drift": 0.0, "noise": 0.01, "samples": 10, "workloads": ["throughput"]}
    made = campaign(blocks=blocks, seed=seed, **how)
    factors = scale or {}
    rates = {"pages_per_s": lambda t: t.pages_per_s * factors[t.backend]}
    head, *lines = where(made, lambda t: t.backend in factors, **rates)
    return gathered([altered(head, environment=environment(**around)), *lines])


def compared(a: Records, b: Records, *, force: bool = False) -> MachineComparison:
    return comparison.compare(analysis_of(a), analysis_of(b), force=force)


def worse(found: MachineComparison) -> set[str]:
    return {row.label for row in found.rows if row.verdict == "worse"}


def planned(made: Records, params: PointParams) -> Records:
    """The same campaign, which says what it asked for at its points."""
    asked: PointParams = {"slots": 1, "delay": "none"}
    points = {trial.point: trial.workload for trial in made.trials}
    labels = sorted({trial.label for trial in made.trials})
    plan = [
        PointPlan(point=point, workload=workload, blocks=8, labels=labels, params=asked | params)
        for point, workload in points.items()
    ]
    return replace(made, campaign=made.campaign.model_copy(update={"plan": plan}))


def test_a_campaign_against_itself_shows_nothing() -> None:
    found = compared(records(), records())
    assert {row.verdict for row in found.rows} == {"no difference shown"}
    assert all(row.ratio == pytest.approx(1) for row in found.rows)
    assert {row.agreement for row in found.rows} <= {None, "agree", "neither"}
    assert (found.differences, found.notes, found.failed) == ([], {}, False)


def test_what_got_slower_is_worse_and_what_got_faster_is_better() -> None:
    found = compared(records(), records({"threads": 0.8, "generators": 1.25}, seed=2))
    verdicts = {row.label: row.verdict for row in found.rows if row.metric == "pages_per_s"}
    assert verdicts["threads"] == "worse"
    assert verdicts["generators"] == "better"
    assert verdicts["callbacks"] == "no difference shown"
    assert worse(found) == {"threads"}
    assert found.failed
    assert comparison.TOGETHER not in found.notes


def test_what_moves_all_may_be_the_hour() -> None:
    """Of 17 pairs of published campaigns of the same code, 5 had most rows worse, or better."""
    found = compared(records(), records(dict.fromkeys(MODELS, 1 / 1.36), seed=2))
    assert found.notes[comparison.TOGETHER] == ["16 of 16 by pages/s are worse"]
    assert {row.agreement for row in found.rows} <= {None, "agree", "neither"}


RATES, FASTER = [100.0, 101, 99, 100, 100.5], [103.0, 104, 102, 103, 103.5]


@pytest.mark.parametrize(
    ("metric", "a", "b", "floor", "verdict"),
    [
        (stats.CPU_PER_1000, [10.0] * 5, [12.0] * 5, 0.01, "worse"),
        (stats.PAGES_PER_S, RATES, FASTER, 0.0, "better"),
        (stats.PAGES_PER_S, RATES, FASTER, 0.05, "no difference shown"),
        (stats.PAGES_PER_S, [50.0, 150, 80] * 2, [60.0, 170, 100] * 2, 0.0, "no difference shown"),
        (stats.PAGES_PER_S, [1.0, 1.1], [5.0, 5.1], 0.0, "too few blocks"),
        (stats.PAGES_PER_S, [1.0, 1.1], FASTER, 0.0, "too few blocks"),
    ],
)
def test_a_verdict_needs_blocks_an_interval_and_the_floor(
    metric: stats.Metric, a: list[float], b: list[float], floor: float, verdict: str
) -> None:
    value, low, _, found = comparison.judge(metric, a, b, floor)
    assert found == verdict
    assert (low is None) == (len(a) < stats.MIN_BLOCKS)
    assert value == pytest.approx(math.prod(b) ** (1 / len(b)) / math.prod(a) ** (1 / len(a)))


def test_a_parameter_that_came_later_and_is_not_set_parts_nothing() -> None:
    before = planned(records(), {"slots": 10})
    assert compared(before, planned(records(), {"slots": 10, "rate": None})).rows
    with pytest.raises(CompareError, match="nothing else is judged"):
        compared(before, planned(records(), {"slots": 10, "rate": 5.0}))


def test_points_of_other_work_are_named() -> None:
    two = planned(records(), {"slots": 10}), planned(records(), {"slots": 20})
    two[1].campaign.plan[0] = two[0].campaign.plan[0]
    (note,) = compared(*two).notes.values()
    assert note == [entry.point for entry in two[0].campaign.plan[1:]]


def test_other_machines_get_no_ratios_unless_forced() -> None:
    other = records({"threads": 0.5}, cpu_model="Another", memory_total_bytes=2**40)
    found = compared(records(), other)
    assert ["cpu_model", "memory_total_bytes"] in list(found.notes.values())
    assert {row.verdict for row in found.rows} == {"another machine"}
    assert {row.ratio for row in found.rows} == {None}
    assert {row.agreement for row in found.rows} > {None}, "verdicts within each may be compared"
    assert not found.failed
    assert worse(compared(records(), other, force=True)) == {"threads"}


def test_a_few_pages_of_memory_do_not_make_another_machine() -> None:
    near = environment(memory_total_bytes=8 * 1024**3 - 4096)
    assert comparison.machine_differences(environment(), near) == []


def test_every_difference_around_the_measurements_is_listed() -> None:
    found = comparison.environment_differences(
        environment(),
        environment(
            python="CPython 3.14.0",
            packages={"httptools": "0.7.0", "uvloop": "0.21.0"},
            memory_total_bytes=8 * 1024**3 - 4096,
        ),
    )
    names = ("memory_total_bytes", "python", "packages.httptools", "packages.matplotlib")
    assert tuple(what for what, _, _ in found) == names
    assert found[2][1] == "0.6.4"
    assert found[3][2] == "–"


def test_the_interval_is_welchs() -> None:
    from scipy import stats as sps

    rng = np.random.default_rng(5)
    for a, b in ((5, 6), (5, 5), (9, 5)):
        x, y = rng.normal(0, 0.03, a), rng.normal(0.1, 0.06, b)
        ends = sps.ttest_ind(y, x, equal_var=False).confidence_interval(stats.LEVEL)
        found = comparison.welch([*np.exp(x)], [*np.exp(y)])
        assert found == pytest.approx(np.exp([y.mean() - x.mean(), *ends]))
    assert comparison.welch([2.0, 2.0], [3.0, 3.0]) == pytest.approx((1.5, 1.5, 1.5))


def test_an_interrupted_campaign_fails_and_is_named() -> None:
    whole = planned(records(), {})
    broken = replace(whole, trials=whole.trials[:-9], end=None)
    for pair in ((whole, broken), (broken, whole)):
        found = compared(*pair)
        (reason,) = found.notes[INCOMPLETE]
        assert reason.endswith("(it has no end record, 151 of 160 trials)")
        assert found.failed
        assert not worse(found)


def test_a_backend_that_lost_all_its_trials_fails() -> None:
    """Its rows are not there to get worse."""
    whole = planned(records(), {})
    mine = ("threads", "throughput-10")
    void = [
        altered(trial, status="void") if (trial.label, trial.point) == mine else trial
        for trial in whole.trials
    ]
    found = compared(whole, replace(whole, trials=void))
    assert found.notes[LOST] == ["threads at throughput-10"]
    assert found.failed
    assert not compared(replace(whole, trials=void), whole).failed
    assert LOST not in compared(records(), replace(records(), trials=void)).notes, "without a plan"


def test_a_table_names_what_it_compares_with_a_unit() -> None:
    """It was "user_per_conn" and, a line below, "ection", with 17,654 of what?"""
    (metric,) = (make for column, make in comparison.COLUMNS if column.title == "metric")
    found = compared(records(), records())
    named = {row.metric: metric(row) for row in found.rows}
    assert set(named.values()) <= {"pages/s", "µs/page", "user B/conn"}
    assert len(named) == len({*named.values()}) > 1
