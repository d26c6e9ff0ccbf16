"""Connections by bytes in and bytes out, without a socket."""

from __future__ import annotations

import time
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.connection import MAX_READY, Connection, Core
from server.delays import Delay
from server.sites.specs import make_site
from tests.server.fixture_server import get
from tests.server.wire import CASES, PAGE, SERVED, Case, Wire, connect, new_core, refused, statuses

REFUSED = [case for case in CASES if refused(case.fixture)]


def talk(core: Core, *pieces: bytes) -> Wire:
    connection, wire = connect(core)
    for piece in pieces:
        connection.data_received(piece)
    return wire


@given(cases=st.lists(st.sampled_from(SERVED), min_size=1, max_size=6), joined=st.booleans())
@settings(max_examples=2 * settings().max_examples, deadline=None)
def test_held_answers_are_the_same_answers(cases: list[Case], joined: bool) -> None:
    requests = [case.sent for case in cases]
    pieces = [b"".join(requests)] if joined else requests
    plain_core, _ = new_core()
    plain = talk(plain_core, *pieces)
    asked = plain_core.ledger.summary(True)["requests"]
    behind = plain_core.ledger.summary(True)["total"] - 1
    assert plain_core.ledger.pipelined == (behind if joined else 0)
    core, _ = new_core()  # the same site, with its hits reset
    core.behaviour.hold(0)
    held = talk(core, *pieces)
    assert held.written == b""
    core.behaviour.release()
    assert core.fast is core.tails
    assert (held.written, held.closed) == (plain.written, plain.closed)
    assert core.ledger.in_flight == 0
    counts = core.ledger.summary(True)
    assert counts["peak_in_flight"] == counts["total"]
    assert (counts["requests"], counts["pipelined"]) == (asked, behind)


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_a_refusal_lingers(case: Case) -> None:
    core, clock = new_core()
    connection, wire = connect(core)
    connection.data_received(case.sent)
    assert (b"Allow: GET, HEAD\r\n" in wire.written) == (statuses(wire.written) == [405])
    assert wire.eof
    assert not wire.is_closed(), "closing at once could reset the answer away"
    clock.advance(60)
    assert wire.is_closed()
    assert core.ledger.summary(True)["total"] == 0


def test_pipelined_requests_are_answered_in_one_write() -> None:
    core, _ = new_core()
    wire = talk(core, get("/") * 3 + get("/missing"))
    assert statuses(wire.written) == [200, 200, 200, 404]
    assert wire.writes == 1
    counts = core.ledger.summary(False)
    assert (counts["peak_in_flight"], counts["pipelined"]) == (4, 3)
    core.ledger.reset()
    assert core.ledger.summary(False)["pipelined"] == 0


PART: Final = get("/")[:9]


@pytest.mark.parametrize("delay", [Delay(), Delay("fixed", 1.0)], ids=["at once", "delayed"])
@pytest.mark.parametrize(
    ("pieces", "pipelined"),
    [
        ([PART, get("/")[9:], get("/", method="HEAD")], 0),
        ([get("/") + b"\r\n", get("/")], 0),
        ([PART, get("/")[9:] + get("/")], 1),
        ([get("/") + PART, get("/")[9:], get("/")], 1),
        ([get("/") + get("/") + PART, get("/")[9:], get("/")], 2),
    ],
)
def test_a_request_before_the_answer_to_the_one_before_is_counted(
    pieces: list[bytes], pipelined: int, delay: Delay
) -> None:
    core, clock = new_core(delay)
    connection, _ = connect(core)
    for piece in pieces:
        connection.data_received(piece)
        if piece[-4:] == b"\r\n\r\n":
            clock.advance(60)
    assert core.ledger.summary(False)["pipelined"] == pipelined


def test_delayed_answers_leave_in_the_order_of_their_requests() -> None:
    core, _ = new_core(Delay("fixed", 1.0))
    connection, wire = connect(core)
    connection.data_received(get("/") + get("/missing") + get("/", "Connection: close"))
    assert core.ledger.in_flight == 3
    assert connection.queue is not None
    first, second, third = connection.queue
    third.leave()  # the last one is due first, and waits for the others
    second.leave()
    assert wire.written == b""
    assert core.ledger.in_flight == 3
    first.leave()
    assert statuses(wire.written) == [200, 404, 200]
    assert wire.closed
    assert core.ledger.in_flight == 0


def test_requests_behind_a_delayed_one_wait_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    core, clock = new_core(Delay("fixed", 1.0))
    connection, wire = connect(core)
    connection.data_received(get("/"))
    core.behaviour.delay = Delay()
    connection.data_received(get("/missing"))
    assert wire.written == b""
    clock.advance(60)
    assert statuses(wire.written) == [200, 404]
    assert not connection.busy
    with monkeypatch.context() as patched:
        patched.setattr(Connection, "_read", None)  # the fast path is open again
        connection.data_received(get("/"))
    assert statuses(wire.written) == [200, 404, 200]


def test_a_lost_connection_is_no_longer_in_flight() -> None:
    core, clock = new_core(Delay("fixed", 1.0))
    core.behaviour.hold(0)
    connection, wire = connect(core)
    connection.data_received(get("/") * 2)
    assert (core.ledger.in_flight, core.behaviour.held) == (2, 2)
    connection.eof_received()
    connection.connection_lost(None)
    assert (core.ledger.in_flight, core.behaviour.held) == (0, 0)
    core.behaviour.release()
    clock.advance(60)
    assert wire.written == b""
    assert core.ledger.summary(True)["connections_open"] == 0


def test_a_refusal_does_not_overtake_an_answer_that_is_due() -> None:
    core, clock = new_core(Delay("fixed", 1.0))
    connection, wire = connect(core)
    connection.data_received(get("/") + b"nonsense")
    assert wire.written == b""
    assert not wire.closed
    clock.advance(60)
    assert statuses(wire.written) == [200]
    assert wire.closed


def test_a_client_that_does_not_read_is_not_read_from() -> None:
    connection, wire = connect(new_core()[0])
    connection.pause_writing()
    assert not wire.reading
    connection.resume_writing()
    assert wire.reading


def test_no_more_requests_are_answered_than_the_client_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One receive held thousands of requests, and their answers hundreds of megabytes."""
    core, _ = new_core()
    connection, wire = connect(core)

    def full(data: bytes) -> None:
        Wire.write(wire, data)
        connection.pause_writing()

    with monkeypatch.context() as patched:
        patched.setattr(wire, "write", full)
        connection.data_received(get("/") * 100 + PART)
        assert len(statuses(wire.written)) == MAX_READY
        connection.resume_writing()
        assert (len(statuses(wire.written)), wire.reading) == (2 * MAX_READY, False)
    connection.resume_writing()
    connection.data_received(get("/")[9:])
    assert statuses(wire.written) == [200] * 101
    assert core.ledger.summary(False)["pipelined"] == 100


def test_the_ledger_counts_what_was_asked() -> None:
    core, _ = new_core()
    first, _ = connect(core)
    for request in (get("/"), get("/"), get(PAGE), get("/none"), get("/none?x")):
        first.data_received(request)
    second, _ = connect(core)
    second.data_received(get("/", method="HEAD"))
    connect(core)
    before = time.monotonic()
    first.connection_lost(None)
    ended = core.ledger.summary(False)["ended_s"]
    assert ended is not None
    assert before <= ended[0] == ended[1] <= time.monotonic()
    assert core.ledger.summary(True) == {
        "requests": {"/": 3, PAGE: 1, "/none": 1, "/none?x": 1},
        "total": 6,
        "distinct": 4,
        "repeated": 1,
        "unknown": 2,
        "connections_opened": 3,
        "connections_open": 2,
        "peak_connections": 3,
        "peak_in_flight": 1,
        "pipelined": 0,
        "requests_per_connection": {"1": 1, "5": 1},
        "handshakes": None,
        "ended_s": ended,
    }
    core.ledger.reset()
    left = {name: value for name, value in core.ledger.summary(True).items() if value}
    assert left == {"connections_open": 2, "peak_connections": 2}


@given(numbers=st.lists(st.integers(0, 120), max_size=60), pieces=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_list_is_counted_once_per_request_on_either_path(
    numbers: list[int], pieces: bool
) -> None:
    core, _ = new_core(site=make_site("list:100:64", 1, None))
    connection, wire = connect(core)
    for number in numbers:
        request = get(f"/p/{number}")
        for piece in (request[:9], request[9:]) if pieces else (request,):
            connection.data_received(piece)
    assert statuses(wire.written) == [200 if number < 100 else 404 for number in numbers]
    assert core.ledger.summary(True)["requests"] == {
        f"/p/{number}": numbers.count(number) for number in numbers
    }
