"""One trial: correct or void, failed or refused, and never a number that does not count."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.plan.labels import Label
from bench.plan.participants import Participants
from bench.plan.plan import Turn, labels_of
from bench.plan.tls import WAYS, Mode
from bench.plan.workloads import SITE_SEED, Point, few
from bench.run import judge
from bench.run.judge import Load, void_reason
from bench.run.trial import Bench, Trial
from bench.schema import Handshakes, Spread
from bench.sides.servers import Server, ServerError
from crawlers.catalogue import OURS
from crawlers.registry import MODELS
from tests.bench import small
from tests.bench.small import some
from tests.bench.sure import sure


@pytest.mark.parametrize("label", some((*MODELS, "callbacks#2"), "threads", "callbacks#2"))
def test_a_crawl_is_measured_and_verified(shared: Bench, label: str) -> None:
    record = small.trial(shared, small.point(), label)
    assert (record.status, record.reason) == ("ok", None)
    assert record.pages == 60
    assert record.digest == record.digest_expected
    assert record.label == label
    assert record.backend == label.removesuffix("#2")
    ledger = sure(record.ledger)
    assert ledger.repeated == 0
    assert record.cpu is not None
    assert sure(record.service_time).count == ledger.requests
    assert 0 < sure(record.elapsed_s) < record.trial_s
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
    bench = shared
    where = small.point(id="processors-shared", workload="processors", spread="shared")
    with Server(where.site, seed=SITE_SEED, cores=bench.pinning.server) as server:
        wide, narrow = (
            small.trial(bench, where, name, server) for name in ("processes", "callbacks")
        )
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
def test_few_connections_are_placed_alike(shared: Bench) -> None:
    """Loops were kept away from a server that slept, and threads had its processor as well."""
    where = few(1, Participants(1))
    placed = {name: planned(shared, where, name) for name in MODELS}
    assert {tuple(found.pinning.client) for found in placed.values()} == {
        tuple(shared.pinning.unpinned().client)
    }
    assert len({found.server_polls for found in placed.values()}) == 1
    assert labels_of(where, MODELS, sharing=["threads"]).keys() == {
        *map(Label, MODELS),
        Label("callbacks", twin=True),
    }


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
    turn = Turn(0, where.id, 0, Label.parse(label))
    backend = replace(OURS[turn.label.name], name=turn.label.backend)
    known = {turn.label.backend: backend}
    bench = replace(shared, backends=known, free_threaded=["3.14.0t"])
    return Trial(bench, where, turn, 0)


@TWO
@pytest.mark.parametrize(
    ("label", "kind", "changed"),
    [
        ("callbacks/all", "trial", {"processors": "all"}),
        ("callbacks/asleep", "companion", {"server": "asleep"}),
        ("callbacks/null", "trial", {"recorder": "null"}),
    ],
)
def test_a_further_label_of_a_backend_is_told_apart(
    shared: Bench, label: str, kind: str, changed: dict[str, str]
) -> None:
    wide = ("callbacks",) if label == "callbacks/all" else ()
    record = small.trial(shared, small.point(wide=wide), label)
    assert (record.kind, record.label, record.status) == (kind, "callbacks", "ok")
    assert changed.items() <= record.params.items()
    assert Label.of(record) == Label.parse(label)
    assert bool(record.extra["server_polls"]) == (label == "callbacks/null")
    assert (record.service_time is None) == (label == "callbacks/null")


@pytest.mark.parametrize("label", some(MODELS, "threads", "callbacks"))
def test_memory_is_read_while_every_connection_is_held(shared: Bench, label: str) -> None:
    where = small.point("list:40:512", 40, id="c10k-40", workload="c10k", kind="hold", urls=40)
    record = small.trial(shared, where, label)
    assert (record.status, record.reason) == ("ok", None)
    memory = sure(record.memory)
    assert memory.connections == sure(record.ledger).peak_in_flight == 40
    assert memory.held.threads >= (40 if label == "threads" else 1)
    assert record.limiter is None


@pytest.mark.parametrize("label", some(MODELS, "threads", "callbacks"))
def test_an_open_loop_keeps_its_schedule(shared: Bench, label: str) -> None:
    where = small.point(
        "list:50:512", 8, id="openloop-500", workload="openloop", kind="openloop", urls=50, rate=500
    )
    record = small.trial(shared, where, label)
    assert (record.status, record.reason) == ("ok", None)
    assert sure(record.achieved_per_s) < 1.1 * sure(record.offered_per_s)
    assert sure(record.response_time).count == 50
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


def test_a_server_that_is_killed_fails_the_trial(shared: Bench) -> None:
    with Server("tree:60:5:1024", seed=SITE_SEED, cores=[]) as server:
        os.kill(server.pid, signal.SIGKILL)
        record = small.trial(shared, small.point(), "callbacks", server)
        assert not server.alive
    assert record.status == "failed"
    assert "fixture server" in (record.reason or "")


def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(ServerError, match="exit code"):
        Server("dir:/nowhere/at/all", seed=1, cores=[])


EACH_PAGE = {"connections_opened": 10, "requests_per_connection_max": 1}


def shaken(full: int, resumed: int = 0) -> dict[str, Any]:
    return {"handshakes": Handshakes(full=full, resumed=resumed, failed=0)}


@pytest.mark.parametrize(
    ("result", "ledger", "mode", "reason"),
    [
        ({}, {}, "", None),
        ({"stopped": "deadline"}, {}, "", "stopped: deadline"),
        ({"mechanism": {"gil": "enabled"}}, {}, "", None),  # as every other build has it
        (
            {"mechanism": {"gil": "enabled", "gil_by": "uvloop"}},
            *({}, "", "the lock of this free-threaded interpreter was on at the end; "),
        ),
        (
            {"digest": "e", "errors": {"timeout": 2}},
            *({}, "", "wrong digest of 10 URLs; errors: 2 timeout"),
        ),
        ({}, {"requests": 11}, "", "11 requests"),
        ({}, {"repeated": 1}, "", "1 of them repeated"),
        ({}, {"distinct": 9}, "", "9 URLs"),
        ({}, {"connections_opened": 5}, "", "5 connections opened"),
        ({}, {"peak_in_flight": 5}, "", "5 requests in flight"),
        ({}, shaken(4), "tls", None),
        ({}, {}, "tls", "this was not TLS"),
        ({}, shaken(3), "tls", "3 handshakes"),
        ({}, shaken(4), "plain", "on plain HTTP"),
        ({}, {}, "plain", None),
        ({}, EACH_PAGE, "churn", None),
        ({}, {"requests_per_connection_max": 3}, "churn", "3 requests on one connection"),
        ({}, EACH_PAGE | shaken(9, 1), "handshake", "offers no tickets"),
        ({}, EACH_PAGE | shaken(1, 9), "tickets", None),
    ],
)
def test_every_disagreement_is_named(
    result: dict[str, Any], ledger: dict[str, Any], mode: Mode, reason: str | None
) -> None:
    found = void_reason(
        small.point(),
        replace(small.RESULT, **result),
        small.LEDGER.model_copy(update=ledger),
        "d",
        way=WAYS[mode] if mode else None,
    )
    assert found == reason or (reason is not None and reason in (found or ""))


def test_without_a_digest_or_a_full_barrier_nothing_counts() -> None:
    assert "no digest" in (void_reason(small.point(), small.RESULT, small.LEDGER, None) or "")
    where = small.point(kind="hold", slots=8)
    assert "only 4 of 8" in (void_reason(where, small.RESULT, small.LEDGER, "d") or "")


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
    ],
)
def test_the_limiter_is_what_was_full(load: Load, stamp: str) -> None:
    assert judge.limiter(load) == stamp


def test_the_slot_bound_follows_the_delay() -> None:
    assert judge.slot_bound(10, "none") is None
    assert judge.slot_bound(10, "fixed:50") == pytest.approx(200)
    assert judge.slot_bound(10, "exponential:50") == pytest.approx(200)
    # The mean of a lognormal lies above its median.
    assert 170 < sure(judge.slot_bound(10, "lognormal:50")) < 180
