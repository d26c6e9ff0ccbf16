"""The hot path: bytes in, pre-rendered bytes out.

Most requests a connection sees differ in their first line only: the rest (the
*tail*) is what the client sends every time. So a tail is parsed once, by
httptools, and remembered with its verdict; after that a request costs one
``partition``, one lookup of its tail, one of its target, and one write of an
answer rendered at the start. Everything else (a request in pieces, several at
once, a new tail, any error) takes the slow path, which is written so that the
answers do not depend on how the bytes were split.

Why this and not a parser fed with every request: httptools costs 1 to 2 µs of
callbacks per request, this well under one, and it needs no parser object per
connection, so that an idle connection costs next to nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from typing import BinaryIO, cast

import httptools

from server.behaviour import Answer, Behaviour, Delay
from server.ledger import Ledger
from server.site import Resource, Site

MAX_HEAD = 16 * 1024  # bytes of a request head; nginx takes 8 KB a line, Apache also
MAX_TAILS = 256  # remembered; a crawler needs one or two
MAX_TAIL = 2048  # bytes; longer ones are parsed each time
LINGER_S = 2.0  # how long a refused client may take to stop talking
CHUNK = 256 * 1024  # bytes of a large file that are read at once

# What needs no second look by the parser before a lookup in the routes.
_PLAIN_LINE = re.compile(rb"(GET|HEAD) (/[A-Za-z0-9/._~!$&'()*+,;=:@%?-]*)")
_ABSOLUTE = re.compile(rb"http://[^/?#]*(.*)", re.IGNORECASE | re.DOTALL)
_CLOSE = b"Connection: close\r\n\r\n"


class Refusal(Exception):
    """A request that is answered with an error and the end of the connection."""

    def __init__(self, status: int, reason: str, why: str, allow: str = "") -> None:
        super().__init__(why)
        text = f"{why}\n".encode()
        self.payload = (
            f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(text)}\r\n{allow}Connection: close\r\n\r\n"
        ).encode() + text


class _Head:
    """One request head as httptools reads it."""

    __slots__ = ("body", "close", "complete", "host", "url")

    def __init__(self) -> None:
        self.url = b""
        self.host = 0
        self.body = False
        self.close = False
        self.complete = False

    def on_url(self, url: bytes) -> None:
        """Called by httptools, maybe in pieces."""
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by httptools for each header."""
        name = name.lower()
        if name == b"host":
            self.host += 1
        elif name == b"connection":
            # Not parser.should_keep_alive(): after a whole request it has forgotten.
            self.close = self.close or b"close" in re.split(rb"[ \t]*,[ \t]*", value.lower())
        elif name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0 \t")):
            self.body = True

    def on_headers_complete(self) -> None:
        """Called by httptools."""
        self.complete = True


def read_head(head: bytes) -> tuple[bool, bytes, bool]:
    """Parse one complete request head: (is it HEAD, target, keep the connection).

    Raises :class:`Refusal` for all that is not a correct GET or HEAD.
    """
    reader = _Head()
    parser = httptools.HttpRequestParser(reader)
    try:
        parser.feed_data(head)
    except httptools.HttpParserUpgrade:
        pass  # an offer to speak something else, which may be ignored
    except httptools.HttpParserError as error:
        raise Refusal(400, "Bad Request", f"not an HTTP request: {error}") from None
    if not reader.complete:
        raise Refusal(400, "Bad Request", "not an HTTP request")
    method, version = parser.get_method(), parser.get_http_version()
    if version not in ("1.1", "1.0"):
        raise Refusal(400, "Bad Request", f"HTTP/{version} is not spoken here")
    if version == "1.1" and reader.host != 1:
        raise Refusal(400, "Bad Request", "an HTTP/1.1 request needs exactly one Host header")
    if method not in (b"GET", b"HEAD"):
        raise Refusal(
            405, "Method Not Allowed", "only GET and HEAD are served", "Allow: GET, HEAD\r\n"
        )
    if reader.body:
        raise Refusal(400, "Bad Request", "a GET or HEAD request takes no body here")
    target = reader.url
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is not None:
        target = absolute[1] if absolute[1][:1] == b"/" else b"/" + absolute[1]
    elif target[:1] != b"/":
        raise Refusal(400, "Bad Request", "a request target begins with /")
    return method == b"HEAD", target, version == "1.1" and not reader.close


class Core:
    """What all connections share.

    ``fast`` is the dict of tails while answers leave at once, and empty while
    the behaviour has a say: that sends every request to the slow path without
    one more test on the fast one. In both dicts True means keep-alive.
    ``kind`` is the class of its connections.
    """

    __slots__ = ("behaviour", "fast", "kind", "ledger", "loop", "routes", "site", "tails")

    def __init__(
        self,
        site: Site,
        loop: asyncio.AbstractEventLoop,
        delay: Delay,
        kind: type[Connection] | None = None,
    ) -> None:
        self.site = site
        self.kind = kind or Connection
        self.routes = site.routes
        self.loop = loop
        self.ledger = Ledger(site)
        self.tails: dict[bytes, bool] = {}
        self.fast: dict[bytes, bool] = self.tails
        self.behaviour = Behaviour(loop, lambda: self.ledger.in_flight, delay, self._changed)
        self._changed()

    def _changed(self) -> None:
        self.fast = self.tails if self.behaviour.plain else {}

    def learn(self, tail: bytes, keep: bool) -> None:
        """Remember that requests with this tail are correct."""
        if len(tail) > MAX_TAIL:
            return
        if len(self.tails) >= MAX_TAILS:
            self.tails.clear()
        self.tails[tail] = keep

    def connect(self) -> Connection:
        """The protocol of a new connection."""
        return self.kind(self)

    def close(self) -> None:
        """Cut all connections."""
        for connection in list(self.ledger.connections):
            cast("Connection", connection).transport.abort()


class Connection(asyncio.Protocol):
    """One client connection.

    ``busy`` is true when the fast path must not be taken: part of a request is
    in ``buffer``, answers are waiting in ``queue``, a large file is being sent,
    or nothing more is read (``closing``).
    """

    __slots__ = (
        "buffer",
        "busy",
        "closing",
        "core",
        "file",
        "paused",
        "queue",
        "requests",
        "transport",
    )

    transport: asyncio.Transport

    def __init__(self, core: Core) -> None:
        self.core = core
        self.requests = 0
        self.busy = False
        self.closing = False
        self.paused = False
        self.buffer = b""
        self.queue: deque[Answer] | None = None
        self.file: tuple[BinaryIO, int] | None = None  # what is left of a large file

    # --- called by the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        self.transport = cast("asyncio.Transport", transport)
        self.core.ledger.connected(self)

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`. The fast path."""
        if not self.busy:
            line, _, tail = data.partition(b" HTTP/1.1\r\n")
            core = self.core
            if core.fast.get(tail):
                try:
                    resource = core.routes[line]
                except KeyError:
                    pass
                else:
                    resource.hits += 1
                    self.requests += 1
                    if resource.file is None:
                        self.transport.write(resource.payload)
                    else:
                        self._begin_file(resource, keep=True)
                    return
            elif tail in core.tails:
                # Not so fast, but as well known: to be delayed, or the last one.
                plain = _PLAIN_LINE.fullmatch(line)
                if plain is not None:
                    ready: list[bytes] = []
                    self._answer(plain[1] == b"HEAD", plain[2], core.tails[tail], ready)
                    self._send(ready)
                    self._settle()
                    return
        self._read(data)

    def eof_received(self) -> bool:
        """The client is gone, or has said its last: hang up.

        A client that only closed its sending side would still like the answers
        that are held for it, and does not get them. Most have given up, and
        those must not be counted as in flight or connected any more. What is
        written already is delivered.
        """
        self.closing = self.busy = True
        return self.file is not None

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        ledger = self.core.ledger
        ledger.disconnected(self)
        self.closing = self.busy = True
        self._drop_file()
        if self.queue:
            for answer in self.queue:
                self.core.behaviour.forget(answer)
            ledger.answered(len(self.queue))
            self.queue = None

    def pause_writing(self) -> None:
        """The client takes its answers too slowly: read no more of its requests."""
        self.paused = True
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """See :class:`asyncio.Protocol`."""
        self.paused = False
        self.transport.resume_reading()
        if self.file is not None:
            self._send_file()

    # --- the slow path ---

    def _read(self, data: bytes) -> None:
        """Take every complete request out of the buffer, keep the rest.

        Whatever the split of the bytes, the same requests come out and the
        same refusal: each test below looks at no more than what has to be
        there before a later test can be reached.
        """
        if self.closing:
            return
        data = self.buffer + data if self.buffer else data
        self.buffer = b""
        ready: list[bytes] = []  # answers that leave at once, in one write
        place = 0
        try:
            while not self.closing:
                while data.startswith(b"\r\n", place):
                    place += 2
                if place == len(data):
                    break
                if not 65 <= data[place] <= 90 and data[place] != 13:
                    raise Refusal(400, "Bad Request", "not an HTTP request")
                limit = place + MAX_HEAD
                end = data.find(b"\r\n\r\n", place, limit)
                stop = end + 4 if end >= 0 else min(len(data), limit)
                if data.count(b"\n", place, stop) != data.count(b"\r\n", place, stop):
                    raise Refusal(400, "Bad Request", "lines must end with CR LF")
                if end < 0:
                    if len(data) >= limit:
                        raise Refusal(
                            431,
                            "Request Header Fields Too Large",
                            f"a request head may have {MAX_HEAD} bytes",
                        )
                    self.buffer = data[place:]
                    break
                head = data[place:stop] if place or stop < len(data) else data
                place = stop
                self._request(head, ready)
        except Refusal as refusal:
            self._refuse(refusal, ready)
            return
        self._send(ready)
        self._settle()

    def _send(self, ready: list[bytes]) -> None:
        """Write answers to requests that were received together."""
        if ready:
            self.core.ledger.passed(len(ready))
            self.transport.write(b"".join(ready))
            ready.clear()

    def _request(self, head: bytes, ready: list[bytes]) -> None:
        """Answer one request, or queue its answer. Raises :class:`Refusal`."""
        core = self.core
        line, _, tail = head.partition(b" HTTP/1.1\r\n")
        keep = core.tails.get(tail)
        plain = _PLAIN_LINE.fullmatch(line) if keep is not None else None
        if keep is None or plain is None:
            head_only, target, keep = read_head(head)
            if tail:
                core.learn(tail, keep)
        else:
            head_only, target = plain[1] == b"HEAD", plain[2]
        self._answer(head_only, target, keep, ready)

    def _answer(self, head_only: bool, target: bytes, keep: bool, ready: list[bytes]) -> None:
        """Count a correct request; add its answer to ``ready`` or to the queue."""
        core = self.core
        resource = core.site.find(target)
        if resource is None:
            resource = core.site.not_found
            core.ledger.stray(target)
        else:
            resource.hits += 1
        self.requests += 1
        if not keep:
            self.closing = True  # nothing after this request is read
        if core.behaviour.plain and not self.queue and self.file is None:
            if resource.file is None or head_only:
                ready.append(_render(resource, head_only, keep))
            else:
                self._send(ready)
                self._begin_file(resource, keep)
            return
        self._send(ready)
        answer = Answer(self, resource, head_only, not keep)
        if self.queue is None:
            self.queue = deque()
        self.queue.append(answer)
        self.busy = True
        core.ledger.received()
        core.behaviour.submit(answer, target)

    def flush(self) -> None:
        """Send the answers that are ready, in the order of their requests."""
        queue = self.queue
        if queue is None:
            return
        while queue and queue[0].ready and self.file is None:
            answer = queue.popleft()
            resource = answer.resource
            self.core.ledger.answered()
            if resource.file is None or answer.head_only:
                self.transport.write(_render(resource, answer.head_only, not answer.last))
            else:
                self._begin_file(resource, not answer.last)
        self._settle()

    def _settle(self) -> None:
        """After a change: may the fast path be taken, is the connection at its end?"""
        waiting = bool(self.queue) or self.file is not None
        if not self.queue:
            self.queue = None
        self.busy = waiting or self.closing or bool(self.buffer)
        if self.closing and not waiting:
            self.transport.close()

    def _refuse(self, refusal: Refusal, ready: list[bytes]) -> None:
        """Answer with an error after what is due before it, and hang up.

        The client may still be sending. Closing at once would reset the
        connection, and the reset could overtake the answer; so the sending side
        is closed, and what comes is read and dropped for a while.
        """
        self.closing = self.busy = True
        self.buffer = b""
        if self.queue or self.file is not None:
            self._settle()  # answers are owed: those leave, the refusal does not
            return
        self._send(ready)
        self.transport.write(refusal.payload)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.core.loop.call_later(LINGER_S, self.transport.close)

    # --- files too large to keep ---

    def _begin_file(self, resource: Resource, keep: bool) -> None:
        assert resource.file is not None
        self.busy = True
        if not keep:
            self.closing = True
        self.transport.write(_render(resource, True, keep))
        try:
            source = open(resource.file, "rb")  # noqa: SIM115 - closed by _drop_file
        except OSError:
            self.transport.abort()  # it was there at the start
            return
        self.file = (source, resource.size)
        self._send_file()

    def _send_file(self) -> None:
        while self.file is not None and not self.paused:
            source, left = self.file
            block = source.read(min(CHUNK, left))
            if left and not block:
                self.transport.abort()  # it has shrunk: the length promised is wrong
                return
            left -= len(block)
            self.file = (source, left)
            if block:
                self.transport.write(block)
            if not left:
                self._drop_file()
                if self.queue:
                    self.flush()
                else:
                    self._settle()

    def _drop_file(self) -> None:
        if self.file is not None:
            self.file[0].close()
            self.file = None


def _render(resource: Resource, head_only: bool, keep: bool) -> bytes:
    """The bytes of an answer: with or without body, with or without a farewell."""
    if keep:
        return resource.payload[: resource.body_start] if head_only else resource.payload
    start = resource.body_start
    head = resource.payload[: start - 2] + _CLOSE
    return head if head_only else head + resource.payload[start:]
