"""asyncio's Protocol: the transport calls the exchange, and a task waits for the end of it.

What waits: a coroutine, suspended on one Future for the whole exchange. What
switches: asyncio's loop; its transport receives bytes as soon as they arrive and
feeds them to the exchange in a callback, without resuming the coroutine. What a
connection costs: transport, protocol and one Future. Changed against
``async_await``: there is no reader and no buffer, and so no switch for each piece
of an answer.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from time import monotonic
from typing import cast

from crawlers.async_await import NO_TIME_S, disconnect
from crawlers.http import Exchange
from crawlers.job import Fetch
from crawlers.tls import handshaking
from crawlers.variants import _asyncio
from crawlers.variants._asyncio import Shared, end_cancelled, run


class Slot(_asyncio.Slot):
    """At most one connection, at most one exchange in flight.

    The connection ``sock`` is the transport, and ``connection`` its protocol.
    """

    __slots__ = ("connection",)

    sock: asyncio.Transport | Secured
    connection: Connection


class Secured:
    """A transport over TLS that says goodbye when it is closed, and does not wait for the answer.

    The ``close`` of a transport waits for up to 30 seconds, and keeps its buffers.
    """

    __slots__ = ("get_extra_info", "transport", "write")

    def __init__(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.write = transport.write
        self.get_extra_info = transport.get_extra_info

    def close(self) -> None:
        """Close it now."""
        if not self.transport.is_closing():  # as in async_await
            self.transport.close()
        self.transport.abort()


class Connection(asyncio.Protocol):
    """Feeds bytes to the exchange in flight; ``over`` is resolved at its end."""

    def __init__(self, slot: Slot, exchange: Exchange | None = None) -> None:
        self.slot = slot
        self.exchange = exchange
        self.over: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The slot has it before the task is resumed: uvloop brings bytes that early. TLS waits."""
        self.slot.sock, self.slot.connection = cast(asyncio.Transport, transport), self
        if transport.get_extra_info("ssl_object") is not None:
            self.slot.sock.pause_reading()

    def data_received(self, data: bytes) -> None:
        """Bytes have arrived."""
        if self.exchange is None:
            self.lost()  # we asked for nothing
            return
        self.exchange.feed(data)
        self.check()

    def eof_received(self) -> None:
        """The stream has ended; the transport closes."""
        if self.exchange is None:
            self.lost()
        else:
            self.ended(self.exchange)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is lost."""
        if self.exchange is not None:
            if isinstance(exc, OSError):
                self.exchange.fail(exc)
            self.ended(self.exchange)
        self.lost()

    def ended(self, exchange: Exchange) -> None:
        """No more bytes will come."""
        if cut(self.slot.sock):
            exchange.fail(ssl.SSLEOFError())
        exchange.feed(b"")
        self.check()

    def check(self) -> None:
        """Wake the task when its exchange is done."""
        if self.exchange is not None and self.exchange.done:
            self.exchange = None
            if self.over is not None and not self.over.done():
                self.over.set_result(None)

    def lost(self) -> None:
        """Take the connection from its slot, unless the slot has another by now."""
        if self.slot.connection is self:
            disconnect(self.slot)


async def connect(shared: Shared, slot: Slot, item: Fetch, exchange: Exchange) -> None:
    """Open the slot's connection; the coroutine is suspended until it is open."""
    disconnect(slot)
    if item.origin.tls is not None:
        await secure(shared, slot, item)
        return
    host, port = item.address.sockaddr[:2]
    transport, _ = await shared.loop.create_connection(
        lambda: Connection(slot, exchange), str(host), int(port)
    )
    if not transport.is_closing():
        slot.origin = item.origin


async def secure(shared: Shared, slot: Slot, item: Fetch) -> None:
    """Open it over TLS; the exchange's deadline comes before the loop's for a handshake."""
    host, port = item.address.sockaddr[:2]
    with handshaking():
        transport, _ = await shared.loop.create_connection(
            lambda: Connection(slot),
            str(host),
            int(port),
            ssl=item.origin.tls,
            server_hostname=item.origin.host,
            ssl_handshake_timeout=shared.job.timeout_s + 60,
            ssl_shutdown_timeout=NO_TIME_S,
        )
    slot.sock = Secured(transport)
    slot.origin = item.origin
    transport.resume_reading()


def cut(transport: asyncio.Transport | Secured) -> bool:
    """Whether a stream ended without close_notify: then TLS waits for more, and finds no end."""
    encrypted = transport.get_extra_info("ssl_object")
    try:
        return isinstance(encrypted, ssl.SSLObject) and bool(encrypted.read(1))
    except ssl.SSLError as error:
        return not isinstance(error, ssl.SSLZeroReturnError)


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, and wait until it is done."""
    exchange = Exchange(item, shared.job.max_body)
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await asyncio.sleep(item.due - monotonic())
        slot.started = monotonic()
        if slot.origin is item.origin:
            exchange.reused = True
        else:
            await connect(shared, slot, item, exchange)
            if exchange.done:
                return exchange
        slot.connection.exchange = exchange
        slot.connection.over = shared.loop.create_future()
        slot.sock.write(exchange.request)
        await slot.connection.over
    except Exception as error:
        exchange.fail(error)
    except asyncio.CancelledError:
        end_cancelled(slot, exchange)
    return exchange


crawl_on = partial(run, fetch=fetch, make_shared=Shared, make_slot=Slot)
"""Crawl with one task for each slot, over transports of any loop."""

crawl = partial(crawl_on, "asyncio_protocol")
