"""Shared by trio and anyio: the life of a slot whose exchanges a cancel scope ends.

asyncio cancels a task and lets it go on; here a slot has a cancel scope, and another one when the
sweep has cancelled that. So an exchange that comes in time costs no scope.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from crawlers.http import Exchange
from crawlers.job import Fetch, Job
from crawlers.recorder import Recorder
from crawlers.variants import _slots
from crawlers.variants._slots import end, finish

Taker: TypeAlias = Callable[[Any, Any], Awaitable[Fetch | None]]
Fetcher: TypeAlias = Callable[[Any, Any, Fetch], Awaitable[Exchange]]


class Slot(_slots.Slot):
    """At most one connection, at most one exchange in flight: ``item`` and ``exchange``."""

    __slots__ = ("exchange", "item")

    item: Fetch
    exchange: Exchange


class Shared(_slots.Shared):
    """The state that the slots of one crawl share.

    ``new_scope`` is the library's cancel scope, ``take`` and ``fetch`` are the variant's.
    """

    slot_type: type[Slot] = Slot

    def __init__(
        self,
        job: Job,
        recorder: Recorder,
        new_scope: Callable[[], AbstractContextManager[Any]],
        take: Taker,
        fetch: Fetcher,
    ) -> None:
        super().__init__(job, recorder)
        self.slots: list[Any] = [self.slot_type(number) for number in range(job.slots)]
        self.new_scope, self.take, self.fetch = new_scope, take, fetch


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
        item = await shared.take(shared, slot)
        if item is None:
            return True
        slot.item = item
        exchange = await shared.fetch(shared, slot, item)
        finish(shared, slot, item, exchange)
    return False  # cancelled, but too late to stop the exchange
