"""anyio on asyncio: structured concurrency on a loop that was not built for it.

What waits: a coroutine, suspended on a Future of asyncio. What switches:
asyncio's loop. What a connection costs: asyncio's transport, anyio's stream
and a cancel scope. Changed against ``async_await``: anyio on top of it,
with its own streams, and scopes and task groups like trio's, used in the same way
(:mod:`crawlers.variants._scopes`). ``anyio_trio`` is the same source on trio; its
streams are on ``trio.socket``.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from errno import ECONNRESET
from functools import partial
from importlib import import_module
from time import monotonic
from typing import Any

import anyio
from anyio.abc import SocketAttribute
from anyio.streams.tls import TLSStream

from crawlers.backend import CrawlFunction
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job, Origin
from crawlers.recorder import Recorder
from crawlers.sockets import unasked
from crawlers.stop import Stop
from crawlers.variants import _scopes
from crawlers.variants._scopes import Slot, run
from crawlers.variants._slots import Connection, disconnect
from crawlers.variants._stack import cause_of, handshaking, version_of


class Shared(_scopes.Shared):
    """The state that the slots of one crawl share."""

    library = anyio
    open_group = staticmethod(anyio.create_task_group)

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder, fetch)
        self.idle: list[anyio.Event] = []

    async def wait(self) -> None:
        """Be idle until :meth:`wake`."""
        idle = anyio.Event()
        self.idle.append(idle)
        await idle.wait()

    def wake(self, count: int) -> None:
        """Let up to ``count`` idle slots look for work again."""
        while self.idle and count > 0:
            self.idle.pop().set()
            count -= 1

    async def flush(self) -> None:
        """Close the connections that were given up."""
        while self.closing:
            with suppress(ssl.SSLError):  # before 4.16 anyio raises it where TLS has broken
                await anyio.aclose_forcefully(self.closing.pop())


async def connect(shared: Shared, slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the coroutine is suspended until it is open."""
    disconnect(slot)
    await shared.flush()
    host, port = item.address.sockaddr[:2]
    if item.origin.tls is None:
        stream: Any = await anyio.connect_tcp(str(host), int(port))
    else:
        stream = await secure(str(host), int(port), item.origin)
    slot.sock = Connection(shared.closing, stream)
    slot.origin = item.origin


async def secure(host: str, port: int, origin: Origin) -> TLSStream:
    """A connection over TLS.

    The stream keeps to the standard, as anyio ships (``tls_standard_compatible``):
    so it tells an end with close_notify from any other.
    """
    with handshaking():
        return await anyio.connect_tcp(host, port, ssl_context=origin.tls, tls_hostname=origin.host)


def has_bytes(stream: Any) -> bool:  # noqa: ANN401
    """Whether bytes have come that no request asked for, to the socket, asyncio or TLS."""
    if isinstance(stream, TLSStream):
        return stream._read_bio.pending > 0 or has_bytes(stream.transport_stream)
    protocol = getattr(stream, "_protocol", None)
    if protocol is not None and protocol.read_queue:
        return True
    return unasked(stream.extra(SocketAttribute.raw_socket))


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, receive until it is done."""
    exchange = slot.exchange = Exchange(item, shared.job.max_body)
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await anyio.sleep(max(item.due - monotonic(), 0.0))
        slot.started = monotonic()
        if slot.origin is item.origin and not (
            (slot.waited or item.due) and has_bytes(slot.sock.stream)
        ):
            exchange.reused = True
        else:
            await connect(shared, slot, item)
        await slot.sock.stream.send(exchange.request)
        while not exchange.done:
            data = await slot.sock.stream.receive(RECV_SIZE)
            exchange.feed(data)
    except anyio.EndOfStream:
        exchange.feed(b"")
    except Exception as error:
        lost(exchange, error)
    return exchange


def lost(exchange: Exchange, error: Exception) -> None:
    """The connection failed: find the socket's error, or that of TLS, behind anyio's."""
    exchange.fail(cause_of(error) or OSError(ECONNRESET, ""))


def crawl_on(name: str, job: Job, recorder: Recorder, *, backend: str, loop: str) -> CrawlReport:
    """Crawl with one task for each slot, on ``asyncio`` or ``trio``."""
    shared = Shared(job, recorder)
    with Stop(job) as stop:
        anyio.run(run, shared, stop, backend=backend)
    return shared.frontier.report(name, {"library": version_of("anyio"), "loop": loop})


def crawl_as(name: str) -> CrawlFunction:
    """The crawl of this name, on its loop."""
    if name == "anyio":
        return partial(crawl_on, name, backend="asyncio", loop="asyncio")
    trio = import_module("trio")  # here, because anyio imports it only when it runs on it
    return partial(crawl_on, name, backend="trio", loop=f"trio {trio.__version__}")
