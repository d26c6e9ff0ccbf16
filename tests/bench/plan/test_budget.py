"""How long trials take: in turns all labels equally long, and a plan no longer than it may."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.plan import budget, plan
from bench.plan.budget import (
    EDGES,
    ONLY_TURN_S,
    PAGES_PER_SLOT,
    WEIGHTS,
    once,
    round_s,
    sized,
    turn_s,
    weight,
)
from bench.plan.labels import TWIN, Label
from bench.plan.participants import usually
from bench.plan.plan import PlannedPoint
from bench.plan.profiles import PROFILES, profile
from bench.plan.workloads import c10k, fetch, openloop, serve, throughput, waiting, whole
from crawlers import registry
from crawlers.catalogue import OURS
from crawlers.registry import MODELS
from server.models.catalogue import SERVERS

ONE = usually(MODELS, 1)
NAMES = st.sampled_from([*registry.names(), "bare", "stripped", "nonesuch"])
POINTS = st.builds(
    lambda make, slots, pages: make(slots, pages, ONE),
    st.sampled_from([fetch, throughput]),
    st.sampled_from([1, 10, 100, 1000]),
    st.integers(100, 60_000),
)


@given(POINTS, NAMES)
def test_all_labels_work_equally_long(point, name: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """In the pages that count; those of full slots, empty slots and new turns come on top."""
    label, base = Label(name), Label("callbacks")
    own, edges = sized(point, label), EDGES * point.slots
    least = PAGES_PER_SLOT * point.slots
    assert own.pages >= least
    inner = max(point.pages - edges, 0)
    rounds = inner * point.work_s / point.pages / round_s(point, base)
    aside = rounds * point.slots if once(point, label) else 0.0
    turns = round_s(point, label) / round_s(point, base)
    work = (own.pages - edges - aside) * weight(point, label) / turns
    assert work == pytest.approx(inner, abs=weight(point, label)) or own.pages == least
    assert replace(own, site=point.site) == point
    assert sized(point, Label(name, condition=TWIN)) == own


def test_what_does_not_take_turns_and_a_directory_have_one_size() -> None:
    directory = replace(throughput(10, 100, ONE), site="dir:somewhere")
    for point in (waiting(10, 50, ONE), c10k(100, ONE), directory):
        assert sized(point, Label("aiohttp")) is point


def test_every_name_in_the_table_is_a_backend_or_a_control() -> None:
    assert set(WEIGHTS) <= {*registry.names(), "bare", "stripped"}


@pytest.mark.parametrize("name", ["quick", "full"])
def test_a_block_of_a_profile_has_enough_turns_of_the_base(name: str) -> None:
    """With four counted turns, as there once were, a block says nothing."""
    # In modes the differences are many times as large as between models, and on the ladder a page
    # costs twice as much: fifty other programs have had the caches since. A quarter of a second
    # is twelve rounds; seven leave the A/A pair of callbacks within 1 % over five blocks.
    in_modes, least_s = {"quick": (0.1, 0.15), "full": (0.15, 0.25)}[name]
    # Slots that fill up and run out take a small part of it.
    edges = (3 if name == "quick" else 5) * EDGES
    for point in profile(name).points:
        if point.interleaved and not (point.rounds or point.site.startswith("dir:")):
            wanted_s = in_modes if point.modes or point.workload == "ladder" else least_s
            least = math.ceil(max(edges * point.slots, wanted_s * point.pages / point.work_s))
            missing = least - point.pages
            assert missing <= 0, f"{point.id} needs {missing} pages more: {wanted_s} s of work"


@pytest.mark.parametrize("slots", [100, 1000])
def test_all_servers_have_turns_of_one_length(slots: int) -> None:
    """Threads had turns of 40 ms, and cost 6 % less than the same threads in turns of 10."""
    point = serve(slots, 20, ONE)
    assert len({turn_s(point, Label(name)) for name in (*SERVERS, "bare")}) == 1
    assert len({round_s(point, Label(name)) for name in (*SERVERS, "bare")}) == 1
    assert turn_s(fetch(100, 100, ONE), Label("threads")) == ONLY_TURN_S


# --- trials and plans --------------------------------------------------------------------


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
    for percent in range(100, 0, -7):
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


@pytest.mark.parametrize(("connections", "servers"), [(1000, 2), (1001, 4)])
def test_each_trial_of_many_connections_has_a_server_of_its_own(
    connections: int, servers: int
) -> None:
    labels = {Label("callbacks"): 2, Label("threads"): 2}
    point = c10k(connections, usually(MODELS, 2))
    trials = sum(n * budget.trial_s(point, label) for label, n in labels.items())
    beyond = budget.plan_s([PlannedPoint(point, labels)]) - trials
    assert beyond == pytest.approx(servers * budget.SERVER_S)


def test_a_slower_machine_takes_longer_but_waits_no_longer() -> None:
    work, wait = throughput(100, 5000, ONE), openloop(1000, 2.0, ONE)
    label = Label("callbacks")
    assert budget.trial_s(work, label, 2.0) == pytest.approx(2 * budget.trial_s(work, label))
    assert budget.trial_s(wait, label, 2.0) < 1.5 * budget.trial_s(wait, label)
    # In turns a slow label gets fewer pages; in whole trials all have the same.
    assert budget.trial_s(work, Label("aiohttp")) < 1.2 * budget.trial_s(work, label)
    alone = whole(100, 5000, ONE)
    assert budget.trial_s(alone, Label("aiohttp")) > budget.trial_s(alone, label)
    assert budget.trial_s(alone, Label("nonesuch")) > budget.trial_s(alone, label)
