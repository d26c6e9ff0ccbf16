"""gevent: greenlets on gevent's own sockets.

What waits: a greenlet, a C stack that is moved away while it waits. What switches:
gevent's hub, in one thread, wherever a call of ``gevent.socket`` would block. What a
connection costs: a greenlet and the used part of its stack, copied to the heap.
Changed against ``threads``: the hub switches instead of the kernel, and only there.
So the slots need no lock and no promises, and an idle one waits on an event of its
own. ``gevent_patched`` is the source of ``threads`` on a patched standard library.

``gevent_timeouts`` sets a ``gevent.Timeout`` for each exchange, as gevent's documentation has
it: a timer of the loop for each page. ``gevent`` has a sweep over all slots four times a second
instead. The sweep remains, because it also ends a crawl that must stop.
"""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import Any

import gevent
from gevent import socket
from gevent.event import AsyncResult, Event

from crawlers.backend import CrawlFunction
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job, Origin
from crawlers.recorder import Recorder
from crawlers.sockets import unasked
from crawlers.stop import Stop
from crawlers.variants import _slots
from crawlers.variants._slots import Slot, disconnect, end, finish, overdue, taken

LOOP = gevent.config.loop
"""gevent's loop. Looked up here, so that a wrong ``GEVENT_LOOP`` fails the import, not a crawl."""


class Shared(_slots.Shared):
    """The state that the slots of one crawl share."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.idle: list[Any] = []
        self.over = Event()

    def wake(self, count: int) -> None:
        """Let up to ``count`` idle slots look for work again."""
        while self.idle and count > 0:
            self.idle.pop().set(None)
            count -= 1


def connect(shared: Shared, slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the greenlet waits until it is open."""
    disconnect(slot)
    slot.sock = socket.socket(item.address.family, socket.SOCK_STREAM)
    slot.origin = item.origin
    slot.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    slot.sock.connect(item.address.sockaddr)
    if item.origin.tls is not None:
        secure(shared, slot, item.origin)


def secure(shared: Shared, slot: Slot, origin: Origin) -> None:
    """The handshake of TLS, on gevent's ``ssl``; later, an end without close_notify is an error."""
    from gevent.ssl import SSLContext

    from crawlers.tls import client_context, handshaking

    context = client_context(shared.job.cafile, shared.job.insecure, SSLContext)
    slot.sock = context.wrap_socket(
        slot.sock,
        server_hostname=origin.host,
        suppress_ragged_eofs=False,
        do_handshake_on_connect=False,
    )
    with handshaking():
        slot.sock.do_handshake()


def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, receive until it is done.

    The sweep closes its socket when it is late.
    """
    exchange = Exchange(item, shared.job.max_body)
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            if shared.over.wait(item.due - monotonic()):
                exchange.abort("cancelled")
                return exchange
        slot.started = monotonic()
        if slot.origin is item.origin and not ((slot.waited or item.due) and unasked(slot.sock)):
            exchange.reused = True
        else:
            connect(shared, slot, item)
        slot.sock.sendall(exchange.request)
        while not exchange.done:
            data = slot.sock.recv(RECV_SIZE)
            exchange.feed(data)
    except (OSError, AttributeError, ValueError) as error:
        # A closed SSLSocket of gevent's raises other errors than OSError.
        if slot.aborted is not None:
            exchange.abort(slot.aborted)
        elif not isinstance(error, OSError):
            raise
        exchange.fail(error)
    return exchange


def fetch_in_time(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange, with a timer."""
    waits_s = max(item.due - monotonic(), 0.0) if item.due else 0.0
    try:
        with gevent.Timeout(waits_s + shared.job.timeout_s):
            return fetch(shared, slot, item)
    except gevent.Timeout:
        exchange = Exchange(item, shared.job.max_body)
        exchange.abort(slot.aborted or "timeout")
        return exchange


def take(shared: Shared, slot: Slot) -> Fetch | None:
    """The next fetch, asleep until there is one; None when the crawl is over."""
    while (item := shared.frontier.take()) is None:
        if shared.frontier.finished:
            shared.wake(len(shared.idle))
            disconnect(slot)
            return None
        slot.waited = True
        idle = AsyncResult()
        shared.idle.append(idle)
        idle.get()
    return taken(shared, slot, item)


def work(shared: Shared, slot: Slot, fetch: Any) -> None:  # noqa: ANN401
    """The life of a slot: take, fetch, finish, until nothing is left."""
    try:
        while item := take(shared, slot):
            exchange = fetch(shared, slot, item)
            finish(shared, slot, item, exchange)
    except Exception as error:
        # If a greenlet failed silently, the others would wait for its outcome.
        shared.failure = error
        end(shared, "failed")


def watch(shared: Shared, stop: Stop) -> None:
    """End the exchanges that ran out of time, at every tick."""
    while True:
        for slot in overdue(shared, stop):
            disconnect(slot)  # a greenlet that waits for a socket is told that it was closed
        if shared.frontier.stopped:
            shared.over.set()
        gevent.sleep(stop.tick_s)


def crawl_on(name: str, job: Job, recorder: Recorder, fetch: Any) -> CrawlReport:  # noqa: ANN401
    """Run one greenlet for each slot, until all are done."""
    shared = Shared(job, recorder)
    with Stop(job) as stop:
        shared.frontier.start(monotonic())
        greenlets = [gevent.spawn(work, shared, slot, fetch) for slot in shared.slots]
        keeper = gevent.spawn(watch, shared, stop)
        try:
            gevent.joinall(greenlets)
        finally:
            keeper.kill()
            for slot in shared.slots:
                disconnect(slot)
            gevent.sleep(0)  # until its next turn, the hub keeps the keeper, and that the slots
    if shared.failure is not None:
        raise shared.failure
    loop = type(gevent.get_hub().loop)
    mechanism: dict[str, str | int] = {
        "threads": 1,
        "greenlets": 1 + len(shared.slots),
        "loop": f"{loop.__module__}.{loop.__qualname__}",
    }
    return shared.frontier.report(name, mechanism)


def crawl_as(name: str) -> CrawlFunction:
    """The crawl of this name, with one greenlet for each slot, on gevent's sockets."""
    return partial(crawl_on, name, fetch=fetch if name == "gevent" else fetch_in_time)
