"""Calls of the control plane on the wire: in pieces, several at once, too long, and no calls."""

from __future__ import annotations

import json
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.calls import MOST_BYTES, _Reader
from tests.server.fixture_server import PATIENCE, Running, ended, get, receive

POST = b'POST /hold HTTP/1.1\r\nHost: [::1]:8\r\nX-Token: t\r\nContent-Length: 8\r\n\r\n{"n": 3}'
CHUNKED = (
    b"POST /other?a=1&a=2 HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: chunked\r\n"
    b"Connection: close\r\n\r\n2\r\n{}\r\n1\r\n \r\n0\r\n\r\n"
)

TOO_LONG = MOST_BYTES + 1
"""No more: a server that closes with bytes unread resets the connection."""


@settings(deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=20))
def test_calls_are_the_same_however_they_are_cut(cuts: list[int]) -> None:
    reader, data = _Reader(), POST + POST + CHUNKED
    while data:
        size = cuts.pop(0) if cuts else len(data)
        reader.feed(data[:size])
        data = data[size:]
    assert reader.size == 0, "one connection has any number of calls"
    first, second, last = reader.calls
    assert first == second
    assert (first.method, first.path, first.keep) == ("POST", "/hold", True)
    assert first.headers[b"x-token"] == b"t"
    assert first.body("n") == {"n": 3}
    assert (last.path, last.query, last.body(), last.keep) == (
        "/other",
        {"a": ["1", "2"]},
        {},
        False,
    )


def open_control(server: Running) -> socket.socket:
    host, _, port = str(server.ready["control"]).rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def test_answers_have_the_order_of_the_calls(server: Running) -> None:
    """The first waits for a measurement of empty turns; the second needs no wait."""
    poll = b'{"on": true}'
    head = get("/poll", "X-Token: ", f"Content-Length: {len(poll)}", method="POST")
    with open_control(server) as sock:
        sock.sendall(
            (head + poll + get("/hold", "Connection: close")).replace(b"Host: x", b"Host: 1.1.1.1")
        )
        answers = sock.makefile("rb").read()  # to the end, for which the client asked
    first, _, second = answers.rpartition(b"HTTP/1.1 200 OK\r\n")
    assert first.startswith(b"HTTP/1.1 200 OK\r\n")
    found = [json.loads(answer.partition(b"\r\n\r\n")[2]) for answer in (first, second)]
    assert [set(body) for body in found] == [
        {"on", "polling"},
        {"armed", "connections", "held", "in_flight"},
    ]
    server.control("/poll", {"on": False})


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"no call\r\n\r\n", 400),
        (b"GET /".ljust(TOO_LONG, b"a"), 413),
        (b"GET /hold HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", 403),
        (b"CONNECT x:1 HTTP/1.1\r\n\r\n", 403),
        (b"POST /hold HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n".ljust(TOO_LONG), 413),
    ],
)
def test_what_is_no_call_is_refused_and_ends_the_connection(
    server: Running, sent: bytes, status: int
) -> None:
    with open_control(server) as sock:
        sock.sendall(sent)
        answer = receive(sock)
        assert answer[0] == status
        assert "error" in json.loads(answer[2])
        assert ended(sock)
    assert server.control("/hold")[0] == 200
