"""The plan of a campaign: chosen, ordered, recorded, rebuilt; backends; labels as text and back."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import BenchError
from bench.plan import plan, profiles
from bench.plan.backends import choose
from bench.plan.participants import REMEDIES, Label
from bench.plan.plan import PlannedPoint
from bench.schema import CampaignRecord
from crawlers.backend import Backend
from crawlers.registry import MODELS
from tests.bench import synthetic


def shown(found: Sequence[PlannedPoint]) -> dict[str, list[str]]:
    return {entry.point.id: list(map(str, entry.labels)) for entry in found}


def recorded(found: Sequence[PlannedPoint], profile: str, seed: int = 5) -> CampaignRecord:
    (first,) = synthetic.campaign(blocks=0, ended=False)
    assert isinstance(first, CampaignRecord)
    entries = [entry.record for entry in found]
    return first.model_copy(update={"profile": profile, "seed": seed, "plan": entries})


def test_a_selection_keeps_pairs_of_point_and_backend() -> None:
    found = plan.select(
        profiles.profile("smoke"),
        MODELS,
        selection=[("throughput-1", "callbacks"), ("c10k-50", "threads")],
    )
    assert shown(found) == {
        "throughput-1": ["callbacks", "callbacks#2"],
        "c10k-50": ["threads"],
    }


def test_an_empty_or_unknown_selection_or_profile_is_refused() -> None:
    with pytest.raises(BenchError, match="nothing to measure"):
        plan.select(profiles.profile("smoke", ["cost-100"]), ["threads"])
    with pytest.raises(BenchError, match=r"unknown profile 'huge'.*smoke, quick, headlines"):
        profiles.profile("huge")
    with pytest.raises(BenchError, match=r"point 'nonesuch'.*bench list; workloads: .*throughput,"):
        plan.select(profiles.profile("smoke", ["nonesuch"]), MODELS)


@pytest.mark.parametrize(
    ("profile", "only", "source", "points"),
    [
        ("quick", ["throughput-100"], "quick", ["throughput-100"]),
        ("quick", ["fetch-100", "churn"], "full", ["fetch-100", "churn-100"]),  # not of headlines
        ("quick", ["tls-fetch"], "full", ["tls-fetch-10"]),
        ("full", ["serve-100"], "full", ["serve-100"]),
        ("servers", ["serve-100"], "servers", ["serve-100"]),
        ("quick", ["cost"], "full", ["cost-100"]),  # not the small one of smoke
        ("quick", ["c10k-50"], "smoke", ["c10k-50"]),
        (
            "quick",
            ["few", "throughput-1", "waiting-10"],
            "full+reference+smoke",
            ["waiting-10", "throughput-1", *(f"few-{slots}" for slots in (1, 2, 3, 5, 10))],
        ),
    ],
)
def test_a_point_that_the_profile_does_not_have_comes_from_another(
    profile: str, only: list[str], source: str, points: list[str]
) -> None:
    found = plan.select(profiles.profile(profile, only), MODELS)
    assert sorted(shown(found)) == sorted(points)
    assert profiles.profile(profile, only).name == source
    held = {part: profiles.profile(part).points for part in source.split("+")}
    for entry in found:  # as the first of them has it, with its blocks, and so with --resume
        first = next(p for mine in held.values() for p in mine if p.id == entry.point.id)
        assert entry.point == first
    again = plan.rebuild(recorded(found, source))
    assert again.points == {entry.point.id: entry.point for entry in found}


def test_points_of_two_profiles_have_the_backends_of_both() -> None:
    full = profiles.profile("full")
    both = profiles.profile("quick", ["c10k-300", "tls-fetch"])
    assert both.backends == full.backends
    servers = profiles.profile("servers", ["hold-10000", "equal"])
    assert set(servers.backends or ()) == {*profiles.SERVING, *REMEDIES[:2], *profiles.STARRING}


BOTH = ["threads", "twisted"]


@pytest.mark.parametrize(
    ("profile", "point", "names", "options", "labels"),
    [
        ("full", "c10k-1000", BOTH, {}, {"threads": 2, "twisted": 1}),
        ("full", "c10k-1000", BOTH, {"blocks": 7}, {"threads": 7, "twisted": 1}),
        ("full", "ladder-100", ["trio", "twisted"], {"blocks": 10}, {"trio": 10, "twisted": 10}),
        # Backends that are named are in every block.
        (
            "full",
            "c10k-10000",
            ["threads", "twisted"],
            {"named": True},
            {"threads": 2, "twisted": 2},
        ),
        ("quick", "openloop-4000", ["trio"], {"named": True}, {"trio": 2}),
    ],
)
def test_the_user_decides_on_blocks(
    profile: str, point: str, names: list[str], options: dict[str, Any], labels: dict[str, int]
) -> None:
    (held,) = plan.select(profiles.profile(profile, [point]), names, **options)
    assert {str(label): blocks for label, blocks in held.labels.items()} == labels


def test_a_rebuilt_plan_has_the_same_trials() -> None:
    found = plan.select(profiles.profile("full"), [*MODELS, "trio", "twisted"])
    record = recorded(found, "full")
    again = plan.rebuild(CampaignRecord.model_validate_json(record.model_dump_json()))
    assert again.trials == plan.make(found, 5).trials
    assert again.points == plan.make(found, 5).points
    assert [entry.record for entry in again.entries] == record.plan


def test_a_changed_table_of_workloads_cannot_continue_a_campaign() -> None:
    record = recorded(plan.select(profiles.profile("smoke"), MODELS), "smoke")
    changed = record.plan[0].model_copy(update={"params": {"slots": 77}})
    with pytest.raises(BenchError, match="has changed since"):
        plan.rebuild(record.model_copy(update={"plan": [changed]}))
    with pytest.raises(BenchError, match="has no plan"):
        plan.rebuild(record.model_copy(update={"plan": []}))


def test_a_campaign_on_interpreters_has_one_twin_of_each() -> None:
    names = ["threads@3.11.7", "callbacks@3.11.7", "threads@3.13.5t", "callbacks@3.13.5t"]
    entry, *_ = plan.select(profiles.profile("interpreters"), names)
    assert list(map(str, entry.labels)) == [
        *names,
        "callbacks@3.11.7#2",
        "threads@3.11.7#2",
    ]


def test_what_shares_the_servers_processor_is_compared_with_companions() -> None:
    """A server that shares its processor sleeps, and waking it is part of each send."""
    names = [*MODELS, "threads_one_processor", "uvloop"]
    sleeping = [f"{name}/asleep" for name in ("callbacks", "async_await", "threads_one_processor")]

    def companions(only: str, *sharing: str) -> list[str]:
        (entry,) = plan.select(profiles.profile("full", [only]), names, sharing=sharing)
        return [str(label) for label in entry.labels if label.condition == "asleep"]

    assert companions("ladder-100") == []
    assert set(companions("ladder-100", "threads")) == set(sleeping)
    assert companions("ladder-100", "requests") == []  # takes no part
    assert set(companions("throughput-1000", "threads")) == set(sleeping[:2])
    assert companions("whole-100", "threads") == sleeping[:1]
    # Where it always sleeps, and where each backend is compared with itself.
    for point in ("waiting-100", "churn-100", "fairness-1000", "cancel-1", "c10k-1000"):
        assert companions(point, "threads") == []
    record = recorded(
        plan.select(profiles.profile("full", ["ladder-100"]), names, sharing=["threads"]), "full"
    )
    assert "callbacks/asleep" in record.plan[0].labels
    again = plan.rebuild(record)
    assert Label("callbacks", condition="asleep") in again.entries[0].labels


# --- which backends are measured ---------------------------------------------------------

KNOWN = [
    Backend("threads", "", "", "threads", 10),
    Backend("absent", "", "", missing="install the extra"),
]


def test_what_cannot_run_is_left_out_unless_you_asked_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bench.plan.backends.look_up", lambda names, *pythons: KNOWN)
    assert choose(None) == KNOWN[:1]
    with pytest.raises(BenchError, match="install the extra"):
        choose(["threads", "absent"])


def test_backends_come_in_the_registrys_order_and_an_unknown_one_is_named() -> None:
    assert [backend.name for backend in choose(["callbacks", "threads"])] == [
        "threads",
        "callbacks",
    ]
    with pytest.raises(BenchError, match="nonesuch"):
        choose(["threads", "nonesuch"])


# --- the order of trials -----------------------------------------------------------------

SIZES = st.integers(1, 12)
A, B, C, D = map(Label, "abcd")


@given(SIZES)
def test_a_design_holds_each_position_equally_often(size: int) -> None:
    rows = plan.williams(size)
    for column in zip(*rows, strict=True):
        assert set(Counter(column).values()) == {len(rows) // size}


@given(SIZES)
def test_who_follows_whom_is_balanced(size: int) -> None:
    follows = Counter(pair for row in plan.williams(size) for pair in pairwise(row))
    if size > 1:
        assert len(follows) == size * (size - 1)
        assert len(set(follows.values())) == 1


@given(SIZES, st.integers(1, 48), st.integers(0, 1000))
def test_few_blocks_never_repeat_a_position_and_full_rounds_balance_them(
    size: int, blocks: int, seed: int
) -> None:
    labels = [Label(f"label {number}") for number in range(size)]
    result = plan.orders(labels, blocks, random.Random(seed))
    assert all(Counter(row) == Counter(labels) for row in result)
    for column in zip(*result, strict=True):
        spread = Counter(dict.fromkeys(labels, 0)) + Counter(column)
        counts = [spread[label] for label in labels]
        assert max(counts) - min(counts) <= 1


@given(st.integers(1, 10), st.integers(1, 10), st.integers(0, 100))
def test_some_labels_take_part_in_fewer_blocks_and_together(
    blocks: int, share: int, seed: int
) -> None:
    rest = min(share, blocks)
    labels = {A: blocks, B: blocks, C: rest, D: rest}
    found = plan.schedule({"p": labels}, seed)
    assert Counter(turn.label for block in found for turn in block) == labels
    for number, block in enumerate(found):
        assert [(turn.block, turn.position) for turn in block] == [
            (number, position) for position in range(len(block))
        ]
        assert len(block) in (2, 4)


def test_the_same_seed_gives_the_same_schedule() -> None:
    labels = {"p-1": {A: 4, B: 4, C: 4}, "p-2": {A: 2, B: 2}}
    first, second = (plan.schedule(labels, seed=7) for _ in range(2))
    assert first == second
    assert plan.schedule(labels, seed=8) != first
    both = plan.schedule({point: {A: 20} for point in ("p", "q")}, seed=7)
    assert {block[0].point for block in both} == {"p", "q"}, "points are in a random order, too"


def test_points_with_one_block_are_spread_over_the_campaign() -> None:
    blocks = plan.schedule({f"p-{number}": {A: 1} for number in range(40)} | {"q": {A: 5}}, seed=1)
    assert min(len(block) for block in blocks) > 1


@given(st.integers(1, 9), st.integers(0, 10), st.integers())
def test_points_beside_each_other_share_their_blocks(blocks: int, more: int, seed: int) -> None:
    """Of turns and whole trials of the same crawl, two blocks of five met."""
    labels = {"turned": {A: blocks}, "whole": {A: blocks}, "more": {A: blocks + more}}
    schedule = plan.schedule(labels, seed, {"whole": "turned", "turned": ""})
    turned, whole, longest = (
        [turn.block for block in schedule for turn in block if turn.point == point]
        for point in labels
    )
    assert turned == whole
    assert (len(turned), len(longest)) == (blocks, blocks + more)


# --- labels ------------------------------------------------------------------------------

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
RELEASES = st.one_of(st.just(""), st.from_regex(r"3\.1[1-4]\.[0-9]t?", fullmatch=True))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("callbacks", Label("callbacks")),
        ("callbacks#2", Label("callbacks", condition="2")),
        ("callbacks/asleep", Label("callbacks", condition="asleep")),
        ("callbacks/tls", Label("callbacks", condition="tls")),
        ("callbacks@3.13.5t", Label("callbacks", "3.13.5t")),
        ("callbacks@3.13.5t#2", Label("callbacks", "3.13.5t", "2")),
    ],
)
def test_a_label_is_parsed(text: str, label: Label) -> None:
    assert Label.parse(text) == label
    assert str(label) == text
    assert label.backend == text.partition("#")[0].partition("/")[0]
    assert label.recorded == text.partition("/")[0]


@given(st.builds(Label, NAMES, RELEASES, st.sampled_from(["", "2", "asleep", "headers=5"])))
def test_every_label_survives_as_text(label: Label) -> None:
    assert Label.parse(str(label)) == label
