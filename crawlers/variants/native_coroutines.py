"""Native coroutines on the hand-built loop: ``generators``, written with async and await.

What waits: a coroutine, suspended in ``await`` on the Future of ``generators``,
which gets an ``__await__``. Switching and the cost of a connection are the same as
there. Changed against ``generators``: only the syntax; loop, Task and selector are
the same.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE
from time import monotonic
from typing import Any, TypeVar

from crawlers import generators
from crawlers.generators import (
    Cancelled,
    Shared,
    Slot,
    Task,
    disconnect,
    end,
    finish,
    notice,
    run,
    wake,
)
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job, Origin
from crawlers.loop import Loop
from crawlers.recorder import Recorder
from crawlers.sockets import begin_connect, encrypt, end_connect, shake_hands, wanted_event

T = TypeVar("T")


class Future(generators.Future[T]):
    """A result that is not there yet; ``await`` it to wait."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, T]:
        if not self.done:
            yield self
        return self.result()


def make_task(loop: Loop, coroutine: Coroutine[Any, None, T]) -> Task[T]:
    """Run a coroutine in a Task of ``generators``, which takes the result of ``__await__``."""
    # A Task needs something to resume, like a generator. The wrapper that makes
    # it from a coroutine is in C and passes each turn straight through.
    return Task(loop, coroutine.__await__())


async def sleep_until(loop: Loop, when: float) -> None:
    """Wait for a time on the monotonic clock."""
    timer = Future[None](loop)
    loop.call_at(when, lambda: timer.resolve(None))
    await timer


def socket_ready(slot: Slot) -> Future[None]:
    """Resolved when the socket is ready to read or to write, as registered."""
    ready: Future[None] = Future(slot.loop)
    slot.ready = ready
    return ready


async def connect(slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the coroutine is suspended until it is open."""
    disconnect(slot)
    slot.sock = begin_connect(item.address)
    slot.origin = item.origin
    slot.loop.selector.register(slot.sock, EVENT_WRITE, partial(notice, slot))
    await socket_ready(slot)
    end_connect(slot.sock)
    slot.loop.selector.modify(slot.sock, EVENT_READ, partial(notice, slot))
    if item.origin.tls is not None:
        await secure(slot, item.origin)


async def secure(slot: Slot, origin: Origin) -> None:
    """Encrypt the slot's connection; the coroutine is suspended during the handshake."""
    slot.sock = encrypt(slot.sock, origin)
    while True:
        try:
            return shake_hands(slot.sock)
        except OSError as error:
            await wanted(slot, error)


async def wanted(slot: Slot, error: OSError) -> None:
    """Wait until the socket is ready for TLS; raises any other error.

    To read, TLS may have to write first, and the other way round.
    """
    event = wanted_event(slot.origin, error)
    if event is None:
        raise error
    slot.loop.selector.modify(slot.sock, event, partial(notice, slot))
    await socket_ready(slot)
    slot.loop.selector.modify(slot.sock, EVENT_READ, partial(notice, slot))


async def send(slot: Slot, data: bytes) -> None:
    """Send all of the request; wait for room if there is too little."""
    while True:
        try:
            sent = slot.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            await wanted(slot, error)
            continue
        if sent == len(data):
            return
        data = data[sent:]
        slot.loop.selector.modify(slot.sock, EVENT_WRITE, partial(notice, slot))
        await socket_ready(slot)
        slot.loop.selector.modify(slot.sock, EVENT_READ, partial(notice, slot))


async def receive(slot: Slot) -> bytes:
    """Wait for bytes, or the end of them."""
    await socket_ready(slot)
    while True:
        try:
            return slot.sock.recv(RECV_SIZE)
        except BlockingIOError:
            await socket_ready(slot)  # a loop, or the kernel, may say ready too early
        except OSError as error:
            await wanted(slot, error)


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, receive until it is done."""
    exchange = Exchange(item, shared.job.max_body)
    try:
        if item.due:
            await sleep_until(shared.loop, item.due)
        slot.started = monotonic()
        if slot.origin is item.origin:
            exchange.reused = True
        else:
            await connect(slot, item)
        await send(slot, exchange.request)
        while not exchange.done:
            data = await receive(slot)
            exchange.feed(data)
    except OSError as error:
        exchange.fail(error)
    except Cancelled as error:
        exchange.abort(error.kind)
    return exchange


async def take(shared: Shared, slot: Slot) -> Fetch | None:
    """The next fetch, suspended until there is one; None when the crawl is over."""
    while (item := shared.frontier.take()) is None:
        if shared.frontier.finished:
            wake(shared, len(shared.idle))
            disconnect(slot)
            return None
        idle = Future[None](shared.loop)
        shared.idle.append(idle)
        await idle
    slot.deadline = max(monotonic(), item.due) + shared.job.timeout_s
    return item


async def work(shared: Shared, slot: Slot) -> None:
    """The life of a slot: take, fetch, finish, until nothing is left."""
    try:
        while item := await take(shared, slot):
            exchange = await fetch(shared, slot, item)
            finish(shared, slot, item, exchange)
    except BaseException:
        # If a task failed silently, the others would wait for its outcome.
        end(shared, "failed")
        raise


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, on the hand-built loop."""
    shared = Shared(job, recorder, Loop())
    return run("native_coroutines", shared, lambda slot: make_task(shared.loop, work(shared, slot)))
