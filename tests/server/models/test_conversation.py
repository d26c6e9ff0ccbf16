"""The part that all servers share: bytes and times in, bytes out."""

from __future__ import annotations

import re
import socket
from math import inf
from pathlib import Path

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import request
from server.models.conversation import PART, Conversation
from server.models.messages import REMEMBERED, Refused, _known, read_head
from server.models.service import Limits, Service
from server.sites.directory import PRELOAD_EACH
from server.sites.specs import make_site
from tests.server.fixture_server import get
from tests.server.models.serving import chunked

SITE = make_site("list:10:200000", 1, None)


def conversation(**limits: float) -> Conversation:
    """One that began at 0."""
    return Conversation(Service(SITE, socket.socket(), Limits(**limits)), 0.0)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service needs a listening socket only to hand it on."""
    monkeypatch.setattr(socket, "socket", lambda: None)


def talk(talker: Conversation, *pieces: bytes, now: float = 0.0) -> bytes:
    """Feed pieces; everything that is sent, up to the end of the conversation."""
    sent = b""
    for piece in pieces:
        talker.feed(piece)
        while (part := talker.part(now)) is not None:
            sent += part
    return sent


REQUESTS = st.sampled_from(
    [
        get("/p/1"),
        get("/p/2", "X: y", method="HEAD"),
        get("/nothing"),
        b"\r\n\r\n",
        b"POST /p/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde",
        b"POST /p/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(b"abc"),
        b"POST /p/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
        b"GET http://x/p/1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PATCH /p/1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\nHost: x\n\n",
        b"GET / HTTP/3.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01",
        b"\rG",
        get("/p/3", "Connection: close"),
        get("/p/4", "X: " + "y" * 300),
    ]
)


@given(st.lists(REQUESTS, max_size=6), st.data())
def test_no_split_of_the_bytes_changes_the_answers(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    places = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=20)))
    pieces = [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True) if a < b]
    limits = {"max_head": 250}
    expected = talk(conversation(**limits), whole or b"\r\n", b"")
    assert talk(conversation(**limits), *pieces, b"") == expected
    assert talk(conversation(**limits), *(bytes([byte]) for byte in whole), b"") == expected


def test_an_answer_leaves_in_parts() -> None:
    talker = conversation()
    talker.feed(get("/p/1") * 2)
    parts = []
    while (part := talker.part(0.0)) is not None:
        parts.append(len(part))
    assert max(parts) <= PART
    assert len(parts) == 2 * 4
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


def test_a_file_that_is_lost_ends_the_conversation(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("x")
    (tmp_path / "large").write_bytes(bytes(PRELOAD_EACH + 1))
    site = make_site(f"dir:{tmp_path}", 1, None)
    talker = Conversation(Service(site, socket.socket(), Limits()), 0.0)
    (tmp_path / "large").unlink()
    sent = talk(talker, get("/large"))
    assert sent.endswith(b"\r\n\r\n")
    assert talker.over
    assert talker.ended


def test_a_reader_has_time_for_each_part() -> None:
    talker = conversation(write_s=3.0)
    talker.feed(get("/p/1"))
    for now in (0.0, 2.0, 4.0):
        assert talker.part(now)
        assert talker.overdue(now + 2.9) is None
    assert talker.overdue(7.1) == socket.SHUT_RDWR
    assert talker.counts.ended == "write"


def test_a_server_that_stops_owes_nothing_to_the_idle() -> None:
    service = Service(SITE, socket.socket(), Limits(grace_s=5.0))
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


def test_what_another_client_sent_does_not_change_a_head() -> None:
    old = b"GET / HTTP/1.0\r\nVia: HTTP/1.1\r\nHost: same\r\n\r\n"
    before = read_head(old)
    read_head(b"GET / HTTP/1.1\r\nHost: same\r\n\r\n")
    assert read_head(old) == before


HOSTS = [b"", b"x", b"x:", b"x:80", b"1.2.3.4:80", b"[::1]:80", b"xn--a.b", b"a_b", b"a%20b"]
NO_HOSTS = [b"a b", b"a/b", b"a@b", b"x,y", b"[::1", b"::1", b"x:y", b"x:80:80", b"[x]", b"\xff"]


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize("host", HOSTS + NO_HOSTS)
def test_a_host_is_a_host(host: bytes, version: bytes) -> None:
    """RFC 9112, 3.2; the fixture server is as strict."""
    head = b"GET / HTTP/%b\r\nHost: %b\r\n\r\n" % (version, host)
    refusals = []
    for read, refusal in ((read_head, Refused), (request.read_head, request.Refusal)):
        try:
            read(head)
        except refusal as refused:
            refusals.append(refused.payload)
    assert len(refusals) == (2 if host in NO_HOSTS else 0)
    assert all(payload.startswith(b"HTTP/1.1 400 ") for payload in refusals)


def test_the_heads_remembered_are_bounded() -> None:
    for number in range(3 * REMEMBERED):
        read_head(get("/", f"X: {number}"))
    assert len(_known) <= REMEMBERED


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
