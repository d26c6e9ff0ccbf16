"""What TLS takes by itself: connections held open by a blocking socket and OpenSSL alone.

One connection after the other: connect, handshake, send a request. Then the server holds all
answers while the memory is read. There is no loop, no buffer and no task beside a connection, so
what it takes is OpenSSL's state and the few small objects of Python that lead to it. Whatever a
backend takes on top of this over TLS is its library's.
"""

from __future__ import annotations

import socket
import ssl
import sys
from time import monotonic

from bench.controls.bare import answer_size
from crawlers.http import RECV_SIZE
from crawlers.job import CrawlReport, Job, Origin, PageResult
from crawlers.origins import make_origin, origin_prefix
from crawlers.sockets import new_socket

WARM_UP = 10
"""Connections opened and closed before the memory is read: what OpenSSL keeps once, it has then."""


def connect(origin: Origin) -> ssl.SSLSocket:
    """A connection whose handshake is done."""
    assert origin.tls is not None, "this control is for https alone"
    sock = new_socket(origin.addresses[0])
    sock.setblocking(True)
    sock.connect(origin.addresses[0].sockaddr)
    return origin.tls.wrap_socket(sock, server_hostname=origin.host)


def warm_up(job: Job) -> Origin:
    """The job's server, after a few connections to it."""
    origin = make_origin(origin_prefix(job.urls[0]), job)
    for _ in range(WARM_UP):
        with connect(origin) as sock:
            sock.settimeout(job.timeout_s)
    return origin


def python_bytes(sock: ssl.SSLSocket) -> int:
    """Bytes of Python's own objects for one connection, OpenSSL's state not among them."""
    inner = sock._sslobj  # type: ignore[attr-defined]
    return sum(map(sys.getsizeof, (sock, inner, sock.__dict__, sock.getpeername())))


def crawl(job: Job, origin: Origin) -> CrawlReport:
    """Ask for every URL on a connection of its own, and read the answers when all have asked.

    The report has rows without checksums, so its digest says nothing: what was
    served is checked at the server's ledger.
    """
    prefix = origin_prefix(job.urls[0])
    started = monotonic()
    held = []
    for url in job.urls:
        sock = connect(origin)
        sock.sendall(b"GET " + url[len(prefix) :].encode("ascii") + origin.head_tail)
        held.append(sock)
    objects = python_bytes(held[0])
    size = 0
    for sock in held:
        size += read_answer(sock)
        sock.close()
    return CrawlReport(
        backend="bare_tls",
        root=job.urls[0],
        concurrency=job.slots,
        elapsed_s=monotonic() - started,
        stopped=None,
        rows={url: PageResult(200, 0, 0) for url in job.urls},
        mechanism={"received": size, "python_bytes_each": objects},
        prefix=prefix,
    )


def read_answer(sock: socket.socket) -> int:
    """Read one answer to its end; returns its size."""
    data = sock.recv(RECV_SIZE)
    if not data:
        raise ConnectionError("the server closed a connection")
    left = answer_size(data) - len(data)
    size = len(data) + left
    while left > 0:
        more = len(sock.recv(min(left, RECV_SIZE)))
        if not more:
            raise ConnectionError("the server closed a connection")
        left -= more
    return size
