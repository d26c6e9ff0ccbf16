"""Shared by the variants whose tasks are not asyncio's (trio, anyio, twisted).

They cannot use asyncio's futures, so they bring their own ``fetch``, ``take``,
``work`` and ``watch``, and a way to ``wake`` idle slots. The bookkeeping is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from time import monotonic
from typing import Any

from crawlers.frontier import Frontier
from crawlers.http import Exchange
from crawlers.job import Fetch, Job, Origin
from crawlers.page import read_page
from crawlers.recorder import Recorder
from crawlers.stop import Stop


class Slot:
    """At most one connection, at most one exchange in flight.

    ``origin`` is the server of the open connection ``sock``, None without one.
    ``deadline`` is the time at which the exchange in flight times out, and
    ``scope`` is cancelled then. ``sock`` and ``scope`` are the library's own.
    """

    __slots__ = ("aborted", "deadline", "number", "origin", "scope", "sock", "started", "waited")

    sock: Any
    scope: Any

    def __init__(self, number: int) -> None:
        self.number = number
        self.origin: Origin | None = None
        self.started = 0.0
        self.deadline = inf
        self.aborted: str | None = None
        self.waited = False  # for something to fetch


class Shared(ABC):
    """The state that the slots of one crawl share."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        self.job = job
        self.recorder = recorder
        self.frontier = Frontier(job)
        self.slots = [Slot(number) for number in range(job.slots)]
        self.failure: Exception | None = None

    @abstractmethod
    def wake(self, count: int) -> None:
        """Let up to ``count`` idle slots look for work again."""


def disconnect(slot: Slot) -> None:
    """Close the slot's connection, if it has one."""
    if slot.origin is not None:
        slot.origin = None
        slot.sock.close()


def finish(shared: Shared, slot: Slot, item: Fetch, exchange: Exchange) -> None:
    """Give the outcome to the frontier; wake as many other slots as there is work for."""
    ended = monotonic()
    page = read_page(item, exchange, shared.job.follow)
    slot.deadline = inf
    slot.waited = False
    if not exchange.keep_alive:
        disconnect(slot)
    if exchange.error is None:
        shared.recorder.record(slot.number, item.intended, slot.started, ended)
    shared.frontier.settle(item, page, ended)
    shared.wake(shared.frontier.ready - 1)


def taken(shared: Shared, slot: Slot, item: Fetch) -> Fetch:
    """Set the slot's deadline for the fetch that it took."""
    slot.aborted = None
    slot.deadline = max(monotonic(), item.due) + shared.job.timeout_s
    return item


def end(shared: Shared, reason: str) -> None:
    """Take no more fetches; let the exchanges in flight end."""
    shared.frontier.stop(reason)
    shared.wake(len(shared.slots))


def overdue(shared: Shared, stop: Stop) -> list[Slot]:
    """The slots that ran out of time, with the reason set; ``watch`` cancels them."""
    now = monotonic()
    if reason := stop.reason(now):
        end(shared, reason)
    stopped = shared.frontier.stopped is not None
    late = [
        slot for slot in shared.slots if slot.deadline != inf and (now > slot.deadline or stopped)
    ]
    for slot in late:
        slot.aborted = slot.aborted or ("cancelled" if stopped else "timeout")
    return late


class Connection:
    """A connection that must be awaited to close it: its slot does that soon."""

    __slots__ = ("closing", "stream")

    def __init__(self, closing: list[Any], stream: Any) -> None:  # noqa: ANN401
        self.closing = closing
        self.stream = stream

    def close(self) -> None:
        """Close it soon."""
        self.closing.append(self.stream)
