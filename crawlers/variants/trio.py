"""trio: tasks that live in a nursery, streams, and cancellation by scope.

What waits: a coroutine, suspended in ``await`` on a trap of trio's. What switches:
trio's run loop, written in Python, with a checkpoint in every call that may wait.
What a connection costs: the suspended frames, trio's Task, and the SocketStream
around the socket's wrapper. Changed against ``async_await``: the library below
``await``, and its streams. What ends an exchange is a cancel scope, which a slot keeps
until the sweep has cancelled it (:mod:`crawlers.variants._scopes`).

``trio_timeouts`` changes that: each exchange sets its own timeout, as trio's documentation
has it, and trio's run loop keeps the deadline. The sweep remains, because it also ends a
crawl that must stop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import trio

from crawlers.backend import CrawlFunction
from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job, Origin
from crawlers.recorder import Recorder
from crawlers.sockets import unasked
from crawlers.stop import Stop
from crawlers.variants import _scopes
from crawlers.variants._scopes import Fetcher, run
from crawlers.variants._slots import disconnect
from crawlers.variants._stack import cause_of, handshaking

if TYPE_CHECKING:
    import ssl


class Slot(_scopes.Slot):
    """At most one connection, at most one exchange in flight.

    ``sock`` is the socket of ``stream``: the one that can be closed without waiting.
    Over TLS, ``stream`` is a ``trio.SSLStream``. ``unasked`` tells whether bytes wait on it.
    """

    __slots__ = ("stream", "unasked")

    stream: trio.SocketStream
    unasked: Callable[[Any], bool]


class Shared(_scopes.Shared):
    """The state that the slots of one crawl share; ``fetch`` is the variant's."""

    slot_type = Slot
    library = trio
    open_group = staticmethod(trio.open_nursery)

    def __init__(self, job: Job, recorder: Recorder, fetch: Fetcher) -> None:
        super().__init__(job, recorder, fetch)
        self.idle = trio.lowlevel.ParkingLot()

    async def wait(self) -> None:
        """Be idle until :meth:`wake`."""
        await self.idle.park()

    def wake(self, count: int) -> None:
        """Let up to ``count`` idle slots look for work again."""
        if count > 0 and self.idle:
            self.idle.unpark(count=count)


async def connect(slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the coroutine is suspended until it is open."""
    disconnect(slot)
    host, port = item.address.sockaddr[:2]
    slot.stream = stream = await trio.open_tcp_stream(str(host), int(port))
    slot.sock = stream.socket
    slot.origin = item.origin
    slot.unasked = unasked
    if item.origin.tls is not None:
        await secure(slot, stream, item.origin, item.origin.tls)


async def secure(
    slot: Slot, stream: trio.SocketStream, origin: Origin, tls: ssl.SSLContext
) -> None:
    """The handshake of TLS.

    The stream keeps to the standard and not to the habits of the web
    (``https_compatible``): so it tells an end with close_notify from any other.
    """
    encrypted = trio.SSLStream(stream, tls, server_hostname=origin.host)
    slot.stream = cast(Any, encrypted)
    slot.unasked = partial(has_bytes, encrypted)
    with handshaking():
        await encrypted.do_handshake()


def has_bytes(stream: trio.SSLStream[trio.SocketStream], sock: trio.socket.SocketType) -> bool:
    """Whether bytes have come that no request asked for, to the socket or the stream."""
    return stream._incoming.pending > 0 or unasked(sock)


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, receive until it is done."""
    exchange = slot.exchange = Exchange(item, shared.job.max_body)
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await trio.sleep(max(item.due - monotonic(), 0.0))
        slot.started = monotonic()
        if slot.origin is item.origin and not (
            (slot.waited or item.due) and slot.unasked(slot.sock)
        ):
            exchange.reused = True
        else:
            await connect(slot, item)
        await slot.stream.send_all(exchange.request)
        while not exchange.done:
            data = await slot.stream.receive_some()
            exchange.feed(data)
    except Exception as error:
        # The socket's error, or that of TLS, is behind trio's.
        exchange.fail(cause_of(error) or error)
    return exchange


async def fetch_in_time(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange, in a scope with a deadline."""
    waits_s = max(item.due - monotonic(), 0.0) if item.due else 0.0
    with trio.move_on_after(waits_s + shared.job.timeout_s):
        return await fetch(shared, slot, item)
    slot.exchange.abort(slot.aborted or "timeout")
    return slot.exchange


def crawl_on(name: str, job: Job, recorder: Recorder, fetch: Fetcher) -> CrawlReport:
    """Crawl with one task for each slot, on trio's loop."""
    shared = Shared(job, recorder, fetch)
    with Stop(job) as stop:
        trio.run(run, shared, stop)
    return shared.frontier.report(name, {"loop": f"trio {trio.__version__}"})


def crawl_as(name: str) -> CrawlFunction:
    """The crawl of this name, with one task for each slot, over trio's streams."""
    return partial(crawl_on, name, fetch=fetch if name == "trio" else fetch_in_time)
