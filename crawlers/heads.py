"""The heads of ordinary responses, read by the line, and each distinct line once.

Most lines of a head are the same from answer to answer: the status line, the
server's name, the content type. So what a line says is remembered. A head counts
as ordinary only if the parser would read it in the same way, which the tests
check against both parsers. Everything else is left to the parser.
"""

from __future__ import annotations

import re
from typing import Final, TypeVar

T = TypeVar("T")

Head = tuple[int, int, dict[bytes, bytes]]
"""A status, the length of the body, and the headers that a crawler needs."""

Field = tuple[bytes | None, bytes, int | None]
"""The name of a header, its value, and the number in a Content-Length.

The name is b"" for a header that a crawler does not need, and None for a line
that must be left to the parser.
"""

_STATUS: Final = re.compile(rb"HTTP/1\.1 ([2-5][0-9][0-9]) [ -~]*+")
_BODILESS: Final = (204, 304)
_FIELD: Final = re.compile(rb"([0-9A-Za-z_\-]++):([ -~]*+)")
_LENGTH: Final = re.compile(rb"[0-9]{1,18}+")
_NEEDED: Final = (b"content-type", b"content-length", b"location")
# They change how the body is read, or what becomes of the connection.
_FRAMING: Final = tuple(
    b"content-encoding transfer-encoding connection proxy-connection upgrade".split()
)
_ORDINARY: Final[Field] = (b"", b"", None)
_ODD: Final[Field] = (None, b"", None)

REMEMBERED: Final = 1024
"""Most lines that are remembered, so that no server can fill the memory."""

LONGEST: Final = 256
"""Longest line in bytes that is remembered."""


def _remember(known: dict[bytes, T], line: bytes, meaning: T) -> None:
    if len(line) <= LONGEST:
        if len(known) >= REMEMBERED:
            known.clear()
        known[line] = meaning


class _Statuses(dict[bytes, int]):
    """Status lines seen before; 0 for one that must be left to the parser."""

    def __missing__(self, line: bytes) -> int:
        match = _STATUS.fullmatch(line)
        status = int(match[1]) if match else 0
        if status in _BODILESS:
            status = 0
        _remember(self, line, status)
        return status


def _read_field(line: bytes) -> Field:
    match = _FIELD.fullmatch(line)
    if match is None:
        return _ODD
    name, value = match[1].lower(), match[2].strip(b" ")
    if name == b"content-length":
        return (name, value, int(value)) if _LENGTH.fullmatch(value) else _ODD
    if name in _NEEDED:
        return name, value, None
    if name in _FRAMING and (name, value.lower()) != (b"connection", b"keep-alive"):
        return _ODD
    return _ORDINARY


class _Fields(dict[bytes, Field]):
    """Header lines seen before."""

    def __missing__(self, line: bytes) -> Field:
        field = _read_field(line)
        _remember(self, line, field)
        return field


_statuses: Final = _Statuses()
_fields: Final = _Fields()


def read_head(head: bytes) -> Head | None:
    """Read a head without the empty line at its end; None if it is not ordinary.

    An ordinary head has one Content-Length, and nothing else that frames the body
    or ends the connection.
    """
    lines = iter(head.split(b"\r\n"))
    status, length = _statuses[next(lines)], None
    headers: dict[bytes, bytes] = {}
    for line in lines:
        name, value, number = _fields[line]
        if name:
            if name in headers:
                return None
            headers[name] = value
            if number is not None:
                length = number
        elif name is None:
            return None
    return (status, length, headers) if status and length is not None else None
