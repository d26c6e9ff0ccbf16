"""Connections by bytes in and bytes out, without a socket."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.connection import MAX_HEAD, MAX_TAILS, Connection, Core
from server.delays import Delay
from server.sites.directory import PRELOAD_EACH
from server.sites.specs import make_site
from tests.server.clock import Clock

TREE = make_site("tree:20:5:1024", 1, None)
LISTING = make_site("list:100:64", 1, None)


class Wire:
    """The transport's side of a connection: keeps what was written."""

    def __init__(self) -> None:
        self.written = b""
        self.writes = 0
        self.eof = False
        self.closed = False
        self.reading = True

    def write(self, data: bytes) -> None:
        assert not self.eof
        self.written += data
        self.writes += 1

    def can_write_eof(self) -> bool:
        return True

    def get_extra_info(self, _: str) -> None:
        """No socket."""

    def write_eof(self) -> None:
        self.eof = True

    def close(self) -> None:
        self.closed = True

    def is_closed(self) -> bool:
        """A call, so that a type checker does not take it for unchanging."""
        return self.closed

    abort = close

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def new_core(delay: Delay | None = None, listing: bool = False) -> tuple[Core, Clock]:
    clock = Clock()
    site = LISTING if listing else TREE
    site.reset()
    return Core(site, clock.loop, delay or Delay()), clock


def connect(core: Core) -> tuple[Connection, Wire]:
    wire = Wire()
    connection = core.connect()
    connection.connection_made(cast(asyncio.Transport, wire))
    return connection, wire


def talk(core: Core, *pieces: bytes) -> Wire:
    connection, wire = connect(core)
    for piece in pieces:
        connection.data_received(piece)
    return wire


def get(target: str = "/", rest: str = "Host: x\r\n", method: str = "GET") -> bytes:
    return f"{method} {target} HTTP/1.1\r\n{rest}\r\n".encode()


def statuses(written: bytes) -> list[int]:
    """The status of each answer to GET, checking the lengths on the way."""
    found = []
    while written:
        head, _, rest = written.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        found.append(int(lines[0].split()[1]))
        length = next(int(x.split(b":")[1]) for x in lines if x.lower().startswith(b"content-len"))
        assert len(rest) >= length
        written = rest[length:]
    return found


CHROME = "Host: x\r\nUser-Agent: y\r\nAccept: */*\r\n"
REQUESTS = st.sampled_from(
    [
        get(),
        get("/", CHROME),
        get("/missing"),
        get("/a?b=1&c=%20"),
        get("/garden/atlas/page-1.html"),
        get("http://anything:1/garden/atlas/page-1.html"),
        get("http://anything"),
        get("/", method="HEAD"),
        get("/", "Host: x\r\nContent-Length: 0\r\n"),
        get("/", "Host: x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n"),
        b"\r\n\r\n" + get(),
        get("/", "Host: x\r\nConnection: close\r\n"),
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        get("/", ""),
        get("/", "Host: x\r\nHost: y\r\n"),
        get("/", method="POST"),
        get("/", method="BREW"),
        get("/", method="get"),
        get("/", "Host: x\r\nContent-Length: 3\r\n") + b"abc",
        get("/", "Host: x\r\nTransfer-Encoding: chunked\r\n") + b"0\r\n\r\n",
        get("/", "Host: x\r\nno colon\r\n"),
        get("/", "Host: x\r\nX: " + "y" * MAX_HEAD + "\r\n"),
        get("/" + "y" * MAX_HEAD),
        get("/a b"),
        get("/a\x01b"),
        get("nothing"),
        get("*", method="OPTIONS"),
        b"GET / HTTP/1.1\nHost: x\n\n",
        b"GET / HTTP/1.1\r\nHost: x\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\n\n",
        b"\r\r\n\r\n",
        b"G",
    ]
)


@given(requests=st.lists(REQUESTS, min_size=1, max_size=5), data=st.data())
@settings(max_examples=4 * settings().max_examples, deadline=None)
def test_no_split_of_the_bytes_changes_the_answers(
    requests: list[bytes], data: st.DataObject
) -> None:
    sent = b"".join(requests)
    whole_core, _ = new_core()
    whole = talk(whole_core, sent)
    cuts = data.draw(st.lists(st.integers(0, len(sent)), max_size=20).map(sorted))
    pieces = [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    core, _ = new_core()
    split = talk(core, *(piece for piece in pieces if piece))
    assert split.written == whole.written
    assert (split.eof, split.closed) == (whole.eof, whole.closed)
    # And with every tail known already.
    again = talk(core, *(piece for piece in pieces if piece))
    assert again.written == whole.written


CORRECT = st.sampled_from(
    [
        get(),
        get("/missing"),
        get("/", CHROME),
        get("/", method="HEAD"),
        get("/", "Host: x\r\nConnection: close\r\n"),
        b"GET / HTTP/1.0\r\n\r\n",
    ]
)


@given(requests=st.lists(CORRECT, min_size=1, max_size=6), joined=st.booleans())
@settings(max_examples=2 * settings().max_examples, deadline=None)
def test_held_answers_are_the_same_answers(requests: list[bytes], joined: bool) -> None:
    pieces = [b"".join(requests)] if joined else requests
    plain_core, _ = new_core()
    plain = talk(plain_core, *pieces)
    asked = plain_core.ledger.summary(True)["requests"]
    core, _ = new_core()  # the same site, with its hits reset
    core.behaviour.hold(0)
    held = talk(core, *pieces)
    assert held.written == b""
    core.behaviour.release()
    assert (held.written, held.closed) == (plain.written, plain.closed)
    assert core.ledger.in_flight == 0
    counts = core.ledger.summary(True)
    assert counts["peak_in_flight"] == counts["total"]
    assert counts["requests"] == asked


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (get("/", method="POST"), 405),
        (get("/", method="DELETE"), 405),
        (get("/", method="get"), 400),
        (get("/", ""), 400),
        (b"GET / HTTP/1.1\n\n", 400),
        (b"hello", 400),
        (b"\x16\x03\x01", 400),
        (get("/", "Host: x\r\nContent-Length: 3\r\n"), 400),
        (get("/", "Host: x\r\nContent-Length: x\r\n"), 400),
        (get("/", f"Host: x\r\nX: {'y' * MAX_HEAD}\r\n"), 431),
        (b"GET /" + b"y" * MAX_HEAD, 431),
    ],
)
def test_refusals_end_the_connection(request_bytes: bytes, status: int) -> None:
    core, clock = new_core()
    connection, wire = connect(core)
    connection.data_received(request_bytes)
    assert statuses(wire.written) == [status]
    assert b"Connection: close\r\n" in wire.written
    assert (b"Allow: GET, HEAD\r\n" in wire.written) == (status == 405)
    assert wire.eof
    assert not wire.is_closed(), "closing at once could reset the answer away"
    before = wire.written
    connection.data_received(get())
    assert wire.written == before
    clock.advance(60)
    assert wire.is_closed()
    assert core.ledger.summary(True)["total"] == 0


def test_a_head_of_just_the_limit_is_served() -> None:
    room = MAX_HEAD - len(get("/", "Host: x\r\nX: \r\n"))
    assert statuses(talk(new_core()[0], get("/", f"Host: x\r\nX: {'y' * room}\r\n")).written) == [
        200
    ]
    long = get("/", f"Host: x\r\nX: {'y' * (room + 1)}\r\n")
    assert statuses(talk(new_core()[0], long).written) == [431]


def test_head_has_no_body_and_the_same_head() -> None:
    core, _ = new_core()
    full = talk(core, get()).written
    head = talk(core, get(method="HEAD")).written
    assert full.startswith(head)
    assert head.endswith(b"\r\n\r\n")
    assert talk(core, get(method="HEAD")).written == head


@pytest.mark.parametrize(
    "request_bytes",
    [
        get("/", "Host: x\r\nConnection: close\r\n"),
        get("/", "Host: x\r\nCONNECTION: x ,\tClose\r\n"),
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    ],
)
def test_close_is_said_and_done(request_bytes: bytes) -> None:
    core, _ = new_core()
    for _ in range(2):  # the second time the tail is known
        wire = talk(core, request_bytes + get())
        assert statuses(wire.written) == [200]
        assert b"\r\nConnection: close\r\n" in wire.written
        assert wire.closed


def test_pipelined_requests_are_answered_in_one_write() -> None:
    core, _ = new_core()
    wire = talk(core, get() * 3 + get("/missing"))
    assert statuses(wire.written) == [200, 200, 200, 404]
    assert wire.writes == 1
    assert core.ledger.summary(False)["peak_in_flight"] == 4


def test_the_tails_remembered_are_bounded() -> None:
    core, _ = new_core()
    for number in range(3 * MAX_TAILS):
        talk(core, get("/", f"Host: x\r\nX-Number: {number}\r\n"))
    talk(core, get("/", f"Host: x\r\nX: {'y' * 8000}\r\n"))
    assert 0 < len(core.tails) <= MAX_TAILS
    assert max(map(len, core.tails)) < 100


@pytest.mark.parametrize("tail", [b"Host: x\r\n\r\n", b"\r\n"])
def test_what_another_client_sent_does_not_change_a_request(tail: bytes) -> None:
    """The end of an HTTP/1.0 head had closed the connections of clients that send the same."""
    core, _ = new_core()
    before = talk(core, b"GET / HTTP/1.1\r\n" + tail).written
    core.tails.clear()
    talk(core, b"GET / HTTP/1.0\r\nX: HTTP/1.1\r\n" + tail)
    assert talk(core, b"GET / HTTP/1.1\r\n" + tail).written == before


def test_delayed_answers_leave_in_the_order_of_their_requests() -> None:
    core, _ = new_core(Delay("fixed", 1.0))
    connection, wire = connect(core)
    connection.data_received(get() + get("/missing") + get("/", "Host: x\r\nConnection: close\r\n"))
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


def test_requests_behind_a_delayed_one_wait_their_turn() -> None:
    core, clock = new_core(Delay("fixed", 1.0))
    connection, wire = connect(core)
    connection.data_received(get())
    core.behaviour.delay = Delay()
    connection.data_received(get("/missing"))
    assert wire.written == b""
    clock.advance(60)
    assert statuses(wire.written) == [200, 404]
    assert not connection.busy
    connection.data_received(get())
    assert statuses(wire.written) == [200, 404, 200]


def test_a_lost_connection_is_no_longer_in_flight() -> None:
    core, clock = new_core(Delay("fixed", 1.0))
    core.behaviour.hold(0)
    connection, wire = connect(core)
    connection.data_received(get() * 2)
    assert (core.ledger.in_flight, core.behaviour.held) == (2, 2)
    assert not connection.eof_received()
    connection.connection_lost(None)
    assert (core.ledger.in_flight, core.behaviour.held) == (0, 0)
    core.behaviour.release()
    clock.advance(60)
    assert wire.written == b""
    assert core.ledger.summary(True)["connections_open"] == 0


def test_a_refusal_does_not_overtake_an_answer_that_is_due() -> None:
    core, clock = new_core(Delay("fixed", 1.0))
    connection, wire = connect(core)
    connection.data_received(get() + b"nonsense")
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


def test_the_ledger_counts_what_was_asked() -> None:
    core, _ = new_core()
    first, _ = connect(core)
    for request in (get(), get(), get("/garden/atlas/page-1.html"), get("/none"), get("/none?x")):
        first.data_received(request)
    second, _ = connect(core)
    second.data_received(get(method="HEAD"))
    connect(core)
    before = time.monotonic()
    first.connection_lost(None)
    ended = core.ledger.summary(False)["ended_s"]
    assert ended is not None
    assert before <= ended[0] == ended[1] <= time.monotonic()
    assert core.ledger.summary(True) == {
        "requests": {"/": 3, "/garden/atlas/page-1.html": 1, "/none": 1, "/none?x": 1},
        "total": 6,
        "distinct": 4,
        "repeated": 1,
        "unknown": 2,
        "connections_opened": 3,
        "connections_open": 2,
        "peak_connections": 3,
        "peak_in_flight": 1,
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
    core, _ = new_core(listing=True)
    connection, wire = connect(core)
    for number in numbers:
        request = get(f"/p/{number}")
        for piece in (request[:9], request[9:]) if pieces else (request,):
            connection.data_received(piece)
    assert statuses(wire.written) == [200 if number < 100 else 404 for number in numbers]
    assert core.ledger.summary(True)["requests"] == {
        f"/p/{number}": numbers.count(number) for number in numbers
    }


def test_large_files_are_sent_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("small")
    content = bytes(range(256)) * (PRELOAD_EACH // 256 + 5)
    (tmp_path / "big.bin").write_bytes(content)
    core = Core(make_site(f"dir:{tmp_path}", 1, None), Clock().loop, Delay())
    for _ in range(2):  # slow path, fast path
        connection, wire = connect(core)
        connection.data_received(get("/big.bin"))
        assert wire.writes > 10
        assert wire.written.endswith(b"\r\n\r\n" + content)
        connection.data_received(get())
        assert wire.written.endswith(b"small")
    connection, wire = connect(core)
    connection.paused = True
    connection.data_received(get("/big.bin") + get())
    assert not wire.written.endswith(b"small")
    connection.resume_writing()
    assert statuses(wire.written) == [200, 200]
    assert wire.written.endswith(b"small")
    assert statuses(talk(core, get("/big.bin") + get("/index.html") * 2).written) == [200] * 3
    head = talk(core, get("/big.bin", method="HEAD")).written
    assert str(len(content)).encode() in head
    assert head.endswith(b"\r\n\r\n")
    connection, wire = connect(core)
    connection.paused = True
    connection.data_received(get("/big.bin", "Host: x\r\nConnection: close\r\n"))
    connection.connection_lost(None)
    assert connection.file is None
    with (tmp_path / "big.bin").open("wb") as shrunk:
        shrunk.write(b"less")
    connection, wire = connect(core)
    connection.data_received(get("/big.bin"))
    assert wire.closed
    connection.connection_lost(None)
