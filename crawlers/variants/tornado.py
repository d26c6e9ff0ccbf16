"""Tornado: its IOStream, on the loop that Tornado now shares with asyncio.

What waits: a coroutine, suspended on a Future of asyncio that an IOStream
resolves. What switches: Tornado's IOLoop, which since version 5 is asyncio's
loop. What a connection costs: the IOStream, in Python, with its two buffers.
Changed against ``async_await``: the interface to the socket, ``IOStream``
instead of asyncio's streams.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from functools import partial
from time import monotonic
from typing import Any, cast

import tornado
from tornado.iostream import IOStream, SSLIOStream, StreamClosedError

from crawlers.async_await import disconnect
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import Fetch, Job
from crawlers.recorder import Recorder
from crawlers.sockets import new_socket, unasked
from crawlers.tls import handshaking
from crawlers.variants import _asyncio
from crawlers.variants._asyncio import end_cancelled, run

# The outcome of a page says why its connection failed. Without a handler, Python would
# print Tornado's warning about each failed handshake too.
logging.getLogger("tornado.general").addHandler(logging.NullHandler())


class SecureStream(SSLIOStream):
    """A stream over TLS; ``async_await`` closes those of asyncio with ``transport.abort`` too."""

    @property
    def transport(self) -> SecureStream:
        """Itself."""
        return self

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return bool(self.closed())

    def abort(self) -> None:
        """Do nothing: Tornado's ``close`` waits for no goodbye."""

    def write_to_fd(self, data: memoryview) -> int:
        """Write what the socket takes: nothing while TLS 1.2 renegotiates, as Tornado forgets."""
        try:
            return super().write_to_fd(data)
        except ssl.SSLWantReadError:
            return 0


class Shared(_asyncio.Shared):
    """The state that the slots of one crawl share."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.mechanism["library"] = f"tornado {tornado.version}"


class Slot(_asyncio.Slot):
    """At most one connection, at most one exchange in flight."""

    __slots__ = ()

    sock: IOStream


async def connect(slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the coroutine is suspended until it is open."""
    disconnect(slot)
    if item.origin.tls is not None:
        await secure(slot, item, item.origin.tls)
        return
    slot.sock = IOStream(new_socket(item.address), read_chunk_size=RECV_SIZE)
    slot.origin = item.origin
    await slot.sock.connect(item.address.sockaddr)


async def secure(slot: Slot, item: Fetch, tls: ssl.SSLContext) -> None:
    """Open it over TLS; afterwards, an end without close_notify is an error."""
    slot.sock = stream = SecureStream(
        new_socket(item.address), read_chunk_size=RECV_SIZE, ssl_options=tls
    )
    slot.origin = item.origin
    try:
        with handshaking():
            await stream.connect(item.address.sockaddr, server_hostname=item.origin.host)
    except StreamClosedError as error:
        with handshaking():
            raise error.real_error or ConnectionResetError from error
    cast(Any, stream.socket).suppress_ragged_eofs = False


def has_bytes(stream: IOStream) -> bool:
    """Whether bytes have come that no request asked for, to the socket or the stream."""
    return stream._read_buffer_size > 0 or (not stream.closed() and unasked(stream.socket))


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, receive until it is done."""
    exchange = Exchange(item, shared.job.max_body)
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await asyncio.sleep(item.due - monotonic())
        slot.started = monotonic()
        if slot.origin is item.origin and not ((slot.waited or item.due) and has_bytes(slot.sock)):
            exchange.reused = True
        else:
            await connect(slot, item)
        await slot.sock.write(exchange.request)
        while not exchange.done:
            data = await slot.sock.read_bytes(RECV_SIZE, partial=True)
            exchange.feed(data)
    except StreamClosedError as error:
        if isinstance(error.real_error, OSError):
            exchange.fail(error.real_error)
        exchange.feed(b"")
    except Exception as error:
        exchange.fail(error)
    except asyncio.CancelledError:
        end_cancelled(slot, exchange)
    return exchange


crawl = partial(run, "tornado", fetch=fetch, make_shared=Shared, make_slot=Slot)
"""Crawl with one task for each slot, over Tornado's streams."""
