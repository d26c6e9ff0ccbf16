"""What one client asks on one connection, and the answers: bytes and times in, bytes out.

Its state depends only on the bytes, never on how they were split, and it knows no socket. A
server feeds it what it has received, and then sends parts until there are none. Answers leave one
at a time, so a client that sends a thousand requests at once makes the server hold one answer.
Sources: RFC 9112 sections 6.3 (body length), 9.3 (persistence), 9.3.2 (pipelining), 9.6 (close).
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Final

from server.models.body import Body
from server.models.service import Counts, Service
from server.request import CLOSE, EMPTY, Refused, Request, answer, check_lines, read_head
from server.sites.site import Resource

METHODS: Final = (b"GET", b"HEAD", b"POST")
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

PART: Final = 64 * 1024
"""Most bytes of a body that are sent at once; a deadline holds for each part."""

NOTHING: Final = (b"", b"\r")
"""What may be there before a request begins: empty lines do not start a deadline."""

IDLE, HEAD, BODY, WRITE, LINGER = "idle", "head", "body", "write", "linger"
"""What a server may be waiting for; a deadline belongs to each."""


class Conversation:
    """The requests of one connection and their answers.

    Call ``feed`` with what was received (``b""`` at the end of the stream), then send what
    ``part`` returns until it is None. When ``over``, nothing more is answered: close the
    connection, in stages if the client may still be sending and has not ``ended``.
    """

    __slots__ = (
        "_body",
        "_buffer",
        "_deadline",
        "_last",
        "_request",
        "_rest",
        "_service",
        "_waits",
        "counts",
        "ended",
        "over",
    )

    def __init__(self, service: Service, now: float) -> None:
        self._service = service
        self._buffer = b""
        self._request: Request | None = None
        self._body: Body | None = None
        self._rest: Iterator[bytes | memoryview] | None = None
        self._last = False
        self._wait(IDLE, now)
        self.counts = Counts()
        self.ended = self.over = False

    @property
    def target(self) -> bytes:
        """What the next request asks for, once its head is there; empty before."""
        between = self._rest is None and self._request is None and not self._last
        if not between or b"\r\n\r\n" not in self._buffer:
            return b""
        return self._buffer.split(b" ", 2)[1]

    def feed(self, data: bytes) -> None:
        """Take bytes from the connection; ``b""`` is the end of the stream."""
        if not data:
            self.ended = True  # every whole request is still answered
        elif not self.over:
            self._buffer = self._buffer + data if self._buffer else data

    def part(self, now: float) -> bytes | memoryview | None:
        """The next bytes to send; None when more must be received, or when it is over."""
        if self.over:
            return None
        if self._rest is not None:
            for part in self._rest:
                return self._leaves(part, now)
            self._rest = None
        if self._last:
            self.over = True
            return None
        try:
            whole = self._read(now)
        except Refused as refused:
            self._last = True
            self.counts.refused = refused.status
            whole = refused.payload
        if whole is None:
            self.over = self.ended
            return None
        return self._leaves(whole, now)

    def close(self, now: float) -> None:
        """All answers are sent: wait until the client closes its end, but not for long."""
        self.over = True
        self._wait(LINGER, now)

    def overdue(self, now: float) -> int | None:
        """How to shut the socket down, or None to go on waiting.

        A server that stops ends the reading alone where it waits for a request: one that has
        arrived already can still be received. Everything later is cut, both ways.
        """
        service = self._service
        if service.stopping and self._waits == IDLE:
            return socket.SHUT_RD if now <= service.ends else socket.SHUT_RDWR
        if now <= self._deadline and now <= service.ends:
            return None
        self.counts.ended = self._waits if now > self._deadline else "stop"
        return socket.SHUT_RDWR

    def _wait(self, what: str, now: float) -> None:
        self._waits = what
        self._deadline = now + self._service.waits[what]

    def _leaves(self, part: bytes | memoryview, now: float) -> bytes | memoryview:
        self._wait(WRITE, now)
        self.counts.sent += len(part)
        return part

    def _read(self, now: float) -> bytes | memoryview | None:
        """The answer to the next request, or its first part; None if it is not complete."""
        request = self._request
        if request is None:
            head = self._take_head()
            if not head:
                waits = IDLE if self._buffer in NOTHING else HEAD
                if self._waits != waits and self._waits != HEAD:
                    self._wait(waits, now)
                return None
            request = read_head(head)
            if not request.length:
                return self._answer(request, None)
            self._body = Body(request.length, self._service.limits.max_body)
            self._request = request
            self._wait(BODY, now)
            if request.expects and not self._buffer:
                return CONTINUE
        assert self._body is not None
        if self._waits == WRITE:  # of the 100
            self._wait(BODY, now)
        self._buffer = self._body.feed(self._buffer)
        if not self._body.done:
            return None
        body, self._request, self._body = self._body, None, None
        return self._answer(request, body)

    def _take_head(self) -> bytes:
        """The next head, which ends with an empty line; ``b""`` if it is not complete."""
        data = self._buffer
        if data.startswith(b"\r\n"):  # RFC 9112, 2.2
            data = EMPTY.sub(b"", data, 1)
        most = self._service.limits.max_head
        end = data.find(b"\r\n\r\n", 0, most) + 4
        if end < 4:
            self._buffer = data
            check_lines(data[:most])
            if len(data) >= most:
                why = f"a head may have {most} bytes"
                raise Refused(431, "Request Header Fields Too Large", why)
            return b""
        self._buffer = data[end:]
        return data[:end] if self._buffer else data

    def _answer(self, request: Request, body: Body | None) -> bytes | memoryview:
        """Count a request; its answer, or the first part of it."""
        service, counts = self._service, self.counts
        counts.requests += 1
        keep = (
            request.keep and not service.stopping and counts.requests != service.limits.max_requests
        )
        self._last = not keep
        resource = service.site.find(request.target) or service.site.not_found
        method = request.method
        if method == b"GET" and keep and resource.size <= PART:
            counts.checksum += resource.checksum
            return resource.payload  # almost all requests
        fields = b"" if keep else CLOSE
        if method == b"POST" and resource.status == 200:
            size, checksum = (body.size, body.checksum) if body else (0, 0)
            return answer(200, "OK", sizes(size, checksum), fields)
        if method not in METHODS:
            allow = b"Allow: GET, HEAD, POST\r\n" + fields
            return answer(405, "Method Not Allowed", b"GET, HEAD or POST\n", allow)
        if method != b"HEAD":
            counts.checksum += resource.checksum
        self._rest = parts_of(resource, fields, method == b"HEAD")
        return next(self._rest)


def parts_of(resource: Resource, fields: bytes, head_only: bool) -> Iterator[bytes | memoryview]:
    """An answer of a site in parts, with more headers; a small one is one part.

    Of a large body nothing is copied: for a reader that is slow, a copy stays in memory.
    """
    start = resource.body_start
    head = resource.payload[: start - 2] + fields + b"\r\n"
    if head_only:
        yield head
    elif len(head) + resource.size <= PART:
        yield head + resource.payload[start:]
    else:
        yield head
        body = memoryview(resource.payload)[start:]
        for at in range(0, len(body), PART):
            yield body[at : at + PART]


def sizes(size: int, checksum: int) -> bytes:
    """What the answer to a POST says of its body."""
    return b"%d bytes, CRC-32 %08x\n" % (size, checksum)
