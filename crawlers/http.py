"""One HTTP exchange, sans-IO: request bytes out, response bytes in.

The state of an exchange depends only on the bytes it was fed, never on how
they were split. The parser is httptools (llhttp); a clean end, an early end
and a surplus are told apart here, because llhttp leaves that to its user.
Sources: RFC 9112 sections 6.3 (body length), 9.3 (persistence), 9.6 (close).
"""

from __future__ import annotations

import errno
import socket
from typing import Final

from crawlers.job import MIB, Fetch

try:
    from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
    from httptools import __version__ as _version

    PARSER = f"httptools {_version}"
except ImportError:
    from crawlers.parser import ParserError as HttpParserError  # type: ignore[assignment]
    from crawlers.parser import ParserUpgrade as HttpParserUpgrade  # type: ignore[assignment]
    from crawlers.parser import ResponseParser as HttpResponseParser  # type: ignore[assignment]

    PARSER = "python"
"""Which parser the exchanges use here."""

RECV_SIZE: Final = 64 * 1024
"""Bytes asked for by every ``recv``, in every backend."""

MAX_HEAD: Final = 64 * 1024
"""Bytes a response may take before its header section is complete."""

MAX_INTERIM: Final = 8
"""1xx answers allowed before the final one."""

USER_AGENT: Final = "c10k-crawlers/0.1"
"""What every backend calls itself, the stacks too."""

ERROR_KINDS: Final = {
    "refused": "the server does not listen there",
    "reset": "the connection was reset",
    "closed": "the connection was closed before the response was complete",
    "timeout": "no complete response within the timeout",
    "unreachable": "no route to the host",
    "unknown_host": "the host name does not resolve",
    "limit": "no descriptor, no port or no local address is left to connect with",
    "network": "another network error",
    "stale": "a kept-alive connection was closed before it was used again",
    "protocol": "the response is not HTTP",
    "too_large": "the response is larger than allowed",
    "bad_redirect": "a redirect without a usable Location",
    "too_many_redirects": "the redirect budget was used up",
    "redirect_loop": "the redirects lead back to where they started",
    "cancelled": "the crawl was stopped first",
    "forbidden": "robots.txt forbids it, or it is on another machine and --any-host was not given",
}
"""Every error kind, and what it means."""

RETRYABLE: Final = frozenset({"refused", "reset", "closed", "timeout", "unreachable", "network"})
"""Connection failures, which another try may mend."""

_ERRNO_KINDS: Final = {
    errno.ECONNREFUSED: "refused",
    errno.ECONNRESET: "reset",
    errno.EPIPE: "reset",
    errno.ECONNABORTED: "reset",
    errno.ETIMEDOUT: "timeout",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
    errno.EMFILE: "limit",
    errno.ENFILE: "limit",
    errno.EADDRNOTAVAIL: "limit",
    errno.ENOBUFS: "limit",
}

_WANTED: Final = frozenset(
    {b"content-type", b"content-length", b"location", b"transfer-encoding", b"content-encoding"}
)


def error_kind(error: OSError) -> str:
    """Name the kind of a socket's error."""
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, socket.gaierror):
        return "unknown_host"
    if error.errno is None and isinstance(error, ConnectionError):
        return "reset"  # asyncio's streams say so without a number
    return _ERRNO_KINDS.get(error.errno or 0, "network")


def request_tail(authority: str, keep_alive: bool) -> bytes:
    """Render all of a GET request that follows its target."""
    return (
        f" HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: {USER_AGENT}\r\n"
        f"Accept: */*\r\n{'' if keep_alive else 'Connection: close' + chr(13) + chr(10)}\r\n"
    ).encode("ascii")


class Exchange:
    """One request and its response.

    Send ``request``; then ``feed`` what arrives, with ``b""`` for the end of
    the stream, until ``done``. ``error`` is None or an error kind, and
    ``keep_alive`` says whether the connection can carry another exchange.
    Set ``reused`` when the connection has carried one before: if it fails
    before the first byte of an answer, it was merely stale.
    """

    __slots__ = (
        "_body",
        "_chunks",
        "_head_bytes",
        "_in_body",
        "_interim",
        "_may_keep",
        "_message_done",
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
        # The parser is made when the first byte comes: a connection that
        # waits for its answer holds none, in any backend.
        self._parser: HttpResponseParser | None = None
        self._body = b""
        self._chunks: list[bytes] | None = None
        self._head_bytes = 0
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
            self._parser = parser = HttpResponseParser(self)
            self.headers = {}
        rest = b""
        if not self._in_body:
            room = MAX_HEAD - self._head_bytes
            self._head_bytes += len(data)
            if len(data) > room:
                # Cut at the limit: the verdict must not depend on how the bytes were split.
                data, rest = data[:room], data[room:]
        try:
            parser.feed_data(data)
        except HttpParserUpgrade:
            self._settle("protocol")
        except HttpParserError:
            # llhttp refuses bytes behind a message that closes; the message
            # itself was whole, and only the connection is spoilt.
            self._settle(self._verdict() if self._message_done else self._or_too_large("protocol"))
        else:
            if self._message_done:
                self._settle(self._verdict())
            elif self._in_body:
                if self.size > self.max_body:
                    self._settle("too_large")
            elif self._head_bytes >= MAX_HEAD:
                self._settle("too_large")
        if rest:
            if self._message_done:
                self.keep_alive = False  # a surplus
            self.feed(rest)

    def fail(self, error: OSError) -> None:
        """The connection failed."""
        if not self.done:
            self._settle(self._or_stale(error_kind(error)))

    def abort(self, kind: str) -> None:
        """The exchange ran into its timeout, or the crawl stopped: give its error kind."""
        if not self.done:
            self._settle(kind)

    @property
    def body(self) -> bytes:
        """The response's body."""
        return self._body if self._chunks is None else b"".join(self._chunks)

    def header(self, name: bytes) -> str:
        """One of the headers a crawler needs, decoded; "" when absent."""
        return (self.headers or {}).get(name, b"").decode("latin-1").strip()

    def _verdict(self) -> str | None:
        """What a complete message is worth: interim answers do not stand alone."""
        final = self.status is not None and self.status >= 200
        return self._or_too_large(None if final else "protocol")

    def _or_too_large(self, verdict: str | None) -> str | None:
        """The verdict, unless the body had passed its limit before."""
        return "too_large" if self.size > self.max_body else verdict

    def _or_stale(self, kind: str) -> str:
        fresh = self._parser is not None or not self.reused
        return kind if fresh or kind not in ("reset", "closed") else "stale"

    def _settle(self, error: str | None) -> None:
        self.done = True
        self.error = error
        if error is not None:
            self.status = None
            self.keep_alive = False
        # Parser and exchange refer to each other: part them here, or every
        # page leaves a cycle for the garbage collector.
        self._parser = None

    def _eof(self) -> None:
        to_close = (
            self._in_body
            and self.headers is not None
            and b"content-length" not in self.headers
            and b"transfer-encoding" not in self.headers
        )
        self._settle(self._verdict() if to_close else self._or_stale("closed"))
        self.keep_alive = False

    # What follows is called by the parser.

    def on_message_begin(self) -> None:
        """Notice a second message: a surplus that spoils the connection."""
        if self._message_done:
            self.keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the few headers a crawler needs; the first of each counts."""
        name = name.lower()
        if name in _WANTED and not self._message_done and self.headers is not None:
            self.headers.setdefault(name, value)

    def on_headers_complete(self) -> None:
        """Note the status; from here on bytes belong to the body."""
        if self._message_done or self._parser is None:
            return
        self.status = self._parser.get_status_code()
        self._in_body = True
        self.keep_alive = self._may_keep and self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body, unless it is already too large."""
        if self._message_done or self.size > self.max_body:
            return
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
