"""One trial: correct or void, failed or refused, and never a number that does not count."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.plan import backends
from bench.plan.labels import Label
from bench.plan.order import Turn
from bench.plan.tls import WAYS, Mode
from bench.plan.workloads import SITE_SEED, Point
from bench.run import limiter, trial
from bench.run.judge import void_reason
from bench.run.limiter import Load
from bench.run.servers import Server, ServerError
from bench.run.state import Bench, Trial
from bench.schema import Handshakes, Ledger, Spread
from crawlers.catalogue import OURS
from crawlers.registry import MODELS
from tests.bench import small


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", str(small.OUTSIDE))
    with small.bench(tmp_path_factory.mktemp("scratch"), deadline_s=20) as found:
        yield found
    patch.undo()


@pytest.mark.parametrize("label", [*MODELS, "callbacks#2"])
def test_a_crawl_is_measured_and_verified(shared: Bench, label: str) -> None:
    record = small.trial(shared, small.point(), label)
    assert (record.status, record.reason) == ("ok", None)
    assert record.pages == 60
    assert record.digest == record.digest_expected
    assert record.label == label
    assert record.backend == label.removesuffix("#2")
    assert record.ledger is not None
    assert record.ledger.repeated == 0
    assert record.cpu is not None
    assert record.service_time is not None
    assert record.service_time.count == record.ledger.requests
    assert record.elapsed_s is not None
    assert 0 < record.elapsed_s < record.trial_s
    assert record.limiter is not None
    # One for all labels of a block, from the campaign's seed.
    assert record.seeds["hash"] == 1000 * record.seeds["campaign"] + record.block + 1


TWO = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="a client cannot share processors with the server on one, or without affinity",
)


@TWO
def test_a_backend_that_can_use_every_processor_gets_them_where_a_point_spreads(
    shared: Bench,
) -> None:
    known = {"processes": next(iter(backends.look_up(["processes"])))}
    bench = replace(shared, backends={**shared.backends, **known})
    where = small.point(id="processors-shared", workload="processors", spread="shared")
    with Server(where.site, seed=SITE_SEED, cores=bench.pinning.server) as server:
        wide, narrow = (small.trial(bench, where, name, server) for name in NARROWING)
    assert (wide.status, narrow.status) == ("ok", "ok")
    everything = bench.pinning.usable
    assert wide.pinning == {"client": everything, "server": everything, "reason": None}
    assert wide.mechanism["processes"] == min(where.slots, len(everything))
    # The next trial of the block has the server for itself again.
    assert narrow.pinning["client"] == bench.pinning.client
    assert narrow.pinning["server"] == bench.pinning.server
    assert wide.params["processors"] == narrow.params["processors"] == "shared"
    assert not wide.extra["server_polls"]
    assert not narrow.extra["server_polls"]


NARROWING = ("processes", "callbacks")


@TWO
@pytest.mark.parametrize(
    ("label", "spread", "wide"),
    [
        ("processes", "shared", True),
        ("subinterpreters", "shared", True),
        ("processes@3.13.5", "shared", True),
        ("processes", None, False),
        ("threads", "shared", True),
        ("threads@3.14.0t", "shared", True),
        ("callbacks@3.14.0t", "shared", False),
        ("threads@3.13.5", None, True),
        ("threads#2", None, True),
        ("requests", None, True),
        ("threads_one_processor", None, False),
        ("gevent", None, False),
        ("callbacks", None, False),
        ("callbacks/all", None, True),
    ],
)
def test_several_threads_are_given_every_processor(
    shared: Bench, label: str, spread: Spread | None, wide: bool
) -> None:
    found = planned(shared, small.point(spread=spread), label)
    bench = shared.pinning
    if wide and spread is None:
        assert found.pinning == bench.unpinned()
        assert set(found.pinning.client) > set(bench.client)
        assert found.pinning.server == bench.server
        assert found.server_polls == (not found.pinning.shared)
    else:
        assert found.pinning.client == (bench.usable if wide else bench.client)
        assert found.server_polls == (spread is None)


@TWO
def test_one_thread_at_a_time_has_the_lock(shared: Bench) -> None:
    both = len(shared.pinning.unpinned().client)
    most = {
        label: planned(shared, small.point(), label).most_busy
        for label in ("threads", "threads@3.14.0t", "callbacks@3.14.0t")
    }
    assert most == {"threads": 1, "threads@3.14.0t": both, "callbacks@3.14.0t": 1}


def test_memory_is_measured_on_one_processor(shared: Bench) -> None:
    where = small.point("list:4:512", 4, id="c10k-4", workload="c10k", kind="hold", urls=4)
    assert planned(shared, where, "threads").pinning == shared.pinning


def planned(shared: Bench, where: Point, label: str) -> Trial:
    """A trial that does not run."""
    turn = Turn(0, where.id, 0, Label.parse(label))
    backend = replace(OURS[turn.label.name], name=turn.label.backend)
    known = {turn.label.backend: backend}
    bench = replace(shared, backends=known, free_threaded=["3.14.0t"])
    return Trial(bench, where, turn, shared.warmup, 0)


@TWO
def test_threads_run_on_all_processors_and_a_server_that_shares_them_sleeps(shared: Bench) -> None:
    threads, one = (small.trial(shared, small.point(), name) for name in ("threads", "callbacks"))
    pinning = shared.pinning.unpinned()
    assert (threads.status, one.status) == ("ok", "ok")
    assert threads.pinning["client"] == pinning.client
    assert threads.pinning["server"] == one.pinning["server"] == shared.pinning.server
    assert one.pinning["client"] == shared.pinning.client
    assert bool(threads.extra["server_polls"]) == (not pinning.shared)
    assert one.extra["server_polls"]


@TWO
def test_a_loop_on_all_processors_is_told_apart(shared: Bench) -> None:
    wide = small.trial(shared, small.point(wide=("callbacks",)), "callbacks/all")
    assert (wide.kind, wide.label, wide.status) == ("trial", "callbacks", "ok")
    assert wide.pinning["client"] == shared.pinning.unpinned().client
    assert Label.of(wide) == Label("callbacks", wide=True)
    assert not wide.extra["server_polls"]


@TWO
def test_a_companion_is_a_trial_of_its_own_kind(shared: Bench) -> None:
    companion = small.trial(shared, small.point(), "callbacks/asleep")
    assert (companion.kind, companion.label, companion.status) == ("companion", "callbacks", "ok")
    assert companion.params["server"] == "asleep"
    assert not companion.extra["server_polls"]
    assert Label.of(companion) == Label("callbacks", asleep=True)


@pytest.mark.parametrize("label", MODELS)
def test_memory_is_read_while_every_connection_is_held(shared: Bench, label: str) -> None:
    where = small.point("list:40:512", 40, id="c10k-40", workload="c10k", kind="hold", urls=40)
    record = small.trial(shared, where, label)
    assert (record.status, record.reason) == ("ok", None)
    assert record.memory is not None
    assert record.memory.connections == 40
    assert record.ledger is not None
    assert record.ledger.peak_in_flight == 40
    assert record.memory.held.threads >= (40 if label == "threads" else 1)
    assert record.ramp is not None
    assert max(record.ramp.connections) == 40
    assert record.ramp.opened_ms is not None
    both = zip(record.ramp.connections, record.ramp.own_kib, strict=True)
    assert all(own for connections, own in both if connections)  # none is left when it has ended
    assert record.limiter is None


@pytest.mark.parametrize("label", MODELS)
def test_an_open_loop_keeps_its_schedule(shared: Bench, label: str) -> None:
    where = small.point(
        "list:50:512", 8, id="openloop-500", workload="openloop", kind="openloop", urls=50, rate=500
    )
    record = small.trial(shared, where, label)
    assert (record.status, record.reason) == ("ok", None)
    assert record.offered_per_s is not None
    assert record.achieved_per_s is not None
    assert record.achieved_per_s < 1.1 * record.offered_per_s
    assert record.response_time is not None
    assert record.response_time.count == 50
    assert record.late_starts is not None


def test_a_directory_of_html_is_crawled_and_verified(shared: Bench, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text('<a href="sub/">in</a> <a href="gone.html">404</a>')
    (tmp_path / "sub" / "index.html").write_text('<a href="../index.html#top">out</a>')
    where = small.point(f"dir:{tmp_path}", 2, id="real-2", workload="real", site_name="dir:here")
    record = small.trial(shared, where, "callbacks")
    assert (record.status, record.reason) == ("ok", None)
    assert record.statuses == {"200": 3, "404": 1}
    assert record.params["site"] == "dir:here"
    assert str(tmp_path) not in record.model_dump_json()


def test_a_recorder_that_keeps_nothing_gives_no_times(shared: Bench) -> None:
    record = small.trial(shared, small.point(), "callbacks/null")
    assert record.status == "ok"
    assert (record.label, record.params["recorder"]) == ("callbacks", "null")
    assert record.service_time is None
    assert Label.of(record) == Label("callbacks", null_recorder=True)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("lazy", "wrong digest"),
        ("twice", "requests for"),
        ("greedy", "8 connections opened for 4 slots"),
    ],
)
def test_what_is_not_correct_is_void(shared: Bench, label: str, reason: str) -> None:
    where = small.point("tree:200:10:2048", delay="fixed:5")
    record = small.trial(shared, where, label)
    assert record.status == "void"
    assert reason in (record.reason or "")


def test_what_a_backend_prints_does_not_forge_a_result(shared: Bench) -> None:
    record = small.trial(shared, small.point(), "talking")
    assert (record.status, record.reason) == ("ok", None)
    assert record.digest != "forged"


@pytest.mark.parametrize(
    ("label", "reason", "stderr"),
    [
        ("crash", "RuntimeError: this backend gave up", "this backend gave up"),
        ("killed", "the worker ended: killed by SIGKILL", ""),
    ],
)
def test_a_worker_that_fails_is_recorded_with_its_last_words(
    shared: Bench, label: str, reason: str, stderr: str
) -> None:
    record = small.trial(shared, small.point(), label)
    assert record.status == "failed"
    assert reason in (record.reason or "")
    assert stderr in (record.stderr or "")
    assert record.elapsed_s is None


def test_a_hung_worker_is_ended_and_says_where_it_hung(
    shared: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "deadline_s", 0.5)
    record = small.trial(shared, small.point(), "hang")
    assert record.status == "failed"
    assert "no result in 0.5 s" in (record.reason or "")
    assert "in _hang" in (record.stderr or "")


def test_a_missed_barrier_is_a_failure(shared: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "deadline_s", 0.5)
    where = small.point("list:20:512", 20, id="c10k-20", workload="c10k", kind="hold", urls=20)
    record = small.trial(shared, where, "hang")
    assert record.status == "failed"
    assert "0 of 20 connections reached the barrier" in (record.reason or "")


def test_a_server_that_is_killed_fails_the_trial_and_no_more(shared: Bench) -> None:
    with Server("tree:60:5:1024", seed=SITE_SEED, cores=[]) as server:
        os.kill(server.pid, signal.SIGKILL)
        record = small.trial(shared, small.point(), "callbacks", server)
        assert not server.alive
    assert record.status == "failed"
    assert "fixture server" in (record.reason or "")
    assert small.trial(shared, small.point(), "callbacks").status == "ok"


def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(ServerError, match="exit code"):
        Server("dir:/nowhere/at/all", seed=1, cores=[])


def test_no_record_names_a_folder_of_this_machine(shared: Bench) -> None:
    for label in ("callbacks", "crash"):
        text = small.trial(shared, small.point(), label).model_dump_json()
        assert str(Path(trial.__file__).parents[2]) not in text


LEDGER = Ledger(
    requests=10,
    distinct=10,
    repeated=0,
    connections_opened=4,
    peak_connections=4,
    peak_in_flight=4,
    requests_per_connection_max=3,
)


@pytest.mark.parametrize(
    ("result", "ledger", "expected", "reason"),
    [
        ({}, {}, "d", None),
        ({"stopped": "deadline"}, {}, "d", "stopped: deadline"),
        ({}, {}, None, "no digest"),
        ({"errors": {"timeout": 2}}, {}, "e", "wrong digest of 10 URLs; errors: 2 timeout"),
        ({}, {"requests": 11}, "d", "11 requests"),
        ({}, {"repeated": 1}, "d", "1 of them repeated"),
        ({}, {"distinct": 9}, "d", "9 URLs"),
        ({}, {"connections_opened": 5}, "d", "5 connections opened"),
        ({}, {"peak_in_flight": 5}, "d", "5 requests in flight"),
    ],
)
def test_every_disagreement_is_named(
    result: dict[str, Any], ledger: dict[str, Any], expected: str | None, reason: str | None
) -> None:
    found = void_reason(
        small.point(), replace(small.RESULT, **result), LEDGER.model_copy(update=ledger), expected
    )
    assert found == reason or (reason is not None and reason in (found or ""))


@pytest.mark.parametrize(
    ("mode", "counts", "reason"),
    [
        ("tls", {"handshakes": Handshakes(full=4, resumed=0, failed=0)}, None),
        ("tls", {}, "this was not TLS"),
        ("tls", {"handshakes": Handshakes(full=3, resumed=0, failed=0)}, "3 handshakes"),
        ("plain", {"handshakes": Handshakes(full=4, resumed=0, failed=0)}, "on plain HTTP"),
        ("plain", {}, None),
        ("churn", {"connections_opened": 10, "requests_per_connection_max": 1}, None),
        ("churn", {"requests_per_connection_max": 3}, "3 requests on one connection"),
        (
            "handshake",
            {
                **{"connections_opened": 10, "requests_per_connection_max": 1},
                "handshakes": Handshakes(full=9, resumed=1, failed=0),
            },
            "offers no tickets",
        ),
        (
            "tickets",
            {
                **{"connections_opened": 10, "requests_per_connection_max": 1},
                "handshakes": Handshakes(full=1, resumed=9, failed=0),
            },
            None,
        ),
    ],
)
def test_pages_that_were_fetched_in_another_way_void(
    mode: Mode, counts: dict[str, Any], reason: str | None
) -> None:
    ledger = LEDGER.model_copy(update=counts)
    found = void_reason(small.point(), small.RESULT, ledger, "d", way=WAYS[mode])
    assert found == reason or (reason is not None and reason in (found or ""))


def test_a_barrier_that_was_not_full_voids() -> None:
    where = small.point(kind="hold", slots=8)
    assert "only 4 of 8" in (void_reason(where, small.RESULT, LEDGER, "d") or "")


@pytest.mark.parametrize(
    ("load", "stamp"),
    [
        (Load(0.99, 0.4, 100), "client"),
        (Load(1.2, 0.4, 100, processors=2), "unclear"),
        (Load(1.9, 0.4, 100, processors=2), "client"),
        (Load(0.99, 0.4, 100, ceiling=105), "client"),
        (Load(0.5, 0.95, 100), "server"),
        (Load(0.5, 0.5, 90, ceiling=100), "server"),
        (Load(0.95, 0.95, 50, ceiling=100), "unclear"),
        (Load(0.3, 0.1, 99, offered=100), "schedule"),
        (Load(0.99, 0.1, 60, offered=100), "client"),
        (Load(0.3, 0.1, 18, slot_bound=20), "schedule"),
        (Load(0.3, 0.1, 10, slot_bound=20), "schedule"),
        (Load(0.8, 0.1, 10, slot_bound=20), "unclear"),
        (Load(0.3, 0.1, 10), "unclear"),
        (Load(0.3, None, 10), "unclear"),
    ],
)
def test_the_limiter_is_what_was_full(load: Load, stamp: str) -> None:
    found, why = limiter.limiter(load)
    assert found == stamp
    assert "busy" in why


@given(
    st.floats(0, 1),
    st.one_of(st.none(), st.floats(0, 1)),
    st.floats(0, 1e6),
    st.one_of(st.none(), st.floats(1, 1e6)),
)
def test_every_load_gets_a_stamp(
    client: float, server: float | None, rate: float, top: float | None
) -> None:
    found, _ = limiter.limiter(Load(client, server, rate, ceiling=top))
    assert found in ("client", "server", "unclear")


def test_the_slot_bound_follows_the_delay() -> None:
    assert limiter.slot_bound(10, "none") is None
    assert limiter.slot_bound(10, "fixed:50") == pytest.approx(200)
    assert limiter.slot_bound(10, "exponential:50") == pytest.approx(200)
    bound = limiter.slot_bound(10, "lognormal:50")
    assert bound is not None
    assert 170 < bound < 180  # the mean of a lognormal lies above its median
