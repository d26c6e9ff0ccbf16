"""The programs of the controls. A worker imports them for a control only.

A control that fetches reports rows without checksums, so its digest says nothing: what was served
is checked at the server's ledger.
"""

from __future__ import annotations

import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from itertools import count as counting
from selectors import EVENT_READ, DefaultSelector
from time import monotonic, process_time
from typing import TYPE_CHECKING

from bench.controls import REPEATS
from crawlers.frontier import Frontier
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job, Origin, PageResult
from crawlers.origins import make_origin, origin_prefix
from crawlers.page import read_page
from crawlers.recorder import ProgressRecorder, TimesRecorder
from crawlers.sockets import new_socket
from crawlers.stop import Stop

if TYPE_CHECKING:
    import ssl  # large, and the memory of the other controls is measured too

HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"

WARM_UP = 10
"""Connections opened and closed before the memory is read: what OpenSSL keeps once, it has then."""

Program = Callable[[Job, TimesRecorder], CrawlReport]


def prepare(name: str, job: Job) -> Program:
    """Get a control ready for a job; the result runs it, and counts as the recorder does."""
    if name == "bare":
        return lambda job, recorder: bare(job, counter(recorder))
    if name == "bare_tls":
        origin = warm_up(job)
        return lambda job, recorder: bare_tls(job, origin)
    if name == "bare_close":
        return lambda job, recorder: bare_close(job)
    answers = fetch_all(job)
    return lambda job, recorder: shared(job, counter(recorder), answers)


def counter(recorder: TimesRecorder) -> Callable[[], None]:
    """A function that counts one exchange where the harness can see it."""
    if not isinstance(recorder, ProgressRecorder):
        return lambda: None
    ended, place = recorder.ended, counting()  # a place of its own: there are no times to settle

    def one() -> None:
        ended[next(place)] = 1.0

    return one


def report(
    name: str,
    job: Job,
    elapsed_s: float,
    mechanism: dict[str, str | int],
    stopped: str | None = None,
) -> CrawlReport:
    rows = {url: PageResult(None if stopped else 200, 0, 0) for url in job.urls}
    if stopped:
        for row in rows.values():
            row.error = "cancelled"
    return CrawlReport(
        backend=name,
        root=job.urls[0],
        concurrency=job.slots,
        elapsed_s=elapsed_s,
        stopped=stopped,
        rows=rows,
        mechanism=mechanism,
        prefix=origin_prefix(job.urls[0]),
    )


def ask(sock: socket.socket, origin: Origin, url: str) -> None:
    sock.sendall(b"GET " + url[len(origin.prefix) :].encode("ascii") + origin.head_tail)


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


def bare(job: Job, count: Callable[[], None]) -> CrawlReport:
    """The floor: the least that Python can do to fetch a list of pages, ``REPEATS`` times.

    One selector; send a request, receive, count bytes up to Content-Length, send the
    next. No parser, no frontier, no checksum, no timeout, no recorder. Whatever a model
    costs beyond this is the parts that all crawlers share, or the model itself.
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
    elapsed_s = monotonic() - started
    selector.close()
    return report("bare", job, elapsed_s, {"received": size})


def connect(origin: Origin) -> ssl.SSLSocket:
    assert origin.tls is not None, "this control is for https alone"
    sock = new_socket(origin.addresses[0])
    sock.setblocking(True)
    sock.connect(origin.addresses[0].sockaddr)
    return origin.tls.wrap_socket(sock, server_hostname=origin.host)


def warm_up(job: Job) -> Origin:
    origin = make_origin(origin_prefix(job.urls[0]), job)
    for _ in range(WARM_UP):
        with connect(origin) as sock:
            sock.settimeout(job.timeout_s)
    return origin


def python_bytes(sock: ssl.SSLSocket) -> int:
    """Bytes of Python's own objects for one connection, OpenSSL's state not among them."""
    inner = sock._sslobj  # type: ignore[attr-defined]
    return sum(map(sys.getsizeof, (sock, inner, sock.__dict__, sock.getpeername())))


def bare_tls(job: Job, origin: Origin) -> CrawlReport:
    """Connections over TLS, held open by a blocking socket and OpenSSL alone.

    One connection after the other: connect, handshake, send a request. Then the server holds all
    answers while the memory is read. There is no loop, no buffer and no task beside a connection,
    so its memory is OpenSSL's state and the few small objects of Python that lead to it. Whatever
    a backend needs on top of this over TLS is its library's.
    """
    started = monotonic()
    held = []
    for url in job.urls:
        sock = connect(origin)
        ask(sock, origin, url)
        held.append(sock)
    objects = python_bytes(held[0])
    size = 0
    for sock in held:
        size += len(read_answer(sock))
        sock.close()
    elapsed_s = monotonic() - started
    return report("bare_tls", job, elapsed_s, {"received": size, "python_bytes_each": objects})


def read_answer(sock: socket.socket) -> bytes:
    """The whole of the next answer, and of nothing after it unless that came with it."""
    data = b""
    while HEAD_END not in data or len(data) < answer_size(data):
        more = sock.recv(RECV_SIZE)
        if not more:
            raise ConnectionError("the server closed a connection")
        data += more
    return data


def bare_close(job: Job) -> CrawlReport:
    """The least that ends a crawl: sockets that are closed, one after the other.

    Each connection is opened and its request sent at the time that the job's schedule has for it.
    Then the control waits, and looks for a signal once per tick as every backend does. There is no
    exchange, no task and no frontier beside a socket. So the time until the server has seen the
    last connection end is that of the system calls, and of the server.
    """
    origin = make_origin(origin_prefix(job.urls[0]), job)
    held: list[socket.socket] = []
    started = monotonic()
    with Stop(job) as stop:
        for number, url in enumerate(job.urls):
            due = started + job.schedule[number] if job.schedule else 0.0
            time.sleep(max(0.0, due - monotonic()))
            sock = new_socket(origin.addresses[0])
            sock.connect(origin.addresses[0].sockaddr)
            ask(sock, origin, url)
            held.append(sock)
        reason = None
        while reason is None:
            reason = stop.reason(monotonic())
            if reason is None:
                time.sleep(stop.tick_s)
        for sock in held:
            sock.close()
    return report("bare_close", job, monotonic() - started, {}, reason)


def fetch_all(job: Job) -> dict[str, bytes]:
    """The raw answer to each URL of the job, in one blocking crawl before the clock starts."""
    answers: dict[str, bytes] = {}
    frontier = Frontier(job)
    frontier.start(monotonic())
    sock: socket.socket | None = None
    while (item := frontier.take()) is not None:
        if sock is None:
            sock = new_socket(item.address)
            sock.connect(item.address.sockaddr)
        exchange = Exchange(item, job.max_body)
        sock.sendall(exchange.request)
        received = b""
        while not exchange.done:
            data = sock.recv(RECV_SIZE)
            received += data
            exchange.feed(data)
        answers[item.url] = received
        if not exchange.keep_alive:
            sock.close()
            sock = None
        frontier.settle(item, read_page(item, exchange, job.follow), monotonic())
    if sock is not None:
        sock.close()
    return answers


def shared(job: Job, count: Callable[[], None], answers: dict[str, bytes]) -> CrawlReport:
    """The shared parts alone: frontier, exchange and links, fed from ``answers``, no socket.

    Takes each fetch from the frontier, gives the exchange the bytes of an answer that was
    received before, reads the page and settles it, ``REPEATS`` times in all. The order is that of
    a crawl with ``slots`` exchanges in flight, so caches see what they see in a crawl.
    ``cpu_us`` in the report's mechanism is the processor time of the loop alone.
    """
    in_flight: deque[tuple[Fetch, Exchange]] = deque()
    before = process_time()
    for _ in range(REPEATS):
        frontier = Frontier(job)
        frontier.start(monotonic())
        while not frontier.finished:
            while len(in_flight) < job.slots and (item := frontier.take()) is not None:
                in_flight.append((item, Exchange(item, job.max_body)))
            item, exchange = in_flight.popleft()
            exchange.feed(answers[item.url])
            ended = monotonic()
            frontier.settle(item, read_page(item, exchange, job.follow), ended)
            count()
    spent = process_time() - before
    return frontier.report("shared", {"cpu_us": round(1e6 * spent)})
