"""trio's low-level sockets: ``trio.socket`` instead of streams.

What waits and what switches is the same as in ``trio``. What a connection costs: the
suspended frames, trio's Task and the socket's wrapper. Changed against ``trio``: no
SocketStream, and so none of its locks and checks. trio's documentation recommends
streams; this is the tuned form, and has the same steps as ``asyncio_sockets``.
"""

from __future__ import annotations

from time import monotonic

import trio

from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.sockets import new_socket, unasked
from crawlers.variants._slots import disconnect
from crawlers.variants.trio import Shared, Slot, crawl_on


async def connect(slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the coroutine is suspended until it is open."""
    disconnect(slot)
    slot.sock = trio.socket.from_stdlib_socket(new_socket(item.address))
    slot.origin = item.origin
    await slot.sock.connect(item.address.sockaddr)


async def send(slot: Slot, data: bytes) -> None:
    """Send all of the request; wait for room if there is too little."""
    while data:
        data = data[await slot.sock.send(data) :]


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, receive until it is done."""
    exchange = slot.exchange = Exchange(item, shared.job.max_body)
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await trio.sleep(max(item.due - monotonic(), 0.0))
        slot.started = monotonic()
        if slot.origin is item.origin and not ((slot.waited or item.due) and unasked(slot.sock)):
            exchange.reused = True
        else:
            await connect(slot, item)
        await send(slot, exchange.request)
        while not exchange.done:
            data = await slot.sock.recv(RECV_SIZE)
            exchange.feed(data)
    except Exception as error:
        exchange.fail(error)
    return exchange


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, over trio's sockets."""
    return crawl_on("trio_sockets", job, recorder, fetch)
