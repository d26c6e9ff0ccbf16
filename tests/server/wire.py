"""What clients send at the edges of RFC 9112, and our two servers, by bytes in and bytes out.

A row is tried in memory on the fixture server and on what the models share (test_wire.py), cut in
any way, and over sockets on every model (models/test_conformance.py).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, cast
from unittest.mock import MagicMock

from server.connection import MAX_HEAD, MAX_TAILS, Connection, Core
from server.delays import Delay
from server.models.conversation import Conversation
from server.models.service import Limits, Service
from server.request import REMEMBERED, _known
from server.sites.site import Site
from server.sites.specs import make_site
from tests.server.clock import Clock
from tests.server.fixture_server import get

TREE: Final = make_site("tree:20:5:1024", 1, None)
PAGE: Final = "/garden/atlas/page-1.html"


@dataclass(frozen=True, slots=True)
class Case:
    """What a client sends, and what the fixture server and the models answer.

    An answer is its status, and ``closes`` where the server then ends the connection; it is empty
    where the server waits for more. The fixture server takes no bodies.
    """

    sent: bytes
    fixture: str
    models: str

    def __str__(self) -> str:
        return ascii(self.sent[:60])


def refused(answer: str) -> bool:
    """Whether an answer is no page, and the end."""
    return answer.endswith("closes") and answer[:3] not in ("200", "404")


def with_line(*lines: str) -> list[bytes]:
    """Requests with one more header line each."""
    return [get("/", line) for line in lines]


def post(line: str, body: bytes = b"") -> bytes:
    return get("/", line, method="POST") + body


CHUNKED: Final = "Transfer-Encoding: chunked"
GOOD, SAID, BAD, LONG = "200", "200 closes", "400 closes", "431 closes"
NO_POST: Final = "405 closes"
SERVED: Final = [
    *(Case(sent, GOOD, GOOD) for sent in (get("/"), get("/", method="HEAD"), get(PAGE))),
    *(Case(sent, "404", "404") for sent in (get("/missing"), get("/a?b=1&c=%20"))),
    Case(get("/missing", "Connection: close"), "404 closes", "404 closes"),
    Case(get("/", "Connection: close"), SAID, SAID),
    Case(get("/", "CONNECTION: x, Close"), SAID, SAID),
    Case(get("/", version="1.0"), SAID, SAID),
    Case(b"GET / HTTP/1.0\r\n\r\n", SAID, SAID),
]
ANSWERS: Final[dict[tuple[str, str], list[bytes]]] = {
    (GOOD, GOOD): [
        get(f"http://anything:1{PAGE}"),
        get("http://anything"),
        b"\r\n\r\n" + get("/"),
        *with_line("User-Agent: y", "Content-Length: 0", "Upgrade: h2c\r\nConnection: Upgrade"),
    ],
    (SAID, SAID): [
        get("/", "Connection: x ,\tClose"),
        get("/", "Connection: keep-alive", version="1.0"),
    ],
    ("", ""): [b"\r\n\r\n", b"G", b"GET /".ljust(MAX_HEAD - 1, b"y")],
    ("", BAD): [b"\rG"],
    (BAD, ""): [b"hello", *with_line("Content-Length: 3")],
    (BAD, BAD): [
        *(b"GET / HTTP/1.1\r\n\r\n", b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n"),
        *with_line("Host: y", "Host: x", "no colon", "A : b", "A: b\r\n c"),
        *with_line("Content-Length: x", "Content-Length: -1", "Content-Length: 3\r\n" + CHUNKED),
        *with_line("Content-Length: 3\r\nContent-Length: 3"),
        *(get("/a b"), get("/a\x01b"), b"GET /\r\n\r\n", get("/", CHUNKED, version="1.0")),
        *(b"GET / HTTP/1.1\nHost: x\n\n", b"GET / HTTP/1.1\n\n", b"\n\n", b"\r\r\n\r\n"),
        b"GET / HTTP/1.1\r\nHost: x\n\r\n",
        *(b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),  # TLS
    ],
    ("417 closes", "417 closes"): with_line("Expect: nothing"),
    ("404", "404"): [get("nothing")],
    (BAD, "405"): [get("/", method="get")],
    (NO_POST, "405"): [
        get("/", method="BREW"),
        get("/", method="DELETE"),
        get("*", method="OPTIONS"),
    ],
    ("505 closes", "505 closes"): [get("/", version="2.0"), get("/", version="3.1")],
    (LONG, LONG): [
        get("/", "X: " + "y" * MAX_HEAD),
        get("/" + "y" * MAX_HEAD),
        b"GET /".ljust(MAX_HEAD, b"y"),
        b"GET /".ljust(MAX_HEAD, b"y") + b"\n",
    ],
    (BAD, GOOD): [get("/", "Content-Length: 3") + b"abc", get("/", CHUNKED) + b"0\r\n\r\n"],
    (NO_POST, GOOD): [
        get("/", method="POST"),
        post("Content-Length: 5", b"abcde"),
        post(CHUNKED, b"3\r\nabc\r\n0\r\n\r\n"),
    ],
    (NO_POST, BAD): [post(CHUNKED, b"2\r\nabc\r\n"), post(CHUNKED, b"zz\r\n")],
    (NO_POST, "413 closes"): [post("Content-Length: 100001"), post(CHUNKED, b"186a1\r\n")],
    ("501 closes", "501 closes"): [post("Transfer-Encoding: gzip, chunked")],
}
CASES: Final = SERVED + [Case(sent, *answers) for answers in ANSWERS for sent in ANSWERS[answers]]
HOSTS: Final = {
    GOOD: [b"", b"x", b"x:", b"x:80", b"1.2.3.4:80", b"[::1]:80", b"xn--a.b", b"a_b", b"a%20b"],
    BAD: [b"a b", b"a/b", b"a@b", b"x,y", b"[::1", b"::1", b"x:y", b"x:80:80", b"[x]", b"\xff"],
}
"""RFC 9112, 3.2."""


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


def new_core(delay: Delay | None = None, site: Site = TREE) -> tuple[Core, Clock]:
    clock = Clock()
    site.reset()
    return Core(site, clock.loop, delay or Delay()), clock


def connect(core: Core) -> tuple[Connection, Wire]:
    wire = Wire()
    connection = core.connect()
    connection.connection_made(cast(asyncio.Transport, wire))
    return connection, wire


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


def conversation(site: Site = TREE, **limits: float) -> Conversation:
    """A conversation of the models, which began at 0."""
    return Conversation(Service(site, MagicMock(), Limits(**limits)), 0.0)  # type: ignore[arg-type]


def talk(talker: Conversation, *pieces: bytes, now: float = 0.0) -> bytes:
    """Feed pieces; everything that is sent, up to the end of the conversation."""
    sent = b""
    for piece in pieces:
        talker.feed(piece)
        while (part := talker.part(now)) is not None:
            sent += part
    return sent


class Fixture:
    """The fixture server in memory; each talk is a connection of its own."""

    most = MAX_TAILS

    def __init__(self) -> None:
        self.core, self.clock = new_core()
        self.remembered = self.core.tails

    def talk(self, *pieces: bytes, end: bool = False) -> tuple[bytes, bool]:
        """What comes back, and whether the server ends the connection; ``end`` ends the stream."""
        connection, wire = connect(self.core)
        for piece in pieces:
            connection.data_received(piece)
        if end:
            connection.eof_received()
        return wire.written, wire.eof or wire.closed

    def forget(self) -> None:
        """Everything that it remembers of heads."""
        self.core.tails.clear()


class Models:
    """What the models share, in memory, with the same interface."""

    most = REMEMBERED
    remembered = _known

    def talk(self, *pieces: bytes, end: bool = False) -> tuple[bytes, bool]:
        talker = conversation(max_head=MAX_HEAD, max_body=100_000)
        return talk(talker, *pieces, *([b""] if end else [])), talker.over

    def forget(self) -> None:
        _known.clear()
