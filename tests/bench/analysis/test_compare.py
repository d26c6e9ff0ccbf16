"""Two campaigns side by side: the environments first, then only what can be defended."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from bench import store
from bench.analysis import compare, stats
from bench.analysis.compare import CompareError
from bench.report import comparison
from bench.schema import CampaignRecord, PointPlan, TrialRecord
from bench.store import Records
from tests.bench.synthetic import campaign, environment


def records(
    scale: dict[str, float] | None = None, seed: int = 1, blocks: int = 8, **around: Any
) -> Records:
    """A made-up campaign; ``scale`` makes a backend so many times as fast."""
    made = campaign(blocks=blocks, seed=seed, drift=0.0, noise=0.01, workloads=["throughput"])
    changed = []
    for record in made:
        if isinstance(record, TrialRecord) and record.pages_per_s is not None:
            factor = (scale or {}).get(record.backend, 1.0)
            record = record.model_copy(update={"pages_per_s": record.pages_per_s * factor})
        elif isinstance(record, CampaignRecord):
            record = record.model_copy(update={"environment": environment(**around)})
        changed.append(record)
    return store.sort_out(changed, Path("made-up"))


def verdicts(found: compare.Comparison, metric: str = "pages_per_s") -> dict[str, set[str]]:
    result: dict[str, set[str]] = {}
    for row in found.rows:
        if row.metric == metric:
            result.setdefault(row.label, set()).add(row.verdict)
    return result


def test_a_campaign_against_itself_shows_nothing() -> None:
    one = records()
    found = compare.compare(one, one)
    assert {row.verdict for row in found.rows} == {"no difference shown"}
    assert all(row.ratio == pytest.approx(1) for row in found.rows)
    assert found.differences == ()
    assert not found.regressions


def planned(made: Records, params: dict[str, int | float | str | None]) -> Records:
    """The same campaign, which says what it asked for at its points."""
    points = {trial.point: trial.workload for trial in made.trials}
    labels = sorted({trial.label for trial in made.trials})
    plan = [
        PointPlan(point=point, workload=workload, blocks=8, labels=labels, params=params)
        for point, workload in points.items()
    ]
    return replace(made, campaign=made.campaign.model_copy(update={"plan": plan}))


def test_a_parameter_that_came_later_and_is_not_set_parts_nothing() -> None:
    before = planned(records(), {"slots": 10})
    assert compare.compare(before, planned(records(), {"slots": 10, "rate": None})).rows
    with pytest.raises(CompareError, match="in common"):
        compare.compare(before, planned(records(), {"slots": 10, "rate": 5.0}))


def test_points_of_other_work_are_named_and_too_few_blocks_judge_nothing() -> None:
    before = records()
    assert compare.compare(before, records(seed=2)).judged
    assert compare.compare(before, records(seed=2)).unlike == ()
    two = planned(before, {"slots": 10}), planned(before, {"slots": 20})
    for made in two:
        made.campaign.plan[0] = two[0].campaign.plan[0]
    some = compare.compare(*two)
    assert some.unlike == tuple(entry.point for entry in two[0].campaign.plan[1:])
    few = replace(before, trials=[t for t in before.trials if t.block <= 2])
    assert not compare.compare(before, few).judged


def test_what_got_slower_is_a_regression_and_what_got_faster_is_not() -> None:
    found = compare.compare(records(), records({"threads": 0.8, "generators": 1.25}, seed=2))
    shown = verdicts(found)
    assert shown["threads"] == {"worse"}
    assert shown["generators"] == {"better"}
    assert shown["callbacks"] == {"no difference shown"}
    assert {row.label for row in found.regressions} == {"threads"}


def test_more_processor_time_is_worse() -> None:
    row = compare.row("p", "x", stats.CPU_PER_1000, [10.0] * 5, [12.0] * 5, floor=0.01)
    assert row.verdict == "worse"


def test_the_noise_floor_holds_back_a_small_difference() -> None:
    a, b = [100.0, 101, 99, 100, 100.5], [103.0, 104, 102, 103, 103.5]
    assert compare.row("p", "x", stats.PAGES_PER_S, a, b, floor=0.0).verdict == "better"
    held = compare.row("p", "x", stats.PAGES_PER_S, a, b, floor=0.05)
    assert held.verdict == "no difference shown"


def test_too_few_blocks_give_no_interval() -> None:
    row = compare.row("p", "x", stats.PAGES_PER_S, [1.0, 1.1], [5.0, 5.1], floor=0.0)
    assert row.verdict == "too few blocks"
    assert row.low is None
    assert row.ratio == pytest.approx(math.sqrt(5.0 * 5.1) / math.sqrt(1.1))


def test_other_machines_get_no_ratios_unless_forced() -> None:
    other = records({"threads": 0.5}, cpu_model="Another", memory_total_bytes=2**40)
    found = compare.compare(records(), other)
    assert found.other_machine == ("cpu_model", "memory_total_bytes")
    assert found.rows == ()
    assert not found.regressions
    assert compare.compare(records(), other, force=True).regressions


def test_every_difference_around_the_measurements_is_listed() -> None:
    found = compare.environment_differences(
        environment(),
        environment(
            python="CPython 3.14.0",
            packages={"httptools": "0.7.0", "uvloop": "0.21.0"},
            memory_total_bytes=8 * 1024**3 - 4096,
        ),
    )
    names = [difference.what for difference in found]
    assert names == [
        *("memory_total_bytes", "python", "packages.httptools", "packages.matplotlib"),
    ]
    assert found[2].a == "0.6.4"
    assert found[3].b == "None"


def test_two_interpreters_are_said_to_be_built_differently() -> None:
    other = records(
        openssl="OpenSSL 3.6.5",
        python_build={"compiler": "GCC 16.2.0", "level": "-O2", "debug": False},
    )
    found = compare.compare(records(), other)
    assert [difference.what for difference in found.differences][:1] == ["openssl"]
    assert found.other_build == (
        "GCC 12.2.0, PGO, LTO",
        "GCC 16.2.0, -O2, PGO and LTO unknown",
    )
    assert compare.compare(records(), records()).other_build == ()
    shown = Console(file=io.StringIO(), width=200)
    comparison.show(found, shown)
    text = shown.file.getvalue()  # type: ignore[attr-defined]
    assert "built differently (A: GCC 12.2.0, PGO, LTO; B: GCC 16.2.0" in text


def test_backends_of_one_campaign_alone_are_named() -> None:
    one = planned(records(), {"slots": 10})
    plan = [
        entry.model_copy(
            update={"labels": [label for label in entry.labels if not label.startswith("threads")]}
        )
        for entry in one.campaign.plan
    ]
    other = replace(one, campaign=one.campaign.model_copy(update={"plan": plan}))
    found = compare.compare(one, other)
    assert (found.only_a, found.only_b) == (("threads",), ())
    back = compare.compare(other, one)
    assert (back.only_a, back.only_b) == ((), ("threads",))
    shown = Console(file=io.StringIO(), width=200)
    comparison.show(back, shown)
    assert "Only in B: threads." in shown.file.getvalue()  # type: ignore[attr-defined]


def test_a_few_pages_of_memory_do_not_make_another_machine() -> None:
    near = environment(memory_total_bytes=8 * 1024**3 - 4096)
    assert compare.machine_differences(environment(), near) == []


def test_nothing_in_common_is_an_error() -> None:
    one, other = records(), records()
    other.trials = []
    with pytest.raises(CompareError, match="no backend at the same workload point"):
        compare.compare(one, other)


@settings(max_examples=50)
@given(
    st.lists(st.floats(1, 1e6), min_size=5, max_size=9),
    st.lists(st.floats(1, 1e6), min_size=5, max_size=9),
    st.floats(1e-3, 1e3),
)
def test_the_interval_knows_neither_unit_nor_direction(
    a: list[float], b: list[float], scale: float
) -> None:
    value, low, high = compare.welch(a, b)
    assert low <= value * (1 + 1e-9)
    assert value <= high * (1 + 1e-9)
    back = compare.welch(b, a)
    assert back == pytest.approx((1 / value, 1 / high, 1 / low), rel=1e-6)
    scaled = compare.welch([x * scale for x in a], [x * scale for x in b])
    assert scaled == pytest.approx((value, low, high), rel=1e-6)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    truth, hits, tries = 1.1, 0, 600
    for _ in range(tries):
        a = np.exp(rng.normal(0, 0.03, 5))
        b = truth * np.exp(rng.normal(0, 0.06, 6))
        _, low, high = compare.welch(list(a), list(b))
        hits += low <= truth <= high
    assert 0.92 <= hits / tries <= 0.98


def test_an_interrupted_campaign_fails_and_is_named() -> None:
    whole = planned(records(), {})
    broken = replace(whole, trials=whole.trials[:-9], end=None)
    for pair in ((whole, broken), (broken, whole)):
        found = compare.compare(*pair)
        (reason,) = found.incomplete
        assert reason.endswith("151 of 160 trials)")
        assert "it has no end record" in reason
        assert found.failed
        assert not found.regressions
    assert not compare.compare(whole, whole).failed


def test_a_backend_that_lost_all_its_trials_fails() -> None:
    """Its rows are not there to get worse."""
    whole = planned(records(), {})
    void = [
        trial.model_copy(update={"status": "void"})
        if (trial.label, trial.point) == ("threads", "throughput-10")
        else trial
        for trial in whole.trials
    ]
    found = compare.compare(whole, replace(whole, trials=void))
    assert found.missing == (("throughput-10", "threads"),)
    assert found.failed
    assert not compare.compare(replace(whole, trials=void), whole).failed
    early, early_void = records(), replace(records(), trials=void)  # without a plan
    assert not compare.compare(early, early_void).missing
