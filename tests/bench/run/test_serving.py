"""The harness turned round: servers under load, in turns and while they hold connections."""

from __future__ import annotations

import signal
from dataclasses import replace
from unittest import mock

import pytest

from bench.plan import plan, workloads
from bench.plan.labels import Label
from bench.plan.participants import Participants
from bench.plan.plan import Turn
from bench.plan.workloads import Point
from bench.run import block as running
from bench.run.serving import served_reason
from bench.run.trial import Bench
from bench.schema import TrialRecord
from bench.sides.protocol import Loaded
from bench.sides.servers import ModelServer, Served
from bench.sides.tls import Tls
from tests.bench import small
from tests.bench.sure import sure

POINT = workloads.serve(10, 6, Participants(1))
LABELS = ("callbacks", "threads", "bare")
LOADED = replace(small.RESULT, digest="d", loaded=Loaded(checksum=99, connections=2, worked=0))


def alone(bench: Bench, point: Point, name: str) -> TrialRecord:
    return running.run(bench, point, {7: Turn(0, point.id, 0, Label(name))})[0][0]


def block_of(bench: Bench, point: Point, labels: tuple[str, ...] = LABELS) -> list[TrialRecord]:
    turns = {n: Turn(0, point.id, n, Label.parse(name)) for n, name in enumerate(labels)}
    return running.run(bench, point, turns)[0]


@pytest.fixture(scope="module")
def block(bench: Bench) -> list[TrialRecord]:
    return block_of(bench, POINT)


def test_servers_take_turns_and_both_ends_agree(block: list[TrialRecord]) -> None:
    for record, name in zip(block, LABELS, strict=True):
        assert (record.label, record.status, record.reason) == (name, "ok", None)
        assert record.kind == ("control" if name == "bare" else "trial")
        assert record.params["role"] == "server"
        assert record.digest == record.digest_expected is not None
        taken = sure(record.turns)
        assert taken.counted
        assert taken.exchanges <= (record.pages or 0)
        assert record.mechanism["python"]


def test_a_server_may_send_a_head_before_its_body(bench: Bench) -> None:
    pytest.importorskip("waitress")
    for record in block_of(bench, POINT, ("callbacks", "waitress")):
        assert (record.status, record.reason) == ("ok", None)


def test_each_request_has_a_connection_of_its_own(bench: Bench) -> None:
    for record in block_of(bench, workloads.accept(10, 6, Participants(1))):
        assert (record.status, record.reason) == ("ok", None)
        # The site is asked for once before, on one connection.
        assert record.extra["connections_opened"] == (record.pages or 0) - workloads.SERVED + 1


def test_the_processors_of_the_record_are_those_of_each_end(
    bench: Bench, block: list[TrialRecord]
) -> None:
    for record in block:
        assert record.pinning["server"] == (bench.pinning.client or None)
        assert record.pinning["client"] == (bench.pinning.server or None)


@pytest.mark.parametrize(("tls", "name"), [(None, "async_await"), (Tls(), "threads")])
def test_a_server_holds_connections(bench: Bench, tls: Tls | None, name: str) -> None:
    point = workloads.hold(30, Participants(1), tls)
    record = alone(bench, point, name)
    assert (record.status, record.reason) == ("ok", None)
    memory = sure(record.memory)
    assert memory.connections == 30
    # Every page once, one more for each connection, and another when they have been held.
    assert record.pages == workloads.SERVED + 2 * 30
    if name == "threads":
        assert memory.held.threads - memory.before.threads == 30


def test_a_server_that_is_killed_fails_its_own_trial_alone(bench: Bench) -> None:
    point = workloads.hold(30, Participants(1))
    begin = ModelServer.page_faults

    def killed(self: ModelServer) -> int:
        self.child.process.send_signal(signal.SIGKILL)
        return begin(self)

    with mock.patch.object(ModelServer, "page_faults", killed):
        record = alone(bench, point, "callbacks")
    assert record.status == "failed"
    assert record.reason


def test_an_unknown_site_is_a_reason_and_no_crash(bench: Bench) -> None:
    point = replace(workloads.hold(5, Participants(1)), site="nonsense")
    record = alone(bench, point, "callbacks")
    assert record.status == "failed"
    assert "not a site" in (record.stderr or "") + (record.reason or "")


@pytest.mark.parametrize(
    ("name", "served", "expected", "wrong"),
    [
        ("callbacks", Served(10, 99), "d", ""),
        ("callbacks", Served(10, 99), "other", "wrong digest"),
        ("callbacks", Served(11, 99), "d", "10 answers"),
        ("callbacks", Served(10, 98), "d", "checksum of 99"),
        ("callbacks", Served(10, 99, 2), "d", ""),
        ("callbacks", Served(10, 99, 3), "d", "but 3 accepted"),
        ("bare", Served(0, 0), "d", ""),
    ],
)
def test_both_ends_must_agree(name: str, served: Served, expected: str, wrong: str) -> None:
    found = served_reason(name, LOADED, served, expected) or ""
    assert wrong in found
    assert bool(wrong) == bool(found)


def test_servers_that_are_no_crawlers_take_part_where_servers_do() -> None:
    names = ("callbacks", "aiohttp_web", "aiohttp")
    serves = workloads.serve(100, 40, Participants(1, 1, 1))
    crawls = workloads.fetch(100, 1000, Participants(1, 1, 1))
    assert {label.name for label in plan.labels_of(serves, names)} == {"callbacks", "aiohttp_web"}
    assert {label.name for label in plan.labels_of(crawls, names)} == {"callbacks", "aiohttp"}


@pytest.mark.parametrize("name", ["async_await", "async_await_pool"])
def test_a_schedule_is_kept_beside_work(bench: Bench, name: str) -> None:
    point = workloads.mixed_server(5, 200, 0.5, Participants(1))
    record = alone(bench, point, name)
    assert (record.status, record.reason) == ("ok", None)
    # Every page of the site once, and then what the schedule asks for.
    assert record.pages == (point.urls or 0) + 100
    assert sure(record.response_time).count == 90
    assert record.extra["working_p50_ms"] >= 5  # type: ignore[operator]


def test_slow_readers_get_what_they_read(bench: Bench) -> None:
    point = replace(workloads.slow_readers(20, 20, Participants(1)), waits_s=0.5)
    record = alone(bench, point, "async_await")
    assert (record.status, record.reason) == ("ok", None)
    assert record.pages == (point.urls or 0) + 20 + 2 * 10
    assert sure(record.memory).connections == 20
    assert sure(record.response_time).count == 10
    assert record.extra["alone_p50_ms"]
