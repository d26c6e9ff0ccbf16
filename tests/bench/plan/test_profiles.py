"""The profiles: whole, unambiguous, and what the charts need."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from bench.analysis.stats import LEVEL, MIN_BLOCKS
from bench.analysis.stats.memory import MIN_CONNECTION_COUNTS, theil_sen
from bench.conditions.held import RAMP_PER_S, TLS_RAMP_PER_S
from bench.plan import plan, profiles
from bench.plan.participants import BASE, CITED, PINNED, TWIN, usually
from bench.plan.workloads import Point, c10k
from crawlers.registry import MODELS

PROFILES = sorted(profiles.PROFILES)


def points(profile: str) -> dict[str, Point]:
    return {point.id: point for point in profiles.profile(profile).points}


@pytest.mark.parametrize("profile", PROFILES)
def test_point_ids_are_unique_and_begin_with_their_workload(profile: str) -> None:
    found = profiles.PROFILES[profile]().points
    assert len({point.id for point in found}) == len(found)
    assert all(point.id.rpartition("-")[0] == point.workload for point in found)


def test_quick_claims_something_about_the_models_and_the_main_variants() -> None:
    found = points("quick")
    everyone = [*MODELS, "uvloop", "trio", "aiohttp"]
    # The host may rob one trial of a p99.
    for point, least in (("throughput-100", MIN_BLOCKS), ("openloop-2000", MIN_BLOCKS + 1)):
        assert set(plan.labels_of(found[point], everyone).values()) == {least}
    assert TWIN in {one.name for one in found["throughput-100"].varied}
    # The line of memory over connections rests on as many readings of each.
    for workload in ("c10k", "tls-c10k"):
        held = [plan.labels_of(p, everyone) for p in found.values() if p.workload == workload]
        read = Counter(str(label) for labels in held for label in Counter(labels).elements())
        assert read == dict.fromkeys(everyone, MIN_BLOCKS)


@pytest.mark.parametrize("profile", ["smoke", "quick", "full"])
def test_a_memory_slope_has_four_numbers_of_connections(profile: str) -> None:
    held = {point.slots for point in profiles.profile(profile).points if point.memory}
    assert len(held) >= 4


@pytest.mark.parametrize("workload", ["c10k", "tls-c10k"])
@pytest.mark.parametrize("profile", ["quick", "full", "reference"])
def test_the_interval_of_a_memory_slope_covers_what_it_promises(
    profile: str, workload: str
) -> None:
    """One reading at each of four numbers of connections covered 92 %, and was called 95 %."""
    held = [p for p in profiles.profile(profile).points if p.workload == workload]
    counts = [float(p.slots) for p in held for _ in range(p.who.blocks_of(BASE))]
    if len({*counts}) < MIN_CONNECTION_COUNTS:  # divided by their number, without an interval
        assert all(p.who.blocks_of(BASE) > 1 for p in held)
        return
    rng, covered, times = np.random.default_rng(1), 0, 2000
    for _ in range(times):
        read = 5000 * np.array(counts) + rng.normal(0, 20_000, len(counts))
        _, _, low, high = theil_sen(counts, read.tolist())
        covered += low <= 5000 <= high
    assert covered / times > LEVEL - 0.01


@pytest.mark.parametrize("profile", PROFILES)
def test_the_records_name_no_folder_of_this_machine(profile: str) -> None:
    for point in profiles.profile(profile).points:
        assert not any("/" in str(value) for value in point.params.values())


EVERYONE = (*CITED, "twisted", "mine")
TWINS = ("callbacks#2", "threads#2", "async_await#2")
SPREADING = (*MODELS, "processes", "subinterpreters")
LONG_SWITCH = ("threads", "threads_long_switch")


@pytest.mark.parametrize(
    ("profile", "point", "names", "wanted"),
    [
        ("quick", "connect-100", MODELS, ("async_await/churn",)),
        ("quick", "throughput-100", MODELS, (*MODELS, "callbacks#2")),
        ("quick", "c10k-1000", (*MODELS, "trio"), (*MODELS, "trio")),
        ("quick", "c10k-3000", (*MODELS, "trio"), (*MODELS, "trio")),
        ("full", "fetch-100", ("threads",), ("threads", "threads#2")),
        ("full", "cost-100", MODELS, ("callbacks", "callbacks/null")),
        ("full", "churn-100", ("trio",), ("trio/plain", "trio/churn")),
        ("full", "headers-100", MODELS[:1], [f"{MODELS[0]}/headers={n}" for n in (5, 20, 80)]),
        ("full", "tls-fetch-10", ("trio",), ("trio/plain", "trio/tls")),
        ("full", "tls-handshake-10", ("trio",), ("trio/churn", "trio/handshake", "trio/tickets")),
        ("full", "ladder-100", EVERYONE, (*EVERYONE, *TWINS)),
        # A knob is turned for nobody, or shown for all: memory trials turn it, and this shows it.
        ("full", "throughput-100", EVERYONE, (*CITED, *TWINS)),
        ("full", "c10k-1000", EVERYONE, EVERYONE),
        ("full", "c10k-10000", EVERYONE, CITED),
        ("full", "processors-apart", (*SPREADING, "trio"), (*SPREADING, "callbacks#2")),
        ("full", "tls-c10k-2000", (*EVERYONE, "tornado"), CITED),
        (
            *("reference", "regime-1000x10ms"),
            (*MODELS, *LONG_SWITCH[1:], "trio"),
            (*MODELS, *LONG_SWITCH[1:], "callbacks#2"),
        ),
        (
            *("interpreters", "processors-shared"),
            (*MODELS, "processes"),
            ("threads", "callbacks", "processes", "callbacks#2"),
        ),
    ],
)
def test_who_takes_part_in_a_point(
    profile: str, point: str, names: Sequence[str], wanted: Sequence[str]
) -> None:
    assert list(map(str, plan.labels_of(points(profile)[point], names))) == list(wanted)


def test_every_point_of_the_full_profile_can_have_an_interval() -> None:
    """Of the memory points all of them together make one.

    What TLS adds is given with its range: a backend is compared with itself, and a handshake
    takes the time of fifty pages. So are interrupted crawls, which differ by far more than
    they scatter. What work does to other pages is a matter of milliseconds, and is compared with
    what queueing theory says.
    """
    for point in profiles.profile("full").points:
        apart = point.held or point.modes or point.params.get("work_ms")
        assert apart or point.blocks >= MIN_BLOCKS


def test_the_reference_is_full_and_what_takes_minutes_to_answer_one_question() -> None:
    """So whoever has half an hour compares with it point by point."""
    full, found = points("full"), points("reference")
    assert {point: found[point] for point in full} == full
    assert "serve-1000" not in full


def test_connections_held_over_tls_are_opened_more_slowly_and_recorded() -> None:
    plain, over = (c10k(10, usually(MODELS, 1), tls=tls) for tls in (False, True))
    ramps = (plain.params["ramp_per_s"], over.params["ramp_per_s"])
    assert ramps == (RAMP_PER_S, TLS_RAMP_PER_S)
    assert plain.tls is None
    assert over.params["tls"] == "TLS 1.3, ecdsa, tickets"
    assert not {"tls", "modes"} & plain.params.keys()  # as before there was any TLS


# --- processors -------------------------------------------------------------------------


def machine(monkeypatch: pytest.MonkeyPatch, usable: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(usable)), raising=False)


@pytest.mark.parametrize(
    ("usable", "wanted"),
    [
        (2, ("apart", "shared")),
        (3, ("1apart", "apart", "shared")),
        (4, ("1apart", "2apart", "apart", "shared")),
        (12, ("1apart", "2apart", "4apart", "8apart", "apart", "shared")),
    ],
)
def test_full_has_every_number_of_processors_but_the_servers(
    usable: int, wanted: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, usable)
    names = [*MODELS, "processes", "loop_per_thread", "trio"]
    free = [f"{name}@3.14.2{suffix}" for suffix in ("", "t") for name in names]
    entries = plan.select(profiles.profile("full", ["processors"]), free)
    assert sorted(entry.point.id for entry in entries) == [f"processors-{how}" for how in wanted]
    for entry in entries:
        assert min(entry.labels.values()) >= MIN_BLOCKS
        assert "trio" not in {label.name for label in entry.labels}


# --- servers -----------------------------------------------------------------------------


@pytest.mark.parametrize(("usable", "pinned"), [(2, False), (4, True)])
def test_threads_as_servers_are_compared_with_themselves(
    usable: int, pinned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On two processors ``threads_one_processor`` was a twin that nobody counted."""
    machine(monkeypatch, usable)
    labels = plan.labels_of(points("full")["serve-100"], [*MODELS, PINNED])
    assert {"threads", "threads#2", "callbacks#2"} <= set(map(str, labels))
    assert (PINNED in map(str, labels)) == pinned
