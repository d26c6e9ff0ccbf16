"""The hot path: request bytes in, pre-rendered answers out.

Most requests of a client differ only in their first line; the rest (the *tail*)
is the same every time. So a tail is read once (:mod:`server.request`), and the
server remembers the verdict. After that a request costs one ``partition``, one
lookup of its tail, one of its target, and one write of an answer that was rendered
at the start. Everything else (a request in pieces, several at once, a new tail, any
error) takes the slow path, where the answers do not depend on how the bytes
were split.

Why not feed every request to a parser? The callbacks of httptools cost 1 to 2 µs
per request, this takes well under one. It also needs no parser object per
connection, so an idle connection costs next to nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from typing import cast

from server.behaviour import Answer, Behaviour
from server.delays import Delay
from server.ledger import Ledger
from server.request import Refused, bad, read_head
from server.sites.site import Resource, Site

MAX_HEAD = 16 * 1024  # bytes of a request head; nginx and Apache take 8 KB per line
MAX_TAILS = 256  # tails remembered; a crawler needs one or two
MAX_TAIL = 2048  # bytes; longer tails are parsed each time
MAX_READY = 16  # answers in a write; a client that reads none gets no more
LINGER_S = 2.0  # how long a refused client may go on sending

# A line that needs no parser before a lookup in the routes.
_PLAIN_LINE = re.compile(rb"(GET|HEAD) (/[A-Za-z0-9/._~!$&'()*+,;=:@%?-]*)")
_CLOSE = b"Connection: close\r\n\r\n"


class Core:
    """What all connections share.

    ``tails`` maps each known tail to whether it keeps the connection alive.
    ``fast`` is the same dict while answers leave at once, and empty while they
    may have to wait: this sends every request to the slow path without one more
    test on the fast path. ``kind`` is the class of the connections.
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
        """Remember a tail of correct requests."""
        if len(tail) > MAX_TAIL:
            return
        if len(self.tails) >= MAX_TAILS:
            self.tails.clear()
        self.tails[tail] = keep

    def connect(self) -> Connection:
        """Make a connection; the event loop calls this for each one it accepts."""
        return self.kind(self)

    def close(self) -> None:
        """Cut all connections."""
        for connection in list(self.ledger.connections):
            cast("Connection", connection).transport.abort()


class Connection(asyncio.Protocol):
    """One client connection.

    A ``busy`` connection must not take the fast path: part of a request is in
    ``buffer``, answers wait in ``queue``, or the server reads nothing more
    (``closing``).
    """

    __slots__ = (
        "buffer",
        "busy",
        "closing",
        "core",
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

    # --- called by the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        self.transport = cast("asyncio.Transport", transport)
        self.core.ledger.connected(self)

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`. This is the fast path."""
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
                    self.transport.write(resource.payload)
                    return
            elif tail in core.tails:
                # A known tail, but its answer is delayed or ends the connection.
                plain = _PLAIN_LINE.fullmatch(line)
                if plain is not None:
                    ready: list[bytes] = []
                    self._answer(plain[1] == b"HEAD", plain[2], core.tails[tail], ready)
                    self._send(ready)
                    self._settle()
                    return
        self._read(data)

    def eof_received(self) -> None:
        """The client is gone or will send nothing more: hang up.

        A client that only closed its sending side does not get the answers that
        are still held for it. Most clients that do this have given up, and must
        not count as connected or in flight any longer. Answers that are already
        written still arrive.
        """
        self.closing = self.busy = True

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        ledger = self.core.ledger
        ledger.disconnected(self)
        self.closing = self.busy = True
        if self.queue:
            for answer in self.queue:
                self.core.behaviour.forget(answer)
            ledger.answered(len(self.queue))
            self.queue = None

    def pause_writing(self) -> None:
        """The client reads too slowly: take no more of its requests."""
        self.paused = True
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """See :class:`asyncio.Protocol`."""
        self.paused = False
        self.transport.resume_reading()
        if self.buffer:
            self._read(b"")

    # --- the slow path ---

    def _read(self, data: bytes) -> None:
        """Answer every complete request in the buffer and keep the rest.

        However the bytes are split, the same requests come out and the same
        refusal: each test below only looks at bytes that must have arrived
        before a later test can run.
        """
        if self.closing:
            return
        begun = bool(self.buffer)  # whether the first byte of the first request came before
        data = self.buffer + data
        self.buffer = b""
        ready: list[bytes] = []  # answers that leave now, in one write
        place = 0
        try:
            while not self.closing:
                while data.startswith(b"\r\n", place):
                    place += 2
                if place == len(data):
                    break
                if not begun and (ready or self.queue):
                    self.core.ledger.pipelined += 1
                begun = False
                if len(ready) == MAX_READY:
                    self._send(ready)
                    if self.paused:
                        self.buffer = data[place:]
                        break
                if not 65 <= data[place] <= 90 and data[place] != 13:
                    raise bad("not an HTTP request")
                limit = place + MAX_HEAD
                end = data.find(b"\r\n\r\n", place, limit)
                stop = end + 4 if end >= 0 else min(len(data), limit)
                if data.count(b"\n", place, stop) != data.count(b"\r\n", place, stop):
                    raise bad("lines end with CR LF")
                if end < 0:
                    if len(data) >= limit:
                        raise Refused(
                            431,
                            "Request Header Fields Too Large",
                            f"a request head may have {MAX_HEAD} bytes",
                        )
                    self.buffer = data[place:]
                    break
                self._request(data[place:stop], ready)
                place = stop
        except Refused as refused:
            self._refuse(refused, ready)
            return
        self._send(ready)
        self._settle()

    def _send(self, ready: list[bytes]) -> None:
        """Write the answers to requests that arrived together."""
        if ready:
            self.core.ledger.passed(len(ready))
            self.transport.write(b"".join(ready))
            ready.clear()

    def _request(self, head: bytes, ready: list[bytes]) -> None:
        """Answer one request or queue its answer. Raises :class:`Refused`."""
        core = self.core
        line, _, tail = head.partition(b" HTTP/1.1\r\n")
        keep = core.tails.get(tail)
        plain = _PLAIN_LINE.fullmatch(line) if keep is not None else None
        if keep is None or plain is None:
            request = read_head(head)
            if request.method not in (b"GET", b"HEAD"):
                allow = b"Allow: GET, HEAD\r\n"
                raise Refused(405, "Method Not Allowed", "only GET and HEAD are served", allow)
            if request.length:
                raise bad("a GET or HEAD request takes no body here")
            head_only, target, keep = request.method == b"HEAD", request.target, request.keep
            if tail and b"\r" not in line:  # of HTTP/1.1: a header can end like that, too
                core.learn(tail, keep)
        else:
            head_only, target = plain[1] == b"HEAD", plain[2]
        self._answer(head_only, target, keep, ready)

    def _answer(self, head_only: bool, target: bytes, keep: bool, ready: list[bytes]) -> None:
        """Count a correct request and add its answer to ``ready`` or to the queue."""
        core = self.core
        resource = core.site.find(target)
        if resource is None:
            resource = core.site.not_found
            core.ledger.stray(target)
        else:
            resource.hits += 1
        self.requests += 1
        if not keep:
            self.closing = True  # read nothing after this request
        if core.behaviour.plain and not self.queue:
            ready.append(_render(resource, head_only, keep))
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
        while queue and queue[0].ready:
            answer = queue.popleft()
            self.core.ledger.answered()
            self.transport.write(_render(answer.resource, answer.head_only, not answer.last))
        self._settle()

    def _settle(self) -> None:
        """Decide whether the fast path is open and whether the connection ends."""
        waiting = bool(self.queue)
        if not waiting:
            self.queue = None
        self.busy = waiting or self.closing or bool(self.buffer)
        if self.closing and not waiting:
            self.transport.close()

    def _refuse(self, refused: Refused, ready: list[bytes]) -> None:
        """Send an error, after the answers before it, and hang up.

        The client may still be sending. Closing now would reset the connection,
        and the reset could overtake the error. So close only the sending side,
        and read and drop whatever arrives for a while.
        """
        self.closing = self.busy = True
        self.buffer = b""
        if self.queue:
            self._settle()  # these answers leave; the refusal does not
            return
        self._send(ready)
        self.transport.write(refused.payload)
        self.transport.write_eof()
        self.core.loop.call_later(LINGER_S, self.transport.close)


def _render(resource: Resource, head_only: bool, keep: bool) -> bytes:
    """The bytes of an answer, without the body or with ``Connection: close`` if need be."""
    if keep:
        return resource.payload[: resource.body_start] if head_only else resource.payload
    start = resource.body_start
    head = resource.payload[: start - 2] + _CLOSE
    return head if head_only else head + resource.payload[start:]
