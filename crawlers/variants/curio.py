"""curio: a small kernel that showed how a library can do without callbacks.

What waits: a coroutine, suspended in a trap of curio's kernel. What switches:
the kernel, one loop in Python. What a connection costs: the suspended frames,
curio's Task and the socket's wrapper. Changed against ``trio``: the library;
the steps on the sockets are the same. curio cancels a task, not a scope, and
both cancelling and closing must be awaited.

curio 1.6, the last release, does not import on Python 3.12 and later.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from time import monotonic
from typing import Any

from crawlers.backend import BackendError

if sys.version_info >= (3, 12):  # the extra has none there, so it is no use to install that
    raise BackendError(
        "backend curio needs Python 3.11 or earlier, for curio 1.6, its last release; "
        f"this is {sys.version_info.major}.{sys.version_info.minor}"
    )
if find_spec("curio") is None:
    raise BackendError(
        "backend curio needs curio 1.6, which has an extra of its own, because it has no wheel: "
        "pip install 'c10k-crawlers[curio]'"
    )

import curio  # type: ignore[import-untyped, import-not-found, unused-ignore]
from curio.io import Socket  # type: ignore[import-untyped, import-not-found, unused-ignore]
from curio.sched import SchedFIFO  # type: ignore[import-untyped, import-not-found, unused-ignore]
from curio.ssl import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
    CurioSSLContext,
)

from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job, Origin
from crawlers.recorder import Recorder
from crawlers.sockets import new_socket, unasked
from crawlers.stop import Stop
from crawlers.tls import handshaking
from crawlers.variants import _slots
from crawlers.variants._slots import Connection, Slot, disconnect, end, finish, overdue, taken


class Shared(_slots.Shared):
    """The state that the slots of one crawl share."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.idle = SchedFIFO()
        self.closing: list[Any] = []
        self.woken = 0

    def wake(self, count: int) -> None:
        """Let up to ``count`` idle slots look for work again; ``flush`` does it."""
        self.woken = max(self.woken, count)

    async def flush(self) -> None:
        """Close and wake; curio wants both awaited, so they were only noted until now."""
        while self.closing:
            await self.closing.pop().close()
        count, self.woken = min(self.woken, len(self.idle)), 0
        if count > 0:
            await self.idle.wake(count)


async def connect(shared: Shared, slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the coroutine is suspended until it is open."""
    disconnect(slot)
    await shared.flush()
    slot.sock = Connection(shared.closing, Socket(new_socket(item.address)))
    slot.origin = item.origin
    await slot.sock.stream.connect(item.address.sockaddr)
    if item.origin.tls is not None:
        await secure(slot, item.origin)


async def secure(slot: Slot, origin: Origin) -> None:
    """The handshake of TLS; afterwards, an end without close_notify is an error."""
    slot.sock.stream = await CurioSSLContext(origin.tls).wrap_socket(
        slot.sock.stream,
        server_hostname=origin.host,
        suppress_ragged_eofs=False,
        do_handshake_on_connect=False,
    )
    with handshaking():
        await slot.sock.stream.do_handshake()


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, receive until it is done."""
    exchange = Exchange(item, shared.job.max_body)
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await curio.sleep(max(item.due - monotonic(), 0.0))
        slot.started = monotonic()
        if slot.origin is item.origin and not (
            (slot.waited or item.due) and unasked(slot.sock.stream)
        ):
            exchange.reused = True
        else:
            await connect(shared, slot, item)
        await slot.sock.stream.sendall(exchange.request)
        while not exchange.done:
            data = await slot.sock.stream.recv(RECV_SIZE)
            exchange.feed(data)
    except Exception as error:
        exchange.fail(error)
    except curio.CancelledError:
        if slot.aborted is None:
            raise
        exchange.abort(slot.aborted)
    if slot.aborted is not None:
        # curio cancels a task only once, and for good. This task goes on.
        slot.scope.cancelled = False
        slot.scope.cancel_pending = None
    return exchange


async def take(shared: Shared, slot: Slot) -> Fetch | None:
    """The next fetch, suspended until there is one; None when the crawl is over."""
    while (item := shared.frontier.take()) is None:
        if shared.frontier.finished:
            shared.wake(len(shared.idle))
            disconnect(slot)
            await shared.flush()
            return None
        slot.waited = True
        await shared.idle.suspend("CRAWL_IDLE")
    return taken(shared, slot, item)


async def work(shared: Shared, slot: Slot) -> None:
    """The life of a slot: take, fetch, finish, until nothing is left."""
    try:
        while item := await take(shared, slot):
            exchange = await fetch(shared, slot, item)
            finish(shared, slot, item, exchange)
            await shared.flush()
    except Exception as error:
        # If a task failed silently, the others would wait for its outcome.
        shared.failure = error
        end(shared, "failed")
        await shared.flush()


async def watch(shared: Shared, stop: Stop) -> None:
    """Cancel the exchanges that ran out of time, at every tick."""
    while True:
        for slot in overdue(shared, stop):
            await slot.scope.cancel(blocking=False)
        await shared.flush()
        await curio.sleep(stop.tick_s)


async def main(job: Job, recorder: Recorder, stop: Stop) -> CrawlReport:
    """Run one task for each slot, until all are done."""
    shared = Shared(job, recorder)
    try:
        shared.frontier.start(monotonic())
        async with curio.TaskGroup() as group:
            for slot in shared.slots:
                slot.scope = await group.spawn(work, shared, slot)
            keeper = await curio.spawn(watch, shared, stop, daemon=True)
        await keeper.cancel()
    finally:
        for slot in shared.slots:
            disconnect(slot)
        await shared.flush()
    if shared.failure is not None:
        raise shared.failure
    return shared.frontier.report("curio", {"loop": f"curio {curio.__version__}"})


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, on curio's kernel."""
    with Stop(job) as stop:
        report: CrawlReport = curio.run(main, job, recorder, stop)
    return report
