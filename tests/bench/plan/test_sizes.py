"""Each label in turns gets as many pages as it can fetch in the same time."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.plan.labels import TWIN, Label
from bench.plan.participants import Participants
from bench.plan.profiles import profile
from bench.plan.sizes import (
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
from bench.plan.workloads import c10k, fetch, serve, throughput, waiting
from crawlers import registry
from server.models.catalogue import SERVERS

NAMES = st.sampled_from([*registry.names(), "bare", "stripped", "nonesuch"])
POINTS = st.builds(
    lambda make, slots, pages: make(slots, pages, Participants(1)),
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


def test_what_does_not_take_turns_has_one_size() -> None:
    for point in (waiting(10, 50, Participants(1)), c10k(100, Participants(1))):
        assert sized(point, Label("aiohttp")) is point


def test_a_directory_has_the_size_it_has() -> None:
    point = replace(throughput(10, 100, Participants(1)), site="dir:somewhere")
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
    point = serve(slots, 20, Participants(5))
    assert len({turn_s(point, Label(name)) for name in (*SERVERS, "bare")}) == 1
    assert len({round_s(point, Label(name)) for name in (*SERVERS, "bare")}) == 1
    assert turn_s(fetch(100, 100, Participants(1)), Label("threads")) == ONLY_TURN_S
