"""Blocks that a slow machine has no time for are cut, in order, and the record says which."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.plan import budget, plan
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


def test_intervals_go_before_points_and_what_alone_answers_a_question_goes_last() -> None:
    """The reference had one block of threads_long_switch, while others had five of what repeats."""
    entries = plan.select(profile("full"), [*MODELS, "threads_long_switch", "processes"])
    planned = blocks(entries)
    sole = {entry.point.id for entry in entries if entry.point.sole}
    assert {"ladder-1000", "handovers-crawled", "mixed-10", "processors-apart"} <= sole
    memory = {entry.point.id for entry in entries if entry.point.memory}
    most = max(entries, key=lambda entry: len(entry.labels) * (not entry.point.memory)).point.id
    longest_s = budget.plan_s(entries)
    for percent in range(100, 0, -2):
        kept = blocks(budget.fit(entries, longest_s * percent / 100, 1.0)[0])
        shorter = {point for point, most in planned.items() if kept.get(point, 0) < most}
        gone = planned.keys() - kept
        if shorter & sole:
            assert {p for p in planned if planned[p] > budget.FEWEST_BLOCKS} - sole <= shorter
        if gone:
            assert all(kept.get(p, 0) <= budget.FEWEST_BLOCKS for p in planned)
        if gone & sole:
            assert gone >= planned.keys() - sole - memory - {most}
        assert {*memory, most} <= kept.keys()
    assert kept.keys() == {*memory, most}


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
