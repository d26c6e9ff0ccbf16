"""Request heads, and answers that no site has. Bytes in, values out, for every server here.

Heads are read by two regular expressions, as strictly as RFC 9112 asks of a server. A parser
of C would not be faster here: clients repeat all of a head but its first line, so the meaning
of the rest is remembered. And it would have no wheel for some interpreters that threads need.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from server.addresses import HOST

REMEMBERED: Final = 256
"""Most heads without their first line that are remembered, so that no client fills the memory."""

LONGEST: Final = 2048
"""Longest of them in bytes."""

CHUNKED: Final = -1
"""The length of a body that says its length as it goes."""

CLOSE: Final = b"Connection: close\r\n"
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++"
_BEGINS: Final = re.compile(_TOKEN)
_LINE: Final = re.compile(rb"(%b) ([!-~\x80-\xff]++)" % _TOKEN)
FIELD: Final = re.compile(rb"(%b):[ \t]*+([\t\x20-\x7e\x80-\xff]*+)" % _TOKEN)
_VERSION: Final = re.compile(rb"HTTP/([0-9])\.([0-9])")
_ABSOLUTE: Final = re.compile(rb"https?://[^/?#]*(.*)", re.IGNORECASE | re.DOTALL)
EMPTY: Final = re.compile(rb"(?:\r\n)++")
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")


class Refused(Exception):
    """A request that breaks the protocol or a limit: it is answered, and nothing after it."""

    def __init__(self, status: int, reason: str, why: str, fields: bytes = b"") -> None:
        super().__init__(why)
        self.status = status
        self.payload = answer(status, reason, f"{why}\n".encode(), fields + CLOSE)


def bad(why: str) -> Refused:
    """A request that is not HTTP/1.1."""
    return Refused(400, "Bad Request", why)


def answer(status: int, reason: str, body: bytes, fields: bytes = b"") -> bytes:
    """An answer in plain text; ``fields`` are more lines of headers."""
    first = b"HTTP/1.1 %d %b\r\nContent-Type: text/plain; charset=utf-8\r\n"
    size = b"Content-Length: %d\r\n\r\n" % len(body)
    return first % (status, reason.encode()) + fields + size + body


def check_lines(data: bytes) -> None:
    """Refuse what cannot become a head, whole or not: another protocol, or lines without CR."""
    if data and data != b"\r" and not _BEGINS.match(data):
        raise bad("not an HTTP request")
    if data.count(b"\n") != data.count(b"\r\n"):
        raise bad("lines end with CR LF")


Meaning = tuple[bool, int, bool]
"""What headers say: whether the connection goes on, the length of the body, a wish for a 100."""


class Request(NamedTuple):
    """One request without its body; ``length`` may be :data:`CHUNKED`, ``expects`` a 100."""

    method: bytes
    target: bytes
    keep: bool
    length: int
    expects: bool


_known: dict[bytes, Meaning] = {}


def read_head(head: bytes) -> Request:
    """Read a head that ends with an empty line. Raises :class:`Refused`."""
    line, _, tail = head.partition(b" HTTP/1.1\r\n")
    meaning, first = _known.get(tail), _LINE.fullmatch(line)
    if meaning is None or first is None:
        meaning, first = _read(head)
        if first[0] + b" HTTP/1.1\r\n" + tail == head and len(tail) <= LONGEST:
            if len(_known) >= REMEMBERED:
                _known.clear()
            _known[tail] = meaning
    target = first[2]
    if target[0] != 47 and (absolute := _ABSOLUTE.fullmatch(target)):  # RFC 9112, 3.2.2
        target = absolute[1] if absolute[1][:1] == b"/" else b"/" + absolute[1]
    return Request(first[1], target, *meaning)


def _read(head: bytes) -> tuple[Meaning, re.Match[bytes]]:
    """The meaning of the headers, and the first line without its version."""
    check_lines(head)
    first, *lines = head[:-4].split(b"\r\n")
    line, _, version = first.rpartition(b" ")
    spoken, asked = _VERSION.fullmatch(version), _LINE.fullmatch(line)
    if spoken is None or asked is None:
        raise bad("the first line is not METHOD TARGET HTTP/1.1")
    if spoken[1] != b"1":
        raise Refused(505, "HTTP Version Not Supported", "this server speaks HTTP/1.1")
    fields: dict[bytes, list[bytes]] = {}
    for field in lines:
        match = FIELD.fullmatch(field)
        if match is None:  # also a folded line, and a blank before the colon (RFC 9112, 5)
            raise bad("a header is not NAME: VALUE on one line")
        fields.setdefault(match[1].lower(), []).append(match[2].rstrip(b" \t"))
    old = spoken[2] == b"0"
    hosts = fields.get(b"host", [])
    if len(hosts) > 1 or not (hosts or old) or not all(map(HOST.fullmatch, hosts)):
        raise bad("an HTTP/1.1 request has one Host header, HOST or HOST:PORT")  # RFC 9112, 3.2
    wishes = b",".join(fields.get(b"connection", [])).lower()
    expects = b",".join(fields.get(b"expect", [])).lower()
    if expects not in (b"", b"100-continue"):
        raise Refused(417, "Expectation Failed", "this server knows 100-continue alone")
    keep = not old and b"close" not in [wish.strip(b" \t") for wish in wishes.split(b",")]
    return (keep, _length(fields, old), bool(expects) and not old), asked


def _length(fields: dict[bytes, list[bytes]], old: bool) -> int:
    """The length of the body (RFC 9112, 6.3); what two readers could differ on is refused."""
    coding = b",".join(fields.get(b"transfer-encoding", [])).lower()
    lengths = fields.get(b"content-length", [])
    if b"transfer-encoding" in fields:
        if lengths or old:
            raise bad("Transfer-Encoding stands alone, and in HTTP/1.1")
        if coding != b"chunked":
            raise Refused(501, "Not Implemented", "this server knows the coding chunked alone")
        return CHUNKED
    if not lengths:
        return 0
    if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise bad("Content-Length is one number")
    return int(lengths[0])
