"""The profiles: whole, unambiguous, and what the charts need."""

from __future__ import annotations

import pytest

from bench.analysis.stats import MIN_BLOCKS
from bench.plan import plan, profiles, workloads
from bench.plan.cast import MAIN_VARIANTS
from bench.plan.labels import Label
from bench.plan.profiles import ProfileError
from bench.plan.workloads import Point
from crawlers.registry import MODELS

PROFILES = sorted(profiles.PROFILES)


def points(profile: str) -> dict[str, Point]:
    return {point.id: point for point in profiles.profile(profile).points}


def test_an_unknown_profile_names_those_there_are() -> None:
    with pytest.raises(ProfileError, match=r"unknown profile 'huge'.*smoke, quick, full"):
        profiles.profile("huge")


@pytest.mark.parametrize("profile", PROFILES)
def test_point_ids_are_unique_and_begin_with_their_workload(profile: str) -> None:
    found = profiles.profile(profile).points
    assert len({point.id for point in found}) == len(found)
    assert all(point.id.rpartition("-")[0] == point.workload for point in found)


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_the_settings_that_the_charts_need_are_there(profile: str) -> None:
    found = points(profile)
    assert {f"waiting-{n}" for n in (1, 10, 100, 1000)} <= set(found)
    assert {f"throughput-{n}" for n in (10, 100, 1000)} <= set(found)
    assert {"fetch-100", "whole-100"} <= set(found)
    assert {f"c10k-{n}" for n in (100, 1000, 2500, 10000)} <= set(found)


@pytest.mark.parametrize("profile", ["smoke", "quick", "full"])
def test_a_memory_slope_has_four_numbers_of_connections(profile: str) -> None:
    held = {point.slots for point in profiles.profile(profile).points if point.kind == "hold"}
    assert len(held) >= 4


@pytest.mark.parametrize("profile", PROFILES)
def test_the_records_name_no_folder_of_this_machine(profile: str) -> None:
    for point in profiles.profile(profile).points:
        assert not any("/" in str(value) for value in point.params.values())


def labels(point: Point, *backends: str) -> list[str]:
    return list(map(str, plan.cast(point, backends)))


def test_labels_hold_the_twin_and_the_recorder_that_keeps_nothing() -> None:
    found = points("quick")
    twins = ["callbacks#2", "async_await#2"]
    assert labels(found["fetch-100"], *MODELS) == [*MODELS, *twins]
    assert labels(found["throughput-100"], *MODELS) == [*MODELS, "callbacks#2"]
    assert labels(found["waiting-100"], *MODELS) == [*MODELS, "callbacks#2"]
    assert labels(found["c10k-100"], *MODELS) == list(MODELS)
    cost = points("full")["cost-100"]
    assert labels(cost, *MODELS) == ["callbacks", "callbacks/null"]
    assert labels(points("full")["fetch-100"], "threads") == ["threads", "threads#2"]


def test_variants_stay_out_of_points_meant_for_the_models() -> None:
    found = points("quick")
    assert "trio" not in labels(found["openloop-4000"], *MODELS, "trio")
    assert "trio" in labels(found["c10k-2500"], *MODELS, "trio")
    assert "trio" not in labels(found["c10k-10000"], *MODELS, "trio")


def test_full_takes_every_backend_and_the_rest_in_fewer_blocks() -> None:
    assert profiles.profile("full").backends is None
    found = points("full")
    main = (*MODELS, *MAIN_VARIANTS)
    everyone = (*main, "curio", "mine")
    twins = ["callbacks#2", "threads#2", "async_await#2"]
    assert labels(found["ladder-100"], *everyone) == [*everyone, *twins]
    assert len(set(plan.cast(found["ladder-100"], everyone).values())) == 1
    assert labels(found["throughput-100"], *everyone) == [*main, *twins]
    assert labels(found["c10k-10000"], *everyone) == list(main)
    held = plan.cast(found["c10k-100"], everyone)
    assert list(map(str, held)) == list(everyone)
    assert {str(label) for label, blocks in held.items() if blocks == 1} == {"curio", "mine"}
    assert set(held.values()) == {1, 2}
    assert labels(found["regime-10x1ms"], *everyone) == [*MODELS, "callbacks#2"]


def test_full_holds_ten_thousand_connections_and_for_every_rung_enough_for_a_slope() -> None:
    held = [p for p in profiles.profile("full").points if p.kind == "hold" and p.cast.models]
    assert len(held) >= 4
    assert max(p.slots for p in held) == 10_000
    held = [p for p in held if p.cast.rest]
    assert len(held) >= 3
    # Pairs with the rung below, from a thousand connections on: enough for an interval.
    assert sum(p.cast.rest for p in held if p.slots >= 1000) >= MIN_BLOCKS


def test_full_has_sixty_comparisons_of_one_backend_with_itself() -> None:
    """Pages/s and CPU at every point with a twin, whatever else there is."""
    found = profiles.profile("full").points
    assert 2 * sum(len(p.twins) for p in found if p.blocks >= MIN_BLOCKS) >= 60


def test_every_point_of_the_full_profile_can_have_an_interval() -> None:
    """Of the memory points all of them together make one.

    What TLS adds is given with its range: a backend is compared with itself, and a handshake
    takes the time of fifty pages. So are interrupted crawls, which differ by far more than
    they scatter. What work does to other pages is a matter of milliseconds, and is compared with
    what queueing theory says. Ten thousand threads that crawl may need most of a minute, and
    are 4 to 30 times as slow as callbacks.
    """
    for point in profiles.profile("full").points:
        apart = point.held or point.modes or point.work_ms or point.id.startswith("crossover-10000")
        assert apart or point.blocks >= MIN_BLOCKS


def test_the_switch_interval_is_a_rung_for_threads_alone() -> None:
    """A knob is turned for nobody, or shown for all: memory trials turn it, and this shows it."""
    found = points("full")["ladder-1000"]
    assert labels(found, *MODELS, "threads_long_switch", "trio") == [
        "threads",
        "threads_long_switch",
    ]
    assert points("full")["c10k-1000"].params["switch_interval_s"] is not None


def test_the_reference_is_full_and_what_takes_minutes_to_answer_one_question() -> None:
    """So whoever has 45 minutes compares with it point by point."""
    full, found = points("full"), points("reference")
    assert {point: found[point] for point in full} == full
    everyone = [*MODELS, *MAIN_VARIANTS]
    assert labels(found["tls-c10k-10000"], *everyone, "curio", "tornado") == everyone
    assert "tls-c10k-10000" not in full


def test_the_reference_compares_threads_by_their_switch_interval() -> None:
    found = points("reference")
    crossing = [p for p in found.values() if p.workload == "crossover"]
    assert max(point.slots for point in crossing) == 10_000
    for point in (p for p in crossing if p.slots < 10_000):
        wanted = ["threads", "callbacks", "async_await", "threads_long_switch"]
        cast = plan.cast(point, [*MODELS, "threads_long_switch", "trio"])
        assert list(map(str, cast)) == wanted
        fewest = min(n for label, n in cast.items() if label.name in MODELS)
        assert fewest >= MIN_BLOCKS
    cast = plan.cast(found["crossover-10000x1000ms"], [*MODELS, "threads_long_switch"])
    assert {str(label): n for label, n in cast.items()} == dict.fromkeys(MODELS, 3)
    names = [*MODELS, "threads_long_switch", "trio"]
    assert labels(found["regime-1000x10ms"], *names)[4:] == ["threads_long_switch", "callbacks#2"]


def test_full_uses_every_processor_where_a_backend_can() -> None:
    found = points("full")
    for how in ("apart", "shared"):
        point = found[f"processors-{how}"]
        names = [*MODELS, "trio", "processes", "subinterpreters"]
        assert labels(point, *names) == [*MODELS, "processes", "subinterpreters", "callbacks#2"]
        assert min(plan.cast(point, names).values()) >= MIN_BLOCKS
        assert point.params["processors"] == how
        assert not point.interleaved
        assert not point.polls
    assert "processors" not in found["whole-100"].params


def test_interpreters_give_threads_every_processor() -> None:
    point = points("interpreters")["processors-shared"]
    assert "loop_per_thread" in labels(point, *MODELS, "processes", "loop_per_thread")
    wanted = ["callbacks", "threads", "processes"]
    assert labels(point, *MODELS, "processes")[:3] == ["threads", "callbacks", "processes"]
    assert set(wanted) == {
        label.removesuffix("#2") for label in labels(point, *MODELS, "processes")
    }


def test_the_regime_map_has_no_hole() -> None:
    delays = {workloads.WAITING_DELAY: 50, "none": 0}
    cells = {
        (p.slots, delays.get(p.delay) or int(p.delay.rpartition(":")[2]))
        for p in profiles.profile("full").points
        if p.workload in ("waiting", "regime")
    }
    assert cells == {(slots, delay) for slots in (1, 10, 100, 1000) for delay in (1, 10, 50)}


def test_the_smoke_profile_is_small() -> None:
    chosen = plan.select("smoke", MODELS)
    assert sum(sum(entry.cast.values()) for entry in chosen) <= 90
    assert max(point.slots for point in profiles.profile("smoke").points) <= 500


def test_every_recorder_is_planned_as_often_as_the_other() -> None:
    assert plan.cast(points("full")["cost-100"], MODELS) == {
        Label("callbacks"): 10,
        Label("callbacks", null_recorder=True): 10,
    }


def test_full_compares_a_server_that_polls_with_one_that_sleeps() -> None:
    for slots in (1, 100):
        point = points("full")[f"awake-{slots}"]
        assert point.interleaved
        assert labels(point, *MODELS) == ["callbacks", "callbacks#2", "callbacks/asleep"]


def test_full_pins_threads_and_lets_loops_have_all_processors() -> None:
    point = points("full")["pinning-100"]
    assert point.interleaved
    assert not point.polls
    wanted = {"threads", "threads_one_processor", "callbacks", "async_await"}
    found = plan.cast(point, [*MODELS, *wanted, "uvloop"], sharing=["threads"])
    assert set(map(str, found)) == {*wanted, "callbacks/all", "async_await/all"}
    assert Label.parse("callbacks/all") in found


def test_full_fetches_with_a_backend_that_has_a_goal_beside_the_floor() -> None:
    point = points("full")["fetch-100"]
    assert "bare" in point.controls
    names = (*MODELS, "uvloop", *profiles.BARRED, "tornado")
    found = plan.cast(point, names)
    assert found[Label("uvloop_protocol")] == found[Label("uvloop")] == point.blocks
    assert Label("tornado") not in found
    assert Label("uvloop_protocol") not in plan.cast(points("full")["fetch-10"], names)
