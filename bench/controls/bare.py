"""The floor: the least that Python can do to fetch a list of pages.

One selector; send a request, receive, count bytes up to Content-Length, send the
next. No parser, no frontier, no checksum, no timeout, no recorder. Whatever a model
takes on top of this is the parts that all crawlers share, or the model itself.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from selectors import EVENT_READ, DefaultSelector
from time import monotonic

from bench.controls import REPEATS
from crawlers.http import RECV_SIZE
from crawlers.job import CrawlReport, Job, PageResult
from crawlers.origins import make_origin, origin_prefix
from crawlers.sockets import new_socket

HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"


class Connection:
    """A socket, and how many bytes of the answer are still to come (-1: not known yet)."""

    __slots__ = ("left", "sock")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.left = -1


def answer_size(data: bytes) -> int:
    """Bytes of the whole answer that begins with ``data``, by its Content-Length.

    Raises :class:`ValueError` when the head is not complete or names no length: the
    fixture server always sends both in its first segment.
    """
    head = data.index(HEAD_END)
    start = data.lower().index(LENGTH, 0, head) + len(LENGTH)
    return head + len(HEAD_END) + int(data[start : data.index(b"\r\n", start)])


def crawl(job: Job, count: Callable[[], None]) -> CrawlReport:
    """Fetch every URL of a list job :data:`REPEATS` times; ``count`` is called after each answer.

    The report has rows without checksums, so its digest says nothing: what was
    served is checked at the server's ledger.
    """
    prefix = origin_prefix(job.urls[0])
    origin = make_origin(prefix, job)
    cut, tail = len(prefix), origin.head_tail
    rendered = [b"GET " + url[cut:].encode("ascii") + tail for url in job.urls] * REPEATS
    requests = iter(rendered)
    selector = DefaultSelector()
    size = answered = 0
    started = monotonic()
    for _ in range(min(job.slots, len(job.urls))):
        sock = new_socket(origin.addresses[0])
        sock.connect(origin.addresses[0].sockaddr)
        selector.register(sock, EVENT_READ, Connection(sock))
        sock.send(next(requests))
    select = selector.select
    while answered < len(rendered):
        for key, _ in select():
            connection = key.data
            data = connection.sock.recv(RECV_SIZE)
            if not data:
                raise ConnectionError("the server closed a connection")
            if connection.left < 0:
                connection.left = answer_size(data)
            connection.left -= len(data)
            size += len(data)
            if connection.left > 0:
                continue
            connection.left = -1
            answered += 1
            count()
            request = next(requests, None)
            if request is None:
                selector.unregister(connection.sock)
                connection.sock.close()
            else:
                connection.sock.send(request)
    elapsed = monotonic() - started
    selector.close()
    return CrawlReport(
        backend="bare",
        root=job.urls[0],
        concurrency=job.slots,
        elapsed_s=elapsed,
        stopped=None,
        rows={url: PageResult(200, 0, 0) for url in job.urls},
        mechanism={"received": size},
        prefix=prefix,
    )
