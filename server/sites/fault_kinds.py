"""The kinds of page on a fault site: for each, the bytes that go over the wire.

Most kinds break off, lie or flood; some only look odd, and a crawler must read
them all the same. What a kind leaves open (where it breaks off, which lie it
tells) comes from a random generator that the site seeds with the path, so
every crawler meets the same bytes.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from html import escape
from itertools import pairwise

from server.sites.site import HTML


class End(Enum):
    """What the server does after the bytes of an answer."""

    KEEP = "wait for another request"
    CLOSE = "close the connection"
    RESET = "reset the connection"
    SILENCE = "send nothing more"
    FLOOD = "send bytes without end"
    CUT = "close the connection, but not the stream of TLS in it"
    TEAR = "close the connection in the middle of a record"
    BREAK = "send bytes that are no record, and close the connection"


@dataclass(frozen=True, slots=True)
class Page:
    """One URL of the site.

    ``cuts`` are the offsets at which the answer is cut into pieces, sent
    ``pause_s`` seconds apart. A page with ``times`` shows its fault only that
    many times and is a plain page afterwards. A ``location`` may begin with
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
        return _ODD_BODIES.get(self.kind, str.encode)(f"<title>{escape(self.path)}</title>\n{html}")


@dataclass(frozen=True, slots=True)
class Wire:
    """An answer as the server sends it, and what it does afterwards.

    ``glued`` goes out in one piece with the end of ``data``. With ``drip`` the
    server sends one byte at a time.
    """

    data: bytes
    end: End = End.KEEP
    glued: bytes = b""
    drip: bool = False


# --- bodies -------------------------------------------------------------------


def _addresses(html: str) -> bytes:
    """Links to addresses all over IPv4, on every kind of port."""
    numbers = range(0, 2**32, 2**32 // 5000 + 1)
    hosts = (".".join(map(str, number.to_bytes(4, "big"))) for number in numbers)
    links = (f"<a href=http://{host}:{1 + 7 * n}/>x</a>" for n, host in enumerate(hosts))
    return (html + "".join(links)).encode()


@cache
def _zipped_mebibyte() -> bytes:
    return gzip.compress(bytes(1 << 20), mtime=0)  # gzip files in a row are one gzip file


_ODD_BODIES: dict[str, Callable[[str], bytes]] = {
    "null_bytes": lambda html: b"\0<p\0>\0" + html.replace("<title", "\0<title").encode() + b"\0",
    "huge_attribute": lambda html: (
        b'<p title="%s">' % (b"> <a href=/trap>" * 65536) + html.encode()
    ),
    "addresses": _addresses,
    "wrong_charset": lambda html: (
        html.encode() + "<p>naïve café €</p>".encode("cp1252") + b"\xff\xfe\x80"
    ),
    "bomb": lambda _: _zipped_mebibyte() * 64,  # 64 MiB of zeros in 64 KiB
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
    # Correct.
    "page": lambda page, rng: Wire(_ok(page.body)),
    "chunked": lambda page, rng: Wire(_CHUNKED + _chunks(page.body) + b"0\r\n\r\n"),
    "to_close": lambda page, rng: Wire(_TO_CLOSE + page.body, End.CLOSE),
    "redirect": _redirect,
    "status": _status,
    # Odd, but readable.
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
"""Each kind of page and the function that makes its answer."""


def _to_close_at(page: Page, share: float) -> Wire:
    return Wire(_TO_CLOSE + page.body[: int(len(page.body) * share)], End.CUT)


ENCRYPTED: dict[str, Callable[[Page, random.Random], Wire]] = {
    "cut_to_close": lambda page, rng: _to_close_at(page, 1.0),
    "cut_in_to_close": lambda page, rng: _to_close_at(page, rng.random()),
    "cut_in_body": lambda page, rng: Wire(_in_body(page, rng), End.CUT),
    "cut_in_chunks": lambda page, rng: Wire(_CHUNKED + _chunks(page.body), End.CUT),
    "cut_after": lambda page, rng: Wire(_ok(page.body), End.CUT),
    "torn_record": lambda page, rng: Wire(_in_body(page, rng), End.TEAR),
    "broken_record": lambda page, rng: Wire(_in_body(page, rng), End.BREAK),
}
"""Kinds that break the stream of TLS, and only the connection without TLS. No spec mixes them in
by itself."""

PLAIN = ("page", "chunked", "to_close", "redirect", "status")
FAULTS = tuple(kind for kind in KINDS if kind not in PLAIN)
"""The kinds that a ``faults:PAGES`` site mixes in."""


def pieces(page: Page, wire: Wire) -> list[bytes]:
    """The answer cut into the pieces that are sent one by one."""
    data = wire.data
    if wire.drip:
        return [data[at : at + 1] for at in range(len(data))]
    places = [0, *sorted({cut for cut in page.cuts if 0 < cut < len(data)}), len(data)]
    cut = [data[start:end] for start, end in pairwise(places)]
    cut[-1] += wire.glued
    return [piece for piece in cut if piece]
