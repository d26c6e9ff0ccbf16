"""asyncio's socket calls: ``loop.sock_*`` on sockets of our own.

What waits: a coroutine, suspended in ``loop.sock_recv``. What switches:
asyncio's loop, as in ``async_await``. What a connection costs: less than a
stream, because there is no transport and no buffer. Changed against
``async_await``: the interface to the socket. It saves memory and costs time: a
``sock_recv`` that has to wait registers the socket with the selector and removes
it again, for every answer.
"""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from time import monotonic

from crawlers.async_await import disconnect
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import Fetch
from crawlers.sockets import new_socket, unasked
from crawlers.variants import _asyncio
from crawlers.variants._asyncio import Shared, end_cancelled, run


class Slot(_asyncio.Slot):
    """At most one connection, at most one exchange in flight."""

    __slots__ = ()

    sock: socket.socket


async def connect(shared: Shared, slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the coroutine is suspended until it is open."""
    disconnect(slot)
    slot.sock = new_socket(item.address)
    slot.sock.setblocking(False)
    slot.origin = item.origin
    await shared.loop.sock_connect(slot.sock, item.address.sockaddr)


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, receive until it is done."""
    exchange = Exchange(item, shared.job.max_body)
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await asyncio.sleep(item.due - monotonic())
        slot.started = monotonic()
        if slot.origin is item.origin and not ((slot.waited or item.due) and unasked(slot.sock)):
            exchange.reused = True
        else:
            await connect(shared, slot, item)
        await shared.loop.sock_sendall(slot.sock, exchange.request)
        while not exchange.done:
            data = await shared.loop.sock_recv(slot.sock, RECV_SIZE)
            exchange.feed(data)
    except Exception as error:
        exchange.fail(error)
    except asyncio.CancelledError:
        end_cancelled(slot, exchange)
    return exchange


crawl_on = partial(run, fetch=fetch, make_shared=Shared, make_slot=Slot)
"""Crawl with one task for each slot, over sockets on any loop."""

crawl = partial(crawl_on, "asyncio_sockets")
