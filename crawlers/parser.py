"""A parser of HTTP responses in pure Python, used where httptools cannot be imported.

That is the case on some free-threaded builds, which have no wheels of it, and in
subinterpreters. It makes the same calls as httptools' ``HttpResponseParser``, in
the same order, and rejects what llhttp rejects in its strict mode. There is one
difference: it looks at whole lines, so it finds a fault at the end of the line.
The report of a crawl names the parser. Source: RFC 9112.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

VERSIONS: Final = frozenset({b"0.9", b"1.0", b"1.1", b"2.0"})

_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
_STATUS: Final = re.compile(rb"HTTP/(\d\.\d) (\d{3})(?: [^\r\n]*+)?\r\n")
_HEADER: Final = re.compile(rb"(%b++):[ \t]*+([\t\x20-\x7e\x80-\xff]*+)\r\n" % _TOKEN)
_LENGTH: Final = re.compile(rb"0*(\d{1,19})[ \t]*")
_HEX: Final = b"0123456789ABCDEFabcdef"
_QUOTED: Final = rb'"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"'
_CHUNK: Final = re.compile(
    rb"0*([0-9A-Fa-f]{1,16}+)(?:;(?!\r)%b*+(?:=%b*+(?:%b)?)?)*\r\n" % (_TOKEN, _TOKEN, _QUOTED)
)

BEGIN, STATUS, HEADERS, SIZED, TO_CLOSE = range(5)
CHUNK_SIZE, CHUNK, CHUNK_END, TRAILERS, OVER, SURPLUS = range(5, 11)
IN_FIELDS, IN_COUNTED, BETWEEN = (HEADERS, TRAILERS), (SIZED, CHUNK), (BEGIN, OVER)


class ParserError(Exception):
    """The bytes are not an HTTP response."""


class ParserUpgrade(Exception):
    """The bytes that follow belong to another protocol."""


class Handler(Protocol):
    """Is called with the parts of a response, in their order."""

    def on_message_begin(self) -> None: ...
    def on_header(self, name: bytes, value: bytes) -> None: ...
    def on_headers_complete(self) -> None: ...
    def on_body(self, body: bytes) -> None: ...
    def on_message_complete(self) -> None: ...


class ResponseParser:
    """Bytes in, calls out; the state depends only on the bytes, not on how they were split.

    Every 1xx response is a message of its own. After a final response, further
    bytes cause one call of ``on_message_begin`` and are not read.
    """

    __slots__ = (
        "_chunked",
        "_close",
        "_encoded",
        "_handler",
        "_held",
        "_keep",
        "_left",
        "_length",
        "_state",
        "_status",
        "_version",
    )

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._state = BEGIN
        self._status = 0
        self._held = b""  # the beginning of a line
        self._left = 0  # bytes of the body, or of the chunk, still to come

    def get_status_code(self) -> int:
        """The status of the response whose head was read last."""
        return self._status

    def get_http_version(self) -> str:
        """The version of the response whose head was read last, as in "1.1"."""
        return self._version.decode()

    def should_keep_alive(self) -> bool:
        """Whether the head lets the connection carry another exchange, once the body has ended."""
        return not self._close if self._version == b"1.1" else self._keep

    def feed_data(self, data: bytes) -> None:
        """Take bytes; raises :class:`ParserError` or :class:`ParserUpgrade`."""
        if self._held:
            data = self._held + data
            self._held = b""
        at, size = 0, len(data)
        while at < size:
            state = self._state
            if state in IN_FIELDS:
                after = self._header(data, at)
            elif state in IN_COUNTED:
                after = min(size, at + self._left)
                self._left -= after - at
                self._handler.on_body(data[at:after])
                if not self._left and state == SIZED:
                    self._finish()
                elif not self._left:
                    self._state = CHUNK_END
            elif state == TO_CLOSE:
                self._handler.on_body(data[at:])
                return
            elif state in BETWEEN:
                after = self._begin(data, at)
            elif state == STATUS:
                after = self._status_line(data, at)
            elif state == CHUNK_SIZE:
                after = self._chunk_size(data, at)
            elif state == CHUNK_END:
                after = self._crlf(data, at)
            else:
                return
            if after < 0:
                self._held = data[at:]
                return
            at = after

    def _begin(self, data: bytes, at: int) -> int:
        """Skip empty lines before a message."""
        while at < len(data) and data[at] in b"\r\n":
            at += 1
        if at < len(data):
            if self._status and not self.should_keep_alive():
                raise ParserError("bytes after a message that closes the connection")
            self._handler.on_message_begin()
            self._state = STATUS if self._state == BEGIN else SURPLUS
        return at

    def _status_line(self, data: bytes, at: int) -> int:
        match = _STATUS.match(data, at)
        if match is None:
            start = data[at : at + 5]
            return self._incomplete(data, at, start == b"HTTP/"[: len(start)])
        if match[1] not in VERSIONS:
            raise ParserError("no such version of HTTP")
        self._version = match[1]
        self._status = int(match[2])
        self._length: int | None = None
        self._chunked = self._encoded = self._close = self._keep = False
        self._state = HEADERS
        return match.end()

    def _header(self, data: bytes, at: int) -> int:
        """One line of the header section, or of the trailer section."""
        match = _HEADER.match(data, at)
        if match is None:
            if data.startswith(b"\r\n", at):
                if self._state == TRAILERS:
                    self._finish()
                else:
                    self._end_head()
                return at + 2
            return self._incomplete(data, at)
        name, value = match.groups()
        if not value and match.end() == len(data):
            return -1  # the value may follow in a folded line
        key = name.lower()
        if key in _SPECIAL:
            self._special(key, value)
        self._handler.on_header(name, value)
        return match.end()

    def _special(self, key: bytes, value: bytes) -> None:
        """A header that frames the message or controls the connection."""
        if key == b"content-length":
            match = _LENGTH.fullmatch(value)
            if match is None or self._encoded or self._length is not None:
                raise ParserError("bad Content-Length, or one too many")
            self._length = int(match[1])
        elif key == b"transfer-encoding":
            if not value or self._length is not None:
                raise ParserError("empty Transfer-Encoding, or one beside a Content-Length")
            self._encoded = True
            self._chunked = (
                value.lower().rpartition(b",")[2].lstrip(b" \t").rstrip(b" ") == b"chunked"
            )
        else:
            for token in value.lower().split(b","):
                token = token.strip(b" \t")
                self._close = self._close or token == b"close"
                self._keep = self._keep or token == b"keep-alive"

    def _end_head(self) -> None:
        """The head is complete: decide how the body is framed."""
        self._handler.on_headers_complete()
        if self._status == 101:
            self._handler.on_message_complete()
            raise ParserUpgrade
        if self._bodiless() or self._length == 0:
            self._finish()
        elif self._chunked:
            self._state = CHUNK_SIZE
        elif self._length is not None:
            self._left = self._length
            self._state = SIZED
        else:
            self._state = TO_CLOSE

    def _chunk_size(self, data: bytes, at: int) -> int:
        match = _CHUNK.match(data, at)
        if match is None:
            return self._incomplete(data, at, data[at : at + 1] in _HEX)
        self._left = int(match[1], 16)
        self._state = CHUNK if self._left else TRAILERS
        return match.end()

    def _crlf(self, data: bytes, at: int) -> int:
        """The end of a chunk."""
        if data.startswith(b"\r\n", at):
            self._state = CHUNK_SIZE
            return at + 2
        return self._incomplete(data, at, data[at:] == b"\r")

    def _finish(self) -> None:
        """A message is complete; only interim responses are followed by another."""
        self._state = BEGIN if self._status < 200 else OVER
        self._handler.on_message_complete()

    def _incomplete(self, data: bytes, at: int, promising: bool = True) -> int:
        """Wait for the rest of a line; raises :class:`ParserError` if that cannot help."""
        whole = data.find(b"\n", at) >= 0 or data.find(b"\r", at, -1) >= 0
        if whole or not promising:
            raise ParserError("malformed line")
        return -1

    def _bodiless(self) -> bool:
        return 100 <= self._status < 200 or self._status in (204, 304)


_SPECIAL: Final = frozenset(
    {b"content-length", b"transfer-encoding", b"connection", b"proxy-connection"}
)
