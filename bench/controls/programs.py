"""The programs of the controls. A worker imports them for a control only.

A control that fetches reports rows without checksums, so its digest says nothing: what was served
is checked at the server's ledger.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Collection
from functools import partial
from itertools import chain, repeat
from itertools import count as counting
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from typing import TYPE_CHECKING

from bench.controls import REPEATS
from crawlers import callbacks
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job, Origin, PageResult
from crawlers.origins import make_origin, origin_prefix
from crawlers.recorder import NullRecorder, ProgressRecorder, TimesRecorder
from crawlers.sockets import new_socket
from crawlers.stop import Stop

if TYPE_CHECKING:
    import ssl  # large, and the memory of the other controls is measured too

HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"

WARM_UP = 10
"""Connections opened and closed before the memory is read: what OpenSSL keeps once, it has then."""

ControlProgram = Callable[[Job, TimesRecorder], CrawlReport]


def prepare(name: str, job: Job) -> ControlProgram:
    """Get a control ready for a job; the result runs it, and counts as the recorder does."""
    if name == "bare":
        return lambda job, recorder: bare(job, counter(recorder))
    if name == "bare_tls":
        origin = warm_up(job)
        return lambda job, recorder: bare_tls(job, origin)
    if name == "bare_close":
        return lambda job, recorder: bare_close(job)
    fetches = fetch_all(job)
    return lambda job, recorder: stripped(job, recorder, fetches)


def counter(recorder: TimesRecorder) -> Callable[[], None]:
    """A function that counts one exchange where the harness can see it."""
    if not isinstance(recorder, ProgressRecorder):
        return lambda: None
    ended, place = recorder.ended, counting()  # a place of its own: there are no times to settle

    def count_exchange() -> None:
        ended[next(place)] = 1.0

    return count_exchange


def report(
    name: str,
    job: Job,
    elapsed_s: float,
    mechanism: dict[str, str | int],
    stopped: str | None = None,
    urls: Collection[str] = (),
) -> CrawlReport:
    rows = {url: PageResult(None if stopped else 200, 0, 0) for url in urls or job.urls}
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
    """A socket, and how many bytes of the answer have come."""

    __slots__ = ("received", "sock")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.received = 0


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

    One selector; send a request, receive, count bytes, send the next. All pages are of one size,
    which the first answer tells. No parser, no frontier, no checksum, no timeout, no recorder.
    Whatever a model costs beyond this is the parts that all crawlers share, or the model itself.
    """
    prefix = origin_prefix(job.urls[0])
    origin = make_origin(prefix, job)
    cut, tail = len(prefix), origin.head_tail
    rendered = [b"GET " + url[cut:].encode("ascii") + tail for url in job.urls] * REPEATS
    requests = iter(rendered)
    selector = DefaultSelector()
    size = answered = whole = 0
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
            whole = whole or answer_size(data)
            connection.received += len(data)
            size += len(data)
            if connection.received < whole:
                continue
            connection.received = 0
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
    if size != whole * answered:
        raise ValueError(f"{size} bytes for {answered} answers of {whole}: pages of several sizes")
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
    for sock in held:
        read_answer(sock)
        sock.close()
    return report("bare_tls", job, monotonic() - started, {})


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


class Known(Fetch):
    """A fetch whose request is rendered, and whose answer has a size that is known."""

    __slots__ = ("request", "size")

    def __init__(self, item: Fetch, request: bytes, size: int) -> None:
        super().__init__(item.url, item.origin, item.target)
        self.request, self.size = request, size


class Noted(Exchange):
    """An exchange that knows its fetch, and how many bytes have come."""

    __slots__ = ("item", "received")

    def __init__(self, item: Fetch, max_body: int) -> None:
        super().__init__(item, max_body)
        self.item, self.received = item, 0

    def feed(self, data: bytes) -> None:
        self.received += len(data)
        super().feed(data)


def fetch_all(job: Job) -> list[Known]:
    """Everything that a crawl of the job fetches, by a crawl before the clock starts."""
    # Imported here: the memory of other controls is measured.
    from unittest.mock import patch

    exchanges: list[Noted] = []

    def noted(item: Fetch, max_body: int) -> Noted:
        exchanges.append(Noted(item, max_body))
        return exchanges[-1]

    with patch.object(callbacks, "Exchange", noted):
        callbacks.crawl(job, NullRecorder())
    return [Known(x.item, x.request, x.received) for x in exchanges if x.error is None]


class Uncounted:
    """In place of an exchange: no parser, no sum, no failure; done when all bytes are there."""

    __slots__ = ("done", "left", "request", "reused")
    error, keep_alive = None, True

    def __init__(self, item: Known, max_body: int) -> None:
        self.request, self.left, self.done = item.request, item.size, False

    def feed(self, data: bytes) -> None:
        self.left -= len(data)
        if not data or self.left < 0:
            raise ConnectionError("an answer of another size than before")
        self.done = not self.left


def read_nothing(item: Known, exchange: Uncounted, follow: bool) -> None:
    """In place of :func:`crawlers.page.read_page`."""


class Queue:
    """In place of a frontier: a list of fetches, ``REPEATS`` times."""

    ready, stopped = 0, None  # a slot that finds nothing to take never has to look again

    def __init__(self, fetches: list[Known], job: Job) -> None:
        self._job, self._fetches = job, fetches
        self._left = chain.from_iterable(repeat(fetches, REPEATS))
        self._active = 0
        self._began = self._ended = 0.0

    def start(self, now: float) -> None:
        self._began = now

    def take(self) -> Known | None:
        item = next(self._left, None)
        self._active += item is not None
        return item

    def settle(self, item: Known, page: None, now: float) -> None:
        self._active -= 1
        self._ended = now

    @property
    def finished(self) -> bool:
        """Asked only when nothing is left to take."""
        return not self._active

    def report(self, _: str, mechanism: dict[str, str | int]) -> CrawlReport:
        urls = [fetch.url for fetch in self._fetches]
        elapsed_s = self._ended - self._began
        return report("stripped", self._job, elapsed_s, mechanism, urls=urls)


def stripped(job: Job, recorder: TimesRecorder, fetches: list[Known]) -> CrawlReport:
    """``callbacks`` without the parts that all backends share, for what the job fetches.

    The same loop and slots, with the recorder of a backend. A list takes the place of the
    frontier, and nobody reads heads, pages or links. So what ``callbacks`` costs beyond this is
    the shared parts, in the state of the whole: with its sockets, its caches and its heap.
    """
    # Imported here: the memory of other controls is measured.
    from unittest.mock import patch

    with patch.multiple(
        callbacks,
        Frontier=partial(Queue, fetches),
        Exchange=Uncounted,
        read_page=read_nothing,
    ):
        return callbacks.crawl(job, recorder)
