"""trio: tasks that live in a nursery, and cancellation by scope.

What waits: a coroutine, suspended in ``await`` on a trap of trio's. What switches:
trio's run loop, written in Python, with a checkpoint in every call that may wait.
What a connection costs: the suspended frames, trio's Task and the socket's wrapper.
Changed against ``asyncio_sockets``: the library below ``await``; the steps on the
sockets are the same.
"""

from __future__ import annotations

from time import monotonic

import trio

from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.sockets import new_socket, unasked
from crawlers.stop import Stop
from crawlers.variants import _slots
from crawlers.variants._slots import Slot, disconnect, end, finish, overdue, taken


class Shared(_slots.Shared):
    """The state that the slots of one crawl share."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.idle = trio.lowlevel.ParkingLot()

    def wake(self, count: int) -> None:
        """Let up to ``count`` idle slots look for work again."""
        if count > 0:
            self.idle.unpark(count=count)


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
    exchange = Exchange(item, shared.job.max_body)
    try:
        with trio.CancelScope() as slot.scope:
            while item.due > monotonic():  # a loop's timer may be a little early
                await trio.sleep(max(item.due - monotonic(), 0.0))
            slot.started = monotonic()
            if slot.origin is item.origin and not unasked(slot.sock):
                exchange.reused = True
            else:
                await connect(slot, item)
            await send(slot, exchange.request)
            while not exchange.done:
                data = await slot.sock.recv(RECV_SIZE)
                exchange.feed(data)
    except Exception as error:
        exchange.fail(error)
    if not exchange.done:
        exchange.abort(slot.aborted or "cancelled")
    return exchange


async def take(shared: Shared, slot: Slot) -> Fetch | None:
    """The next fetch, suspended until there is one; None when the crawl is over."""
    while (item := shared.frontier.take()) is None:
        if shared.frontier.finished:
            shared.wake(len(shared.idle))
            disconnect(slot)
            return None
        await shared.idle.park()
    return taken(shared, slot, item)


async def work(shared: Shared, slot: Slot) -> None:
    """The life of a slot: take, fetch, finish, until nothing is left."""
    try:
        while item := await take(shared, slot):
            exchange = await fetch(shared, slot, item)
            finish(shared, slot, item, exchange)
    except Exception as error:
        # If a task failed silently, the others would wait for its outcome.
        shared.failure = error
        end(shared, "failed")


async def watch(shared: Shared, stop: Stop) -> None:
    """Cancel the exchanges that ran out of time, at every tick."""
    while True:
        for slot in overdue(shared, stop):
            slot.scope.cancel()
        await trio.sleep(stop.tick_s)


async def main(job: Job, recorder: Recorder, stop: Stop) -> CrawlReport:
    """Run one task for each slot, until all are done."""
    shared = Shared(job, recorder)
    try:
        shared.frontier.start(monotonic())
        async with trio.open_nursery() as keeper:
            async with trio.open_nursery() as nursery:
                for slot in shared.slots:
                    nursery.start_soon(work, shared, slot)
                keeper.start_soon(watch, shared, stop)
            keeper.cancel_scope.cancel()
    finally:
        for slot in shared.slots:
            disconnect(slot)
    if shared.failure is not None:
        raise shared.failure
    return shared.frontier.report("trio", {"loop": f"trio {trio.__version__}"})


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, on trio's loop."""
    with Stop(job) as stop:
        return trio.run(main, job, recorder, stop)
