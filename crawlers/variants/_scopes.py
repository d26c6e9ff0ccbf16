"""Shared by trio and anyio: the life of a slot whose exchanges a cancel scope ends.

asyncio cancels a task and lets it go on; here a slot has a cancel scope, and another one when the
sweep has cancelled that. So an exchange that comes in time costs no scope.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from time import monotonic
from types import ModuleType
from typing import Any, TypeAlias

from crawlers.http import Exchange
from crawlers.job import Fetch, Job
from crawlers.recorder import Recorder
from crawlers.stop import Stop
from crawlers.variants import _slots
from crawlers.variants._slots import disconnect, end, finish, overdue, taken

Fetcher: TypeAlias = Callable[[Any, Any, Fetch], Awaitable[Exchange]]


class Slot(_slots.Slot):
    """At most one connection, at most one exchange in flight: ``item`` and ``exchange``."""

    __slots__ = ("exchange", "item")

    item: Fetch
    exchange: Exchange


class Shared(_slots.Shared):
    """The state that the slots of one crawl share.

    ``library`` has the cancel scopes and the clock, ``open_group`` makes its group of tasks, and
    ``fetch`` is the variant's.
    """

    slot_type: type[Slot] = Slot
    library: ModuleType
    open_group: Callable[[], Any]
    idle: Any

    def __init__(self, job: Job, recorder: Recorder, fetch: Fetcher) -> None:
        super().__init__(job, recorder)
        self.slots: list[Any] = [self.slot_type(number) for number in range(job.slots)]
        self.new_scope: Callable[[], AbstractContextManager[Any]] = self.library.CancelScope
        self.closing: list[Any] = []
        self.fetch = fetch

    @abstractmethod
    async def wait(self) -> None:
        """Be idle until :meth:`wake`."""

    async def flush(self) -> None:
        """Close the connections that were given up, if they must be awaited for that."""


async def take(shared: Shared, slot: Slot) -> Fetch | None:
    """The next fetch, suspended until there is one; None when the crawl is over."""
    if shared.closing:
        await shared.flush()
    while (item := shared.frontier.take()) is None:
        if shared.frontier.finished:
            shared.wake(len(shared.idle))
            disconnect(slot)
            await shared.flush()
            return None
        slot.waited = True
        await shared.wait()
    return taken(shared, slot, item)


async def work(shared: Shared, slot: Slot) -> None:
    """The life of a slot: take, fetch, finish, until nothing is left."""
    try:
        over = False
        while not over:
            with shared.new_scope() as slot.scope:
                over = await work_until_cancelled(shared, slot)
            if slot.scope.cancelled_caught:
                slot.exchange.abort(slot.aborted or "cancelled")
                finish(shared, slot, slot.item, slot.exchange)
    except Exception as error:
        # If a task failed silently, the others would wait for its outcome.
        shared.failure = error
        end(shared, "failed")


async def work_until_cancelled(shared: Shared, slot: Slot) -> bool:
    """Take, fetch, finish, in a scope that the sweep may cancel; whether nothing is left."""
    while not slot.scope.cancel_called:
        item = await take(shared, slot)
        if item is None:
            return True
        slot.item = item
        exchange = await shared.fetch(shared, slot, item)
        finish(shared, slot, item, exchange)
    return False  # cancelled, but too late to stop the exchange


async def watch(shared: Shared, stop: Stop) -> None:
    """Cancel the exchanges that ran out of time, at every tick."""
    while True:
        for slot in overdue(shared, stop):
            slot.scope.cancel()
        await shared.library.sleep(stop.tick_s)


async def run(shared: Shared, stop: Stop) -> None:
    """Run one task for each slot, until all are done; raises what ended one of them."""
    try:
        shared.frontier.start(monotonic())
        async with shared.open_group() as keeper:
            async with shared.open_group() as group:
                for slot in shared.slots:
                    group.start_soon(work, shared, slot)
                keeper.start_soon(watch, shared, stop)
            keeper.cancel_scope.cancel()
    finally:
        for slot in shared.slots:
            disconnect(slot)
        await shared.flush()
    if shared.failure is not None:
        raise shared.failure
