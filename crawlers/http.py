"""One HTTP exchange, sans-IO: request bytes out, response bytes in.

The state of an exchange depends only on the bytes it was fed, never on how they
were split. :mod:`crawlers.heads` reads an ordinary response that comes in one
piece; httptools (llhttp) parses all others. This module tells a clean end from
an early end and from surplus bytes, because llhttp leaves that to its user.
Sources: RFC 9112 sections 6.3 (body length), 9.3 (persistence), 9.6 (close).
"""

from __future__ import annotations

import re
from typing import Final

from crawlers.heads import read_head
from crawlers.job import MIB, Fetch
from crawlers.kinds import error_kind

try:
    from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
    from httptools import __version__ as _version

    PARSER = f"httptools {_version}"
except ImportError:
    from crawlers.parser import ParserError as HttpParserError  # type: ignore[assignment]
    from crawlers.parser import ParserUpgrade as HttpParserUpgrade  # type: ignore[assignment]
    from crawlers.parser import ResponseParser as HttpResponseParser  # type: ignore[assignment]

    PARSER = "python"
"""The parser that exchanges use in this process."""

RECV_SIZE: Final = 64 * 1024
"""Bytes that every ``recv`` asks for, in every backend."""

MAX_HEAD: Final = 64 * 1024
"""Bytes a response may take before its header section is complete, and without more of its body."""

MAX_INTERIM: Final = 8
"""1xx answers allowed before the final one."""

USER_AGENT: Final = "c10k-crawlers/1.1"
"""The User-Agent of every backend, HTTP stacks included."""

_LISTS: Final = frozenset({b"content-type", b"content-encoding"})
_WANTED: Final = _LISTS | {b"content-length", b"location"}

_H: Final = ord("H")
_FOLD: Final = re.compile(rb"[ \t]*+\r\n[ \t]++")
_TRAILING: Final = re.compile(rb"(?<=.)[ \t]++(?=\r\n)")
_LATER: Final = re.compile(rb"HTTP/1\.[2-9]")
_INTERIM: Final = re.compile(rb"HTTP/1\.[0-9] 1(?!01)")
_PERSISTENCE: Final = re.compile(rb"^(?:proxy-)?connection:[^\r\n]*+\r\n", re.I | re.M)


def _is_chunked(transfer_encoding: bytes) -> bool:
    """Whether the last transfer coding is chunked."""
    return transfer_encoding.rpartition(b",")[2].strip(b" \t").lower() == b"chunked"


def unfolded(data: bytes) -> bytes:
    """A response whose folded header lines are joined, and end without blanks.

    A later minor version is read as the one we know (RFC 9110, 2.5). An interim answer
    says nothing about the connection, on which the final one comes. Bodies stay as they are.
    """
    at, interim = 0, True
    while interim:
        interim = _INTERIM.match(data, at) is not None
        if interim or _LATER.match(data, at):
            data = data[:at] + b"HTTP/1.1" + data[at + 8 :]
        fields = data.find(b"\r\n", at) + 2
        if fields < 2:
            break
        end = data.find(b"\r\n\r\n", fields - 2)
        end = len(data) if end < 0 else end + 2
        head = _TRAILING.sub(b"", _FOLD.sub(b" ", data[fields:end]))
        if interim:
            head = _PERSISTENCE.sub(b"", head)
        data, at = data[:fields] + head + data[end:], fields + len(head) + 2
    return data


def request_tail(authority: str, keep_alive: bool) -> bytes:
    """The part of a GET request that follows its target."""
    lines = [" HTTP/1.1", f"Host: {authority}", f"User-Agent: {USER_AGENT}", "Accept: */*"]
    lines.append("Accept-Encoding: identity")
    if not keep_alive:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


class Exchange:
    """One request and its response.

    Send ``request``. Then ``feed`` the bytes that arrive, and ``b""`` for the
    end of the stream, until ``done``. ``error`` is None or an error kind, and
    ``keep_alive`` tells whether the connection can carry another exchange.
    Set ``reused`` when the connection has carried one before: if it then fails
    before the first byte of an answer, it was only stale.
    """

    __slots__ = (
        "_body",
        "_chunks",
        "_head",
        "_in_body",
        "_interim",
        "_may_keep",
        "_message_done",
        "_overhead",
        "_parser",
        "done",
        "error",
        "headers",
        "keep_alive",
        "max_body",
        "request",
        "reused",
        "size",
        "status",
    )

    def __init__(self, fetch: Fetch, max_body: int = 16 * MIB) -> None:
        self.request = b"GET " + fetch.target.encode("ascii") + fetch.origin.head_tail
        self.reused = False
        self.max_body = max_body
        self.done = False
        self.error: str | None = None
        self.keep_alive = False
        self._may_keep = fetch.origin.keep_alive
        self.status: int | None = None
        self.size = 0
        self.headers: dict[bytes, bytes] | None = None
        # Made when the first byte comes, so that an idle connection holds no
        # parser, in any backend.
        self._parser: HttpResponseParser | None = None
        self._body = b""
        self._chunks: list[bytes] | None = None
        self._head = b""  # its bytes so far, if it comes in several pieces
        self._overhead = 0  # bytes of the head, later those since the last piece of the body
        self._in_body = False
        self._interim = 0
        self._message_done = False

    def feed(self, data: bytes) -> None:
        """Take bytes from the connection; ``b""`` is the end of the stream."""
        if self.done:
            return
        if not data:
            self._eof()
            return
        parser = self._parser
        if parser is None:
            if self._whole(data):
                return
            self._parser = parser = HttpResponseParser(self)
            self.headers = {}
        rest, size, before = b"", self.size, self._overhead
        if not (begun := self._in_body):
            if data[0] != _H and self._other_protocol(data):
                self._conclude("protocol")
                return
            room = MAX_HEAD - self._overhead
            if len(data) > room:
                # Cut at the limit, so that the verdict does not depend on how bytes were split.
                data, rest = data[:room], data[room:]
            self._overhead += len(data)
        try:
            parser.feed_data(data)
        except HttpParserUpgrade:
            self._conclude("protocol")
        except HttpParserError as error:
            if self._message_done:
                # llhttp rejects bytes that follow a message with "Connection: close". The
                # message itself was complete, and only the connection is unusable.
                self._conclude(self._verdict())
                self.keep_alive = False  # a trailer may say it, and not the head
            elif self._in_trailers(error) or self._unfold(data):
                data = b""
            else:
                self._conclude(self._or_too_large("protocol"))
        if not self.done:
            if self._message_done:
                self._conclude(self._verdict())
            elif self._in_body:
                if begun and self.size == size:
                    # Neither parser limits the lines between and behind chunks.
                    self._overhead = before + len(data)
                if self._or_too_large(None):
                    self._conclude("too_large")
            elif self._overhead >= MAX_HEAD:
                self._conclude("too_large")
            else:
                self._head += data
        if rest:
            if self._message_done:
                self.keep_alive = False  # surplus bytes
            self.feed(rest)

    def _whole(self, data: bytes) -> bool:
        """Take an ordinary response that comes in one piece; False if it needs the parser."""
        head, end, body = data.partition(b"\r\n\r\n")
        read = read_head(head) if end and len(head) < MAX_HEAD - 4 else None
        if read is None:
            return False
        status, size, headers = read
        if size != len(body) or size > self.max_body:
            return False
        self.status, self.size, self.headers = status, size, headers
        self._body = body
        self.keep_alive = self._may_keep
        self.done = True
        return True

    def fail(self, error: Exception) -> None:
        """The connection failed."""
        if not self.done:
            kind = error_kind(error, handshake=False)
            if kind == "truncated":
                self._eof(clean=False)
            else:
                self._conclude(self._or_stale(kind))

    def abort(self, kind: str) -> None:
        """End the exchange with an error kind: it timed out, or the crawl was stopped."""
        if not self.done:
            self._conclude(kind)

    @property
    def body(self) -> bytes:
        """The response's body."""
        return self._body if self._chunks is None else b"".join(self._chunks)

    @property
    def location(self) -> str:
        """The target of a redirect, "" without one; bytes outside ASCII are percent-encoded."""
        raw = (self.headers or {}).get(b"location", b"")
        return "".join([chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw])

    def _verdict(self) -> str | None:
        """The error of a complete message, if any: an interim answer alone is one."""
        final = self.status is not None and self.status >= 200
        return self._or_too_large(None if final else "protocol")

    def _or_too_large(self, verdict: str | None) -> str | None:
        """The verdict, unless the body, or what is around its chunks, exceeded its limit first."""
        return "too_large" if self.size > self.max_body or self._overhead > MAX_HEAD else verdict

    def _or_stale(self, kind: str) -> str:
        fresh = self._parser is not None or not self.reused
        return kind if fresh or kind not in ("reset", "closed", "broken_record") else "stale"

    def _other_protocol(self, data: bytes) -> bool:
        """Whether the response does not begin as HTTP does: llhttp also takes RTSP and ICE."""
        start = self._head.lstrip(b"\r\n") or data.lstrip(b"\r\n")
        return bool(start) and start[0] != _H

    def _unfold(self, data: bytes) -> bool:
        """Parse the head again, plainer; False if that does not help.

        Both parsers reject folded lines, later versions, and what follows an interim answer
        that closes. llhttp does not see that a body is chunked if a tab follows the word. A
        user agent must read these (RFC 9112, 5.2; RFC 9110, 2.5 and 5.5).
        """
        head = self._head + data
        plain = unfolded(head)
        if self._in_body or plain == head:
            return False
        self._head = plain
        self._interim = 0
        self.headers = {}
        self._parser = HttpResponseParser(self)
        try:
            self._parser.feed_data(plain)
        except (HttpParserError, HttpParserUpgrade) as error:
            return self._message_done or self._in_trailers(error)
        return True

    def _in_trailers(self, error: Exception) -> bool:
        """End a body with a length among its trailers, which are ignored (RFC 9110, 6.5.1).

        Both parsers reject it. The body is whole, and only the connection is unusable.
        """
        if self._in_body and "Content-Length" in str(error):
            self.keep_alive = False
            self._message_done = True
        return self._message_done

    def _conclude(self, error: str | None) -> None:
        self.done = True
        self.error = error
        if error is not None:
            self.status = None
            self.keep_alive = False
        # Parser and exchange refer to each other. Without this, every page would
        # leave a cycle for the garbage collector.
        self._parser = None

    def _eof(self, *, clean: bool = True) -> None:
        """End of the stream; one that is not clean may have been cut by anybody on the way."""
        headers = self.headers
        to_close = (
            self._in_body
            and headers is not None
            and b"content-length" not in headers
            and not _is_chunked(headers.get(b"transfer-encoding", b""))
        )
        if not to_close:
            self._conclude(self._or_stale("closed"))
        else:
            self._conclude(self._verdict() if clean else self._or_too_large("truncated"))
        self.keep_alive = False

    # The parser calls the methods below.

    def on_message_begin(self) -> None:
        """A second message is a surplus: do not use the connection again."""
        if self._message_done:
            self.keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the few headers that a crawler needs; trailers are ignored (RFC 9110, 6.5.1).

        Types and codings of the content are lists. Of the others the first counts, but the
        last transfer coding decides how the body ends, and two different locations are none,
        as in browsers.
        """
        if self._in_body:
            if not self._message_done:
                self._overhead += len(name) + len(value) + 4
            if name.lower() == b"transfer-encoding":
                self.keep_alive = False  # llhttp would not tell of surplus bytes
            return
        name = name.lower()
        if name in _WANTED and self.headers is not None:
            value = value.strip(b" \t")
            known = self.headers.setdefault(name, value)
            if known is not value and name in _LISTS:
                self.headers[name] = known + b", " + value
            elif known != value and name == b"location":
                self.headers[name] = b""
        elif name == b"transfer-encoding" and self.headers is not None:
            if value.rstrip(b" ").endswith(b"\t"):
                raise HttpParserError("a tab that llhttp misreads")  # see _unfold
            self.headers[name] = value.strip(b" \t")

    def on_headers_complete(self) -> None:
        """Keep the status; from here on, bytes belong to the body."""
        if self._message_done or self._parser is None:
            return
        self.status = self._parser.get_status_code()
        if self.status < 100:
            raise HttpParserError("no such status")
        self._in_body = True
        if self.status >= 200:
            self._overhead = 0
        self.keep_alive = self._may_keep and self._parser.should_keep_alive()
        if self.headers and b"transfer-encoding" in self.headers:
            # Chunks in HTTP/1.0 are faulty, whatever Connection says (RFC 9112, 6.1).
            self.keep_alive &= self._parser.get_http_version() != "1.0"

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body, unless it is already too large."""
        if self._message_done or self.size > self.max_body:
            return
        self._overhead = 0
        if not self.size:
            self._body = body
        elif self._chunks is None:
            self._chunks = [self._body, body]
        else:
            self._chunks.append(body)
        self.size += len(body)

    def on_message_complete(self) -> None:
        """End of a message: final, unless its status is 1xx."""
        if self.status is not None and self.status < 200:
            self._interim += 1
            if self._interim <= MAX_INTERIM:
                self._in_body = False
                self.headers = {}
                return
        self._message_done = True
