"""asyncio streams: readers and writers on asyncio's transports.

What waits: a coroutine, suspended in ``reader.read``. What switches: asyncio's
loop; its transport receives as soon as bytes come and puts them into the
reader's buffer, which wakes the coroutine. What a connection costs: transport,
protocol, reader and writer. Changed against ``async_await``: the interface to
the socket (``open_connection`` for ``loop.sock_*``).

The transport asks the kernel for up to 256 KiB at a time, not for 64.
"""

from __future__ import annotations

import asyncio
from time import monotonic

from crawlers.async_await import disconnect
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.variants import _asyncio
from crawlers.variants._asyncio import LoopFactory, Shared, run


class Slot(_asyncio.Slot):
    """At most one connection, at most one exchange in flight.

    The connection ``sock`` is the stream's writer, and ``reader`` the other half.
    """

    __slots__ = ("reader",)

    sock: asyncio.StreamWriter
    reader: asyncio.StreamReader


async def connect(slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the coroutine is suspended until it stands."""
    disconnect(slot)
    host, port = item.address.sockaddr[:2]
    slot.reader, slot.sock = await asyncio.open_connection(str(host), int(port), limit=RECV_SIZE)
    slot.origin = item.origin


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect where needed, send, receive until it is done."""
    exchange = Exchange(item, shared.job.max_body)
    try:
        if item.due:
            await asyncio.sleep(item.due - monotonic())
        slot.started = monotonic()
        if slot.origin is item.origin:
            exchange.reused = True
        else:
            await connect(slot, item)
        slot.sock.write(exchange.request)
        await slot.sock.drain()
        while not exchange.done:
            data = await slot.reader.read(RECV_SIZE)
            exchange.feed(data)
    except OSError as error:
        exchange.fail(error)
    except asyncio.CancelledError:
        if slot.aborted is None:
            raise
        slot.task.uncancel()
        exchange.abort(slot.aborted)
    return exchange


def crawl_on(
    name: str, job: Job, recorder: Recorder, loop_factory: LoopFactory | None
) -> CrawlReport:
    """Crawl with one task for each slot, over streams of any loop."""
    return run(name, job, recorder, fetch, Shared, Slot, loop_factory)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, over asyncio's streams."""
    return crawl_on("asyncio_streams", job, recorder, None)
