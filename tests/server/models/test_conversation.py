"""The part that all servers share: bytes and times in, bytes out."""

from __future__ import annotations

import re
import socket
from functools import partial
from math import inf
from unittest.mock import MagicMock

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.models.conversation import PART, Conversation
from server.models.service import Limits, Service
from server.request import Refused, read_head
from server.sites.specs import make_site
from tests.server.fixture_server import get
from tests.server.wire import conversation as in_memory
from tests.server.wire import talk

SITE = make_site("list:10:200000", 1, None)
conversation = partial(in_memory, SITE)


def test_an_answer_leaves_in_parts() -> None:
    talker = conversation()
    talker.feed(get("/p/1") * 2)
    page = SITE.find(b"/p/1")
    assert page is not None
    parts = []
    while (part := talker.part(0.0)) is not None:
        parts.append(len(part))
        of_page = isinstance(part, memoryview) and part.obj is page.payload
        assert of_page or len(part) < 1000, "a slow reader would keep this copy in memory"
    assert max(parts) <= PART
    assert len(parts) == 2 * (1 + 4)
    assert talker.counts.requests == 2
    assert talker.counts.sent == sum(parts)


def test_the_last_of_the_requests_allowed_closes() -> None:
    talker = conversation(max_requests=2)
    sent = talk(talker, get("/nothing") * 3)
    assert sent.count(b"HTTP/1.1 404") == 2
    assert sent.count(b"Connection: close") == 1
    assert talker.over


@pytest.mark.parametrize(
    ("data", "limit", "how"),
    [
        (b"", "idle_s", "idle"),
        (b"GET / ", "head_s", "head"),
        (b"POST /p/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1", "body_s", "body"),
        (get("/nothing") + b"GET", "head_s", "head"),
    ],
)
def test_each_wait_has_its_deadline(data: bytes, limit: str, how: str) -> None:
    """Bytes that come drop by drop do not move it."""
    talker = conversation(**{limit: 3.0})
    talk(talker, *([data] if data else []))
    talk(talker, *([b"1"] if data else []), now=2.0)
    assert talker.overdue(2.9) is None
    assert talker.overdue(3.1) == socket.SHUT_RDWR
    assert talker.counts.ended == how


@pytest.mark.parametrize("pieces", [(b"\r\n",), (b"\r", b"\n"), (b"\r\n\r", b"\n")])
def test_empty_lines_move_no_deadline(pieces: tuple[bytes, ...]) -> None:
    """One now and then had kept a connection for ever."""
    talker = conversation(idle_s=3.0)
    talk(talker, get("/nothing"), now=1.0)
    for now in (2.0, 3.0):
        talk(talker, *pieces, now=now)
    assert talker.overdue(3.9) is None
    assert talker.overdue(4.1) == socket.SHUT_RDWR
    assert talker.counts.ended == "idle"


def test_a_reader_has_time_for_each_part() -> None:
    talker = conversation(write_s=3.0)
    talker.feed(get("/p/1"))
    for now in (0.0, 2.0, 4.0):
        assert talker.part(now)
        assert talker.overdue(now + 2.9) is None
    assert talker.overdue(7.1) == socket.SHUT_RDWR
    assert talker.counts.ended == "write"


def test_a_server_that_stops_owes_nothing_to_the_idle() -> None:
    service = Service(SITE, MagicMock(), Limits(grace_s=5.0))
    idle, asking = (Conversation(service, 0.0) for _ in range(2))
    talk(asking, get("/nothing")[:9])
    service.stop(1.0)
    assert idle.overdue(1.0) == socket.SHUT_RD
    assert asking.overdue(5.9) is None
    assert b"Connection: close" in talk(asking, get("/nothing")[9:], now=2.0)
    assert asking.over
    late = Conversation(service, 0.0)
    talk(late, b"GET")
    assert late.overdue(6.1) == socket.SHUT_RDWR
    assert late.counts.ended == "stop"
    assert idle.overdue(inf) == socket.SHUT_RDWR


LINES = st.sampled_from(
    (
        b"Host: x|Host:x|host: y|X: y|X : y| folded|X||Content-Length: 3|Content-Length: 03|"
        b"Content-Length: +3|Content-Length: 3, 3|X: \x00|X: a\tb|Transfer-Encoding: chunked|"
        b"Transfer-Encoding: Chunked|Transfer-Encoding: gzip|Transfer-Encoding: chunked, chunked|"
        b"Connection: close|Connection: keep-alive|X:|Connection: a, CLOSE|Expect: 100-continue|"
        b"X: \xff|(x): y|X: y\rz|:"
    ).split(b"|")
)
FIRST = st.sampled_from(
    (
        b"GET / HTTP/1.1|GET / HTTP/1.0|POST /a?b HTTP/1.1|GET  / HTTP/1.1|GET / HTTP/1.1 |"
        b"G(T / HTTP/1.1|GET /\x00 HTTP/1.1|GET / http/1.1|GET /|GET /a b HTTP/1.1"
    ).split(b"|")
)

STRICTER = re.compile(
    rb"(?i)\r\nContent-Length:(.*\r\n)*Content-Length:|, 3|\r\n folded"
    rb"|HTTP/1\.0\r\n(.*\r\n)*Transfer|Expect(.*\r\n)*Expect"
    rb"|Transfer-Encoding(.*\r\n)*Content-Length|Content-Length(.*\r\n)*Transfer-Encoding"
)
"""What h11 makes something of, and a server had better refuse."""


@given(FIRST, st.lists(LINES, max_size=4))
def test_heads_mean_what_h11_thinks(first: bytes, lines: list[bytes]) -> None:
    head = b"\r\n".join([first, b"Host: x", *lines, b"", b""])
    head = head[: head.index(b"\r\n\r\n") + 4]
    other = h11.Connection(h11.SERVER)
    other.receive_data(head)
    try:
        event = other.next_event()
    except h11.RemoteProtocolError:
        with pytest.raises(Refused):
            read_head(head)
        return
    try:
        request = read_head(head)
    except Refused:
        assert STRICTER.search(head)
        return
    assert isinstance(event, h11.Request)
    assert (request.method, request.target) == (event.method, event.target)
    assert request.keep == h11._connection._keep_alive(event)
    framing, _ = h11._connection._body_framing(event.method, event)
    assert (framing == "chunked") == (request.length < 0)
