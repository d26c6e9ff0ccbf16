"""How long trials take: in turns all labels equally long, and a profile as long as it says."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.conditions.ways import ENCRYPTED, PLAIN
from bench.plan import durations, plan
from bench.plan.durations import (
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
from bench.plan.participants import CITED, TLS_PAGES, TWIN, Label, usually
from bench.plan.plan import PlannedPoint
from bench.plan.profiles import profile
from bench.plan.workloads import c10k, fetch, in_modes, serve, throughput, waiting, whole
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


def test_every_name_in_a_table_is_a_backend_or_a_control() -> None:
    assert set(WEIGHTS) <= {*registry.names(), "bare", "stripped"}
    assert {*CITED, *TLS_PAGES} <= set(registry.names())


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


def test_what_takes_longer_has_fewer_pages() -> None:
    point = in_modes("tls-handshake", 10, 30_000, ONE)
    point = replace(point, varied=(PLAIN, ENCRYPTED, *point.varied))
    plain, tls, churn, shaken, tickets = (
        sized(point, Label("callbacks", condition=one.name)).pages for one in point.varied
    )
    assert plain > tls > churn > 10 * shaken == 10 * tickets
    assert sized(point, Label("httpx", condition="handshake")).pages >= PAGES_PER_SLOT * 10


def test_one_server_never_sees_more_connections_than_a_client_has_ports() -> None:
    """Were every connection closed by the client, each port would still be used once at most."""
    (entry,) = plan.select(profile("full", ["churn"]), registry.names())
    assert {label.name for label in entry.labels} == set(CITED)
    most = max(
        sized(entry.point, label).pages for label in entry.labels if label.condition == "churn"
    )
    assert most < 28_232 / 2


def test_the_server_is_told_how_many_header_lines_to_send() -> None:
    point = in_modes("headers", 100, 16000, ONE)
    sites = [sized(point, label).site for label in plan.labels_of(point, ["callbacks"])]
    assert [site.rpartition(":")[2] for site in sites] == ["5", "20", "80"]
    assert point.params["modes"] == "headers=5 headers=20 headers=80"
    assert point.params["ramp_per_s"] is None


# --- trials and plans --------------------------------------------------------------------


PROMISED_MIN = {"smoke": 1.25, "quick": 3.95, "headlines": 10, "full": 40, "reference": 48}
"""Minutes of measuring, of which the summary of a profile speaks; charts come on top."""


@pytest.mark.parametrize("name", PROMISED_MIN)
def test_a_profile_takes_no_longer_than_it_promises_on_the_reference_machine(name: str) -> None:
    found = profile(name)
    sharing = [name for name, backend in OURS.items() if backend.several_threads]
    entries = plan.select(found, found.backends or registry.names(), sharing=sharing)
    late_s = durations.plan_s(entries) - 60 * PROMISED_MIN[name]
    assert late_s <= 0, f"{name} is {late_s:.0f} s too long: fewer blocks or pages, of any point"


@pytest.mark.parametrize(("connections", "servers"), [(1000, 2), (1001, 4)])
def test_each_trial_of_many_connections_has_a_server_of_its_own(
    connections: int, servers: int
) -> None:
    labels = {Label("callbacks"): 2, Label("threads"): 2}
    point = c10k(connections, usually(MODELS, 2))
    trials = sum(n * durations.trial_s(point, label) for label, n in labels.items())
    beyond = durations.plan_s([PlannedPoint(point, labels)]) - trials
    assert beyond == pytest.approx(servers * durations.SERVER_S)


def test_a_slow_label_takes_longer_in_whole_trials_alone() -> None:
    """In turns it gets fewer pages; in whole trials all have the same."""
    work, label = throughput(100, 5000, ONE), Label("callbacks")
    assert durations.trial_s(work, Label("aiohttp")) < 1.2 * durations.trial_s(work, label)
    alone = whole(100, 5000, ONE)
    assert durations.trial_s(alone, Label("aiohttp")) > durations.trial_s(alone, label)
    assert durations.trial_s(alone, Label("nonesuch")) > durations.trial_s(alone, label)
