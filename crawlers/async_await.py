"""async/await: the machinery of ``generators``, now a part of Python.

What waits: a coroutine, suspended in ``await`` on a Future of asyncio. What
switches: asyncio's loop, which resumes a Task; Future and Task are written in C.
What a connection costs: the suspended frames, and the transport, protocol,
reader and writer of its stream. The functions below read like those of
``threads``, with ``await`` wherever they wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from math import inf
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from crawlers.frontier import Frontier
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import LONGEST_S, MIB, CrawlReport, Fetch, Job, Origin
from crawlers.loop import loop_name
from crawlers.page import read_page
from crawlers.recorder import Recorder
from crawlers.sockets import unread
from crawlers.stop import Stop

AHEAD = 4 * MIB
"""Bytes that a stream over TLS reads ahead; it pauses at twice as many, half a page's limit.

Where reading is paused when a connection ends, uvloop's streams lose what has not been read
(MagicStack/uvloop#661), and those of aiofastnet lose it too, or do not see the end.
"""

NO_TIME_S = 1e-6
"""How long asyncio may wait for the goodbye of a server."""


class Shared:
    """The state that the slots of one crawl share."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        self.job = job
        self.recorder = recorder
        self.frontier = Frontier(job)
        self.slots = [Slot(number) for number in range(job.slots)]
        self.loop = asyncio.get_running_loop()
        self.idle: list[asyncio.Future[None]] = []


class Slot:
    """At most one connection, at most one exchange in flight.

    ``origin`` is the server of the open connection ``sock``, None without one.
    ``started`` is the time at which the exchange in flight began, inf without one.
    ``deadline`` is the time at which it times out.
    ``sock`` is the end to write to, and ``reader`` the other.
    """

    __slots__ = (
        "aborted", "deadline", "number", "origin", "reader", "sock", "started", "task", "waited",
    )  # fmt: skip

    sock: asyncio.StreamWriter
    reader: asyncio.StreamReader
    task: asyncio.Task[None]

    def __init__(self, number: int) -> None:
        self.number = number
        self.origin: Origin | None = None
        self.started = self.deadline = inf
        self.aborted: str | None = None
        self.waited = False  # for something to fetch


Connection: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
SharedT = TypeVar("SharedT", bound=Shared)
SlotT = TypeVar("SlotT", bound=Slot)
Fetcher: TypeAlias = Callable[[SharedT, SlotT, Fetch], Coroutine[Any, Any, Exchange]]


# The model's own machinery: none. It is asyncio's: loop, Task, Future.


async def connect(slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the coroutine is suspended until it is open."""
    disconnect(slot)
    host, port = item.address.sockaddr[:2]
    if item.origin.tls is None:
        slot.reader, slot.sock = await asyncio.open_connection(
            str(host), int(port), limit=RECV_SIZE
        )
    else:
        slot.reader, slot.sock = await secure(item.origin, str(host), int(port))
    slot.origin = item.origin


async def secure(origin: Origin, host: str, port: int) -> Connection:
    """Open an encrypted connection; the coroutine is suspended during the handshake."""
    from crawlers.tls import handshaking

    with handshaking():
        return await asyncio.open_connection(
            host,
            port,
            limit=AHEAD,
            ssl=origin.tls,
            server_hostname=origin.host,
            ssl_handshake_timeout=LONGEST_S,  # the exchange has its own
            ssl_shutdown_timeout=NO_TIME_S,  # if we are cancelled, asyncio says goodbye
        )


def disconnect(slot: Slot) -> None:
    """Close the slot's connection, if it has one."""
    if slot.origin is not None:
        secured, slot.origin = slot.origin.tls, None
        if secured is None or not slot.sock.transport.is_closing():
            slot.sock.close()  # not twice: then CPython 3.11.2 could not abort it
        if secured is not None:
            slot.sock.transport.abort()  # the goodbye is sent; do not wait for the server's


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, receive until it is done."""
    exchange = Exchange(item, shared.job.max_body)
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await asyncio.sleep(item.due - monotonic())
        slot.started = monotonic()
        if slot.origin is item.origin and not ((slot.waited or item.due) and unread(slot.reader)):
            exchange.reused = True
        else:
            await connect(slot, item)
        slot.sock.write(exchange.request)
        await slot.sock.drain()
        while not exchange.done:
            data = await slot.reader.read(RECV_SIZE)
            exchange.feed(data)
    except (OSError, RuntimeError) as error:  # uvloop raises both
        # A stream keeps its error. With a traceback they are a cycle, of which asyncio may log.
        error.__traceback__ = None
        exchange.fail(error)
    except asyncio.CancelledError:
        if slot.aborted is None:
            raise
        slot.task.uncancel()
        exchange.abort(slot.aborted)
    return exchange


def finish(shared: Shared, slot: Slot, item: Fetch, exchange: Exchange) -> None:
    """Give the outcome to the frontier; wake as many other slots as there is work for."""
    ended = monotonic()
    page = read_page(item, exchange, shared.job.follow)
    if exchange.error is None:
        shared.recorder.record(slot.number, item.intended, slot.started, ended)
    slot.deadline = slot.started = inf
    if not exchange.keep_alive:
        disconnect(slot)
    shared.frontier.settle(item, page, ended)
    wake(shared, shared.frontier.ready - 1)


async def take(shared: Shared, slot: Slot) -> Fetch | None:
    """The next fetch, suspended until there is one; None when the crawl is over."""
    slot.waited = False
    while (item := shared.frontier.take()) is None:
        if shared.frontier.finished:
            wake(shared, len(shared.idle))
            disconnect(slot)
            return None
        slot.waited = True
        idle = shared.loop.create_future()
        shared.idle.append(idle)
        await idle
    slot.aborted = None
    slot.deadline = max(monotonic(), item.due) + shared.job.timeout_s
    return item


async def work(shared: SharedT, slot: SlotT, fetch: Fetcher[SharedT, SlotT]) -> None:
    """The life of a slot: take, fetch, finish, until nothing is left."""
    try:
        while item := await take(shared, slot):
            exchange = await fetch(shared, slot, item)
            finish(shared, slot, item, exchange)
    except BaseException:
        # If a task failed silently, the others would wait for its outcome.
        end(shared, "failed")
        raise


def wake(shared: Shared, count: int) -> None:
    """Let up to ``count`` idle slots look for work again."""
    while shared.idle and count > 0:
        idle = shared.idle.pop()
        if not idle.done():
            idle.set_result(None)
        count -= 1


def end(shared: Shared, reason: str) -> None:
    """Take no more fetches; let the exchanges in flight end."""
    shared.frontier.stop(reason)
    wake(shared, len(shared.idle))


def watch(shared: Shared, stop: Stop) -> None:
    """Cancel the exchanges that ran out of time; called at every tick."""
    now = monotonic()
    if reason := stop.reason(now):
        end(shared, reason)
    for slot in shared.slots:
        if slot.deadline != inf and (now > slot.deadline or shared.frontier.stopped):
            slot.aborted = slot.aborted or ("cancelled" if shared.frontier.stopped else "timeout")
            slot.task.cancel()
    shared.loop.call_later(stop.tick_s, watch, shared, stop)


async def run(
    shared: SharedT, slots: list[SlotT], fetch: Fetcher[SharedT, SlotT], stop: Stop
) -> None:
    """Run one task for each slot, until all are done."""
    try:
        shared.frontier.start(monotonic())
        for slot in slots:
            slot.task = shared.loop.create_task(work(shared, slot, fetch))
        watch(shared, stop)
        await asyncio.gather(*(slot.task for slot in slots))
    finally:
        for slot in slots:
            disconnect(slot)


async def main(job: Job, recorder: Recorder, stop: Stop) -> CrawlReport:
    """Crawl on the loop that runs this."""
    shared = Shared(job, recorder)
    await run(shared, shared.slots, fetch, stop)
    return shared.frontier.report("async_await", {"loop": loop_name(shared.loop)})


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, on asyncio's loop."""
    with Stop(job) as stop:
        return asyncio.run(main(job, recorder, stop))
