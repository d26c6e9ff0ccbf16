"""Faults: a site whose pages answer wrongly, each in its own way.

A page of such a site has a *kind*: what goes over the wire when it is asked
for. Most kinds break off, lie or flood; some only look odd and must be read
all the same. What a kind leaves open (where it breaks off, which lie it tells)
depends on the seed and the path alone, so every crawler meets the same.

``faults:PAGES`` is a tree in which every tenth page without children is
faulty; ``faults:PAGES:KIND,KIND`` has these kinds only. With the control plane
a test replaces the pages by a graph of its own (``POST /faults``).

Other sites never come near this module: it has its own kind of connection.
"""

from __future__ import annotations

import asyncio
import gzip
import random
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from html import escape
from itertools import pairwise
from typing import Any, cast

from server.behaviour import Answer
from server.protocol import Connection
from server.site import HTML, Outcome, Resource, Site, SiteError

FANOUT = 10
DRIP_S = 0.05
"""Seconds between two bytes of ``drip``."""
MAX_PAUSE_S = 10.0
BLOCK = b"x" * 65536


class End(Enum):
    """What follows the bytes of an answer."""

    KEEP = "the connection is good for another request"
    CLOSE = "the connection is closed"
    RESET = "the connection is reset"
    SILENCE = "nothing more is sent"
    FLOOD = "bytes without end"


@dataclass(frozen=True, slots=True)
class Page:
    """One URL of the site.

    ``cuts`` are the places where the answer is cut into pieces, sent
    ``pause_s`` seconds apart. A page with ``times`` has its fault only so many
    times; after that it is a plain page. ``location`` may begin with
    ``@refusing`` or ``@silent``, which stand for the site's other two ports, as
    in ``@refusing/path``.
    """

    path: str
    kind: str = "page"
    links: tuple[str, ...] = ()
    status: int = 200
    location: str = ""
    cuts: tuple[int, ...] = ()
    pause_s: float = 0.0
    times: int = 0

    @property
    def body(self) -> bytes:
        """The body of a whole answer."""
        html = "".join(f'<a href="{escape(link)}">x</a>\n' for link in self.links)
        return _ODD_BODIES.get(self.kind, _plain)(f"<title>{escape(self.path)}</title>\n{html}")


@dataclass(frozen=True, slots=True)
class Wire:
    """An answer as it is sent: bytes, more bytes in one piece with the last, and the end.

    With ``drip`` each byte is sent by itself, :data:`DRIP_S` apart.
    """

    data: bytes
    end: End = End.KEEP
    glued: bytes = b""
    drip: bool = False


# --- bodies -------------------------------------------------------------------


def _plain(html: str) -> bytes:
    return html.encode()


def _null_bytes(html: str) -> bytes:
    return b"\0<p\0>\0" + html.replace("<title", "\0<title").encode() + b"\0"


def _huge_attribute(html: str) -> bytes:
    return b'<p title="%s">' % (b"> <a href=/trap>" * 65536) + html.encode()


def _addresses(html: str) -> bytes:
    """Links to addresses all over IPv4, on every kind of port."""
    numbers = range(0, 2**32, 2**32 // 5000 + 1)
    hosts = (".".join(map(str, number.to_bytes(4, "big"))) for number in numbers)
    links = (f"<a href=http://{host}:{1 + 7 * n}/>x</a>" for n, host in enumerate(hosts))
    return (html + "".join(links)).encode()


def _wrong_charset(html: str) -> bytes:
    return html.encode() + "<p>naïve café €</p>".encode("cp1252") + b"\xff\xfe\x80"


def _bomb(html: str) -> bytes:
    """64 MiB of zeros in 64 KiB."""
    return _zipped_mebibyte() * 64


@cache
def _zipped_mebibyte() -> bytes:
    return gzip.compress(bytes(1 << 20), mtime=0)  # several in a row are one file


_ODD_BODIES: dict[str, Callable[[str], bytes]] = {
    "null_bytes": _null_bytes,
    "huge_attribute": _huge_attribute,
    "addresses": _addresses,
    "wrong_charset": _wrong_charset,
    "bomb": _bomb,
}


# --- what goes over the wire ----------------------------------------------------


def _ok(body: bytes, more: str = "", kind: str = HTML) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def _chunks(body: bytes) -> bytes:
    middle = len(body) // 2
    parts = [part for part in (body[:middle], body[middle:]) if part]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


_CHUNKED = f"HTTP/1.1 200 OK\r\nContent-Type: {HTML}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
_TO_CLOSE = f"HTTP/1.1 200 OK\r\nContent-Type: {HTML}\r\n\r\n".encode()
_BARE = b"HTTP/1.1 200 OK\r\n"


def _in_head(page: Page, rng: random.Random) -> bytes:
    return _ok(page.body)[: rng.randint(1, 40)]


def _in_body(page: Page, rng: random.Random) -> bytes:
    whole = _ok(page.body)
    return whole[: len(whole) - rng.randint(1, len(page.body))]


def _redirect(page: Page, rng: random.Random) -> Wire:
    location = f"Location: {page.location}\r\n" if page.location else ""
    head = f"HTTP/1.1 {page.status} Moved\r\n{location}Content-Length: 0\r\n\r\n"
    return Wire(head.encode("utf-8"))


def _status(page: Page, rng: random.Random) -> Wire:
    body = b"not now\n"
    head = f"HTTP/1.1 {page.status} Error\r\nRetry-After: 1\r\nContent-Length: {len(body)}\r\n\r\n"
    return Wire(head.encode() + body)


def _bad_chunk(page: Page, rng: random.Random) -> Wire:
    sizes = (b"-5", b"zz", b"", b"0x10", b"f" * 17, b"5 5", b"5g")
    return Wire(_CHUNKED + rng.choice(sizes) + b"\r\nhello\r\n0\r\n\r\n")


def _bad_status_line(page: Page, rng: random.Random) -> Wire:
    lines = (b"HTTP/1.1 abc OK", b"HTP/1.1 200 OK", b"220 mail ESMTP", b"\0\0\0\0", b"HTTP/1.1 20")
    return Wire(rng.choice(lines) + b"\r\nContent-Length: 0\r\n\r\n")


def _bad_length(page: Page, rng: random.Random) -> Wire:
    lengths = (
        b"-1",
        b"5x",
        b"9" * 30,
        b"1\r\nContent-Length: 2",
        b"2\r\nTransfer-Encoding: chunked",
    )
    return Wire(_BARE + b"Content-Length: " + rng.choice(lengths) + b"\r\n\r\nhello")


def _interim(page: Page, count: int) -> Wire:
    return Wire(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * count + _ok(page.body))


KINDS: dict[str, Callable[[Page, random.Random], Wire]] = {
    # In good order.
    "page": lambda page, rng: Wire(_ok(page.body)),
    "chunked": lambda page, rng: Wire(_CHUNKED + _chunks(page.body) + b"0\r\n\r\n"),
    "to_close": lambda page, rng: Wire(_TO_CLOSE + page.body, End.CLOSE),
    "redirect": _redirect,
    "status": _status,
    # Odd, and to be read all the same.
    "interim": lambda page, rng: _interim(page, rng.randint(1, 8)),
    "close_after": lambda page, rng: Wire(_ok(page.body), End.CLOSE),
    "reset_after": lambda page, rng: Wire(_ok(page.body), End.RESET),
    "surplus": lambda page, rng: Wire(
        _ok(page.body), glued=b"and more\r\n\r\n" * rng.randint(1, 9)
    ),
    "pipelined": lambda page, rng: Wire(
        _ok(page.body), glued=_ok(b"<a href=/trap>nobody asked</a>")
    ),
    "null_bytes": lambda page, rng: Wire(_ok(page.body)),
    "huge_attribute": lambda page, rng: Wire(_ok(page.body)),
    "addresses": lambda page, rng: Wire(_ok(page.body)),
    "wrong_charset": lambda page, rng: Wire(
        _ok(page.body, kind="text/html; charset=" + rng.choice(("no-such", "cp866", "utf-7")))
    ),
    "bomb": lambda page, rng: Wire(_ok(page.body, "Content-Encoding: gzip\r\n")),
    # Failures.
    "silent": lambda page, rng: Wire(b"", End.SILENCE),
    "stall": lambda page, rng: Wire(_in_body(page, rng), End.SILENCE),
    "drip": lambda page, rng: Wire(_ok(page.body + bytes(4000)), drip=True),
    "reset_before": lambda page, rng: Wire(b"", End.RESET),
    "reset_in_head": lambda page, rng: Wire(_in_head(page, rng), End.RESET),
    "reset_in_body": lambda page, rng: Wire(_in_body(page, rng), End.RESET),
    "close_before": lambda page, rng: Wire(b"", End.CLOSE),
    "close_in_head": lambda page, rng: Wire(_in_head(page, rng), End.CLOSE),
    "close_in_body": lambda page, rng: Wire(_in_body(page, rng), End.CLOSE),
    "close_in_chunks": lambda page, rng: Wire(_CHUNKED + _chunks(page.body), End.CLOSE),
    # Lies and floods.
    "bad_chunk": _bad_chunk,
    "bad_status_line": _bad_status_line,
    "bad_length": _bad_length,
    "interim_storm": lambda page, rng: _interim(page, rng.randint(9, 500)),
    "header_bomb": lambda page, rng: Wire(
        _BARE
        + b"X-A: %s\r\n" % (b"a" * 100) * rng.randint(700, 2000)
        + b"Content-Length: 0\r\n\r\n"
    ),
    "endless_head": lambda page, rng: Wire(_BARE + b"X-A: ", End.FLOOD),
    "endless_body": lambda page, rng: Wire(_TO_CLOSE, End.FLOOD),
}
"""Every kind of page, and what it sends."""

PLAIN = ("page", "chunked", "to_close", "redirect", "status")
FAULTS = tuple(kind for kind in KINDS if kind not in PLAIN)
"""The kinds that a ``faults:PAGES`` site mixes in."""


def pieces(page: Page, wire: Wire) -> list[bytes]:
    """The answer as it is cut: what is glued on stays with the last piece."""
    data = wire.data
    if wire.drip:
        return [data[at : at + 1] for at in range(len(data))]
    places = [0, *sorted({cut for cut in page.cuts if 0 < cut < len(data)}), len(data)]
    cut = [data[start:end] for start, end in pairwise(places)]
    cut[-1] += wire.glued
    return [piece for piece in cut if piece]


# --- the site -------------------------------------------------------------------


class Faulty(Resource):
    """A page and how often it was asked for."""

    __slots__ = ("page",)

    def __init__(self, page: Page) -> None:
        super().__init__(200, HTML, b"")
        self.status = page.status
        self.page = page


class Faults(Site):
    """``faults:PAGES[:KINDS]``, or whatever graph was loaded last.

    ``refusing`` is a port where nobody listens and ``silent`` one where the
    kernel accepts and nobody ever answers, both as ``host:port``. There is no
    expected digest: what a fault comes to is for the crawler's tests to say.
    """

    def __init__(self, spec: str, pages: Iterable[Page], seed: int, authority: str | None) -> None:
        super().__init__()
        self.spec = spec
        self.seed = seed
        self.digest = None
        host = "127.0.0.1" if authority is None else authority.rpartition(":")[0]
        family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        # Bound and not listening: the port is ours, and whoever connects is refused.
        self._refusing, self._silent = socket.socket(family), socket.socket(family)
        for sock in (self._refusing, self._silent):
            sock.bind((host.strip("[]"), 0))
        self._silent.listen(4096)
        self.ports = {
            "refusing": f"{host}:{self._refusing.getsockname()[1]}",
            "silent": f"{host}:{self._silent.getsockname()[1]}",
        }
        self.load(pages)

    def load(self, pages: Iterable[Page]) -> None:
        """Serve these pages from now on; raises :class:`SiteError` for what is no page."""
        routes: dict[bytes, Resource] = {}
        for page in pages:
            routes[b"GET " + page.path.encode("ascii")] = Faulty(self.placed(page))
        self.routes = routes
        self.pages = self.urls = len(routes)
        self.page_bytes = 0

    def placed(self, page: Page) -> Page:
        """The page with a location on one of the other ports spelled out."""
        name, slash, path = page.location.partition("/")
        port = self.ports.get(name.removeprefix("@")) if name.startswith("@") else None
        return replace(page, location=f"http://{port}/{path}") if port and slash else page

    def expected(self) -> dict[str, Outcome]:
        """Nothing is promised: see the class."""
        return {}

    def wire(self, resource: Faulty) -> tuple[Page, Wire]:
        """What is sent for the request that was just counted."""
        page = resource.page
        if page.times and resource.hits > page.times:
            page = replace(page, kind="page")
        return page, KINDS[page.kind](page, random.Random(f"{self.seed}:{page.path}"))


def seeded(pages: int, kinds: tuple[str, ...], seed: int) -> Iterator[Page]:
    """A tree in which every tenth page without children has one of the kinds, in turn."""
    rng = random.Random(f"faults:{pages}:{seed}")
    turn = list(kinds)
    rng.shuffle(turn)
    for number in range(pages):
        path = f"/{number}" if number else "/"
        children = range(number * FANOUT + 1, min(number * FANOUT + FANOUT + 1, pages))
        links = (*(f"/{child}" for child in children), "/")
        faulty = not children and number % FANOUT == FANOUT - 1
        kind = turn[number // FANOUT % len(turn)] if faulty else "page"
        yield Page(path, kind, links)


def make_faults(spec: str, seed: int, authority: str | None) -> Faults:
    """Build ``faults:PAGES[:KIND,...]``; raises :class:`SiteError` with what to change."""
    _, count, kinds, *rest = (*spec.split(":"), "", "")[:4]
    chosen = tuple(kinds.split(",")) if kinds else FAULTS
    if not (count.isascii() and count.isdigit() and 1 <= int(count) <= 1_000_000) or any(rest):
        raise SiteError(f"{spec}: write faults:PAGES or faults:PAGES:KIND,KIND")
    for kind in chosen:
        if kind not in KINDS:
            raise SiteError(f"{spec}: no fault named {kind!r}; there are {', '.join(KINDS)}")
    return Faults(spec, seeded(int(count), chosen, seed), seed, authority)


def read_pages(found: object) -> list[Page]:
    """Pages from JSON: objects with the fields of :class:`Page`.

    Raises :class:`ValueError` for what is none.
    """
    if not isinstance(found, list):
        raise ValueError("pages must be a list of objects")
    return [_read_page(item) for item in found]


_TYPES: dict[str, tuple[type, ...]] = {
    "path": (str,),
    "kind": (str,),
    "status": (int,),
    "location": (str,),
    "pause_s": (int, float),
    "times": (int,),
}
_LISTS: dict[str, type] = {"links": str, "cuts": int}


def _read_page(item: object) -> Page:
    if not isinstance(item, dict):
        raise ValueError("a page must be an object")
    values: dict[str, Any] = {}
    for name, value in item.items():
        if name in _LISTS and isinstance(value, list):
            right = all(isinstance(one, _LISTS[name]) for one in value)
            value = tuple(value)
        else:
            right = isinstance(value, _TYPES.get(name, ()))
        if not right:
            raise ValueError(f"a page has no {name!r} like this: {value!r}")
        values[name] = value
    page = Page(**{"path": "", **values})
    if not page.path.startswith("/") or not page.path.isascii():
        raise ValueError(f"a path begins with / and is ASCII, not {page.path!r}")
    if page.kind not in KINDS:
        raise ValueError(f"no kind {page.kind!r}; there are {', '.join(KINDS)}")
    if not 0 <= page.pause_s <= MAX_PAUSE_S:
        raise ValueError(f"pause_s is from 0 to {MAX_PAUSE_S:g} seconds")
    return page


# --- the connection -------------------------------------------------------------


class FaultyConnection(Connection):
    """A connection to a :class:`Faults` site: answers as the page's kind says.

    HEAD is answered like GET; nobody asks for it here.
    """

    __slots__ = ("_end", "_keep", "_left", "_pause_s", "_timer")

    _end: End
    _keep: bool
    _pause_s: float

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        self._left: deque[bytes] = deque()
        self._timer: asyncio.TimerHandle | None = None
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`. No fast path here."""
        self._read(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        self._left.clear()
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """See :class:`asyncio.Protocol`."""
        super().resume_writing()
        if self.queue and not self._left and self._end is End.FLOOD:
            self._flood()

    def _answer(self, head_only: bool, target: bytes, keep: bool, ready: list[bytes]) -> None:
        """Begin the answer of a page's kind; nothing more is read until it is over."""
        resource = self.core.site.find(target)
        if not isinstance(resource, Faulty):
            super()._answer(head_only, target, keep, ready)
            return
        self._send(ready)
        resource.hits += 1
        self.requests += 1
        page, wire = cast("Faults", self.core.site).wire(resource)
        self._left.extend(pieces(page, wire))
        self._end = wire.end
        self._keep = keep
        self._pause_s = DRIP_S if wire.drip else page.pause_s
        self.queue = deque([Answer(self, resource, head_only, not keep)])
        self.busy = self.closing = True
        self.core.ledger.received()
        self._play()

    def _play(self) -> None:
        """Send the next piece, and come back for the one after it."""
        self._timer = None
        if self._left:
            self.transport.write(self._left.popleft())
        if self._left:
            self._later(self._pause_s)
        elif self._end is End.RESET and self.transport.get_write_buffer_size():
            self._later(0.001)  # a reset drops what is not yet sent
        else:
            self._finish()

    def _later(self, seconds: float) -> None:
        self._timer = self.core.loop.call_later(seconds, self._play)

    def _finish(self) -> None:
        if self._end is End.FLOOD:
            self._flood()
        elif self._end is End.RESET:
            sock = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()
        elif self._end is not End.SILENCE:
            self.queue = None
            self.core.ledger.answered()
            self.closing = self._end is End.CLOSE or not self._keep
            self._settle()

    def _flood(self) -> None:
        while not self.paused and not self.transport.is_closing():
            self.transport.write(BLOCK)
