"""Blocks that a slow machine has no time for are cut, in order, and the record says which."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.stats import MIN_BLOCKS
from bench.plan import budget, plan
from bench.plan.budget import INTERVAL_BLOCKS
from bench.plan.labels import Label
from bench.plan.participants import Participants
from bench.plan.plan import PlannedPoint
from bench.plan.profiles import PROFILES, profile
from bench.plan.workloads import openloop, throughput, whole
from crawlers import registry
from crawlers.catalogue import OURS
from crawlers.registry import MODELS

QUICK = plan.select(profile("quick"), profile("quick").backends or ())
FULL = plan.select(profile("full"), [*MODELS, "uvloop", "trio", "aiohttp", "twisted", "httpx"])


def blocks(entries: list[PlannedPoint]) -> dict[str, int]:
    return {entry.point.id: entry.blocks for entry in entries}


def test_an_interval_needs_as_many_blocks_as_the_analysis_says() -> None:
    assert INTERVAL_BLOCKS == MIN_BLOCKS


@pytest.mark.parametrize("name", [name for name in PROFILES if profile(name).budget_s])
def test_a_profile_fits_its_budget_on_the_reference_machine(name: str) -> None:
    found = profile(name)
    assert found.budget_s is not None
    sharing = [name for name, backend in OURS.items() if backend.several_threads]
    entries = plan.select(profile(name), found.backends or registry.names(), sharing=sharing)
    late_s = budget.plan_s(entries) - found.budget_s
    assert late_s <= 0, f"{name} is {late_s:.0f} s too long: fewer blocks or pages, or more budget"
    kept, record = budget.fit(entries, found.budget_s, slowness=1.0)
    assert (kept == entries, record.cuts) == (True, [])
    assert record.planned_s == record.expected_s <= found.budget_s


@settings(max_examples=30, deadline=None)
@given(st.floats(0.2, 6.0), st.floats(30, 2000), st.sampled_from([QUICK[::3], FULL[::6]]))
def test_cuts_reach_the_budget_or_the_last_block(
    slowness: float, budget_s: float, entries: list[PlannedPoint]
) -> None:
    kept, record = budget.fit(entries, budget_s, slowness)
    before, after = blocks(entries), blocks(kept)
    assert [point for point in before if point in after] == list(after)
    left = {entry.point.id: entry for entry in entries}
    assert all(list(entry.labels) == list(left[entry.point.id].labels) for entry in kept)
    assert record.expected_s == budget.plan_s(kept, slowness)
    assert record.expected_s <= budget_s or (
        len([entry for entry in kept if not entry.point.memory]) == 1
    )
    cuts = {cut.point: cut for cut in record.cuts}
    for point, planned in before.items():
        # Three blocks at least, or what the profile has, or none: and the record says so.
        assert after.get(point, 0) >= min(planned, budget.FEWEST_BLOCKS) or point not in after
        if point in cuts:
            assert (cuts[point].planned, cuts[point].blocks) == (planned, after.get(point, 0))
        else:
            assert after[point] == planned


def test_spare_blocks_go_first_then_intervals_and_whole_points_last() -> None:
    order = [FULL[place] for place in budget.order_of_cuts(FULL)]
    left = blocks(FULL)
    stages = []
    for entry in order:
        had = left[entry.point.id]
        left[entry.point.id] -= 1
        if had > INTERVAL_BLOCKS:
            stages.append("spare")
        else:
            stages.append("interval" if had > budget.FEWEST_BLOCKS else "point")
    assert stages == sorted(stages, key=["spare", "interval", "point"].index)
    assert set(stages) == {"spare", "interval", "point"}
    memory = {entry.point.id: entry.point.memory for entry in FULL}
    most = max(FULL, key=lambda entry: len(entry.labels) * (not entry.point.memory))
    assert [p for p, n in left.items() if n and not memory[p]] == [most.point.id]
    assert all(left[p] for p, held in memory.items() if held)


def test_what_alone_answers_a_question_loses_its_interval_last() -> None:
    """The reference had one block of threads_long_switch, while others had five of what repeats."""
    names = [*MODELS, "threads_long_switch", "processes"]
    entries = plan.select(profile("full"), names)
    sole = {entry.point.id for entry in entries if entry.point.sole}
    apart = {e.point.id for e in entries if e.point.workload in ("crossover", "mixed")}
    assert sole == {
        "ladder-1000",
        "handovers-crawled",
        "processors-apart",
        "processors-shared",
        *apart,
    }
    left = planned = blocks(entries)
    others = planned.keys() - sole
    for entry in (entries[place] for place in budget.order_of_cuts(entries)):
        mine = entry.point.id
        if mine in sole and left[mine] <= INTERVAL_BLOCKS:
            break
        left = {**left, mine: left[mine] - 1}
    # The first of them to lose its interval is the first to lose one when all others have.
    assert {p: left[p] for p in sole} == {p: min(planned[p], INTERVAL_BLOCKS) for p in sole}
    assert {p: left[p] for p in others} == {
        p: min(planned[p], budget.FEWEST_BLOCKS) for p in others
    }


def test_a_slower_machine_takes_longer_but_waits_no_longer() -> None:
    work, wait = throughput(100, 5000, Participants(1)), openloop(1000, 2.0, Participants(1))
    label = Label("callbacks")
    assert budget.trial_s(work, label, 2.0) == pytest.approx(2 * budget.trial_s(work, label))
    assert budget.trial_s(wait, label, 2.0) < 1.5 * budget.trial_s(wait, label)
    # In turns a slow label gets fewer pages; in whole trials all have the same.
    assert budget.trial_s(work, Label("aiohttp")) < 1.2 * budget.trial_s(work, label)
    alone = whole(100, 5000, Participants(1))
    assert budget.trial_s(alone, Label("aiohttp")) > budget.trial_s(alone, label)
    assert budget.trial_s(alone, Label("nonesuch")) > budget.trial_s(alone, label)
