"""Threads with a timeout for each wait: ``socket.settimeout``.

Everything that waits, switches and costs is the same as in ``threads``, except that
Python puts a socket with a timeout into non-blocking mode, and waits in ``poll``
before it receives. Changed against ``threads``: that, set once for each connection,
as most programs do. ``threads`` has a sweep over all slots four times a second
instead, which ends an exchange that is late. The sweep remains, because a timeout
of a socket is for one wait and not for the whole exchange, and because the sweep
also ends a crawl that must stop.
"""

from __future__ import annotations

from time import monotonic

from crawlers import threads
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.sockets import new_socket, unasked
from crawlers.threads import Shared, Slot, disconnect, secure


def connect(shared: Shared, slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; no wait on it takes longer than the timeout."""
    with shared.changed:
        disconnect(slot)
        slot.sock = new_socket(item.address)
        slot.origin = item.origin
    slot.sock.settimeout(shared.job.timeout_s)
    slot.sock.connect(item.address.sockaddr)
    if item.origin.tls is not None:
        secure(shared, slot, item.origin)


def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, receive until it is done."""
    exchange = Exchange(item, shared.job.max_body)
    try:
        if item.due and shared.over.wait(item.due - monotonic()):
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
            if slot.aborted is not None:
                exchange.abort(slot.aborted)
            exchange.feed(data)
    except OSError as error:
        if slot.aborted is not None:
            exchange.abort(slot.aborted)
        exchange.fail(error)
    return exchange


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot, and timeouts on its sockets."""
    return threads.run("threads_timeouts", Shared(job, recorder), fetch)
