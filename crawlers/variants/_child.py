"""The other side of ``processes``: what runs in each process (or subinterpreter).

The slots are those of ``callbacks``. :class:`Child` stands in for their frontier
and their recorder, and passes everything on to the parent.
"""

from __future__ import annotations

import resource
import signal
import socket
from collections import deque
from copy import copy
from time import monotonic

from crawlers import callbacks, heap, http
from crawlers.job import Fetch, Job, Origin, PageResult
from crawlers.loop import Loop
from crawlers.origins import make_origin
from crawlers.stop import Stop
from crawlers.variants._channel import Channel, Order, Outcome, Ready


class Child:
    """A process's share of the slots."""

    job: Job
    slots: callbacks.Shared

    def __init__(self, loop: Loop, sock: socket.socket) -> None:
        self.loop = loop
        self.channel = Channel(loop, sock, self.received)
        self.waiting: deque[Fetch] = deque()
        self.numbers: dict[Fetch, int] = {}
        self.origins: dict[str, Origin] = {}
        self.outcomes: list[Outcome] = []
        self.times: tuple[int, float, float, float] | None = None
        self.stopped: str | None = None
        self.finished = False

    def received(self, message: Job | list[Order] | str | None) -> None:
        """The job comes first, then orders, until the parent closes the socket."""
        if message is None:
            self.loop.stop()
        elif isinstance(message, Job):
            self.begin(message)
        elif isinstance(message, list):
            for order in message:
                self.order(order)
            callbacks.wake(self.slots, len(message))
        else:
            self.stop(message)

    def begin(self, job: Job) -> None:
        """Make the slots, all of them idle, and report that they are ready."""
        self.job = job
        if job.work is not None:
            from crawlers import work

            work.begin(job)
        self.slots = callbacks.Shared(job, self, self.loop)
        self.slots.frontier = self  # type: ignore[assignment]
        self.slots.idle = list(self.slots.slots)
        callbacks.watch(self.slots, Stop(job))
        # Of this thread only: a subinterpreter shares its process with others.
        spent = resource.getrusage(resource.RUSAGE_THREAD)
        self.channel.send(Ready(spent.ru_utime, spent.ru_stime, http.PARSER))

    def order(self, order: Order) -> None:
        """Take an order."""
        if order.prefix not in self.origins:
            self.origins[order.prefix] = make_origin(order.prefix, self.job)
        origin = self.origins[order.prefix]
        if order.address is not None:
            origin.addresses[:] = [order.address]
        if order.again:  # no slot is connected to a copy: see Frontier._delay
            origin = copy(origin)
        item = Fetch(order.url, origin, order.url[len(order.prefix) :])
        item.robots = order.robots
        item.due, item.intended = order.due, order.intended
        self.numbers[item] = order.number
        self.waiting.append(item)

    def flush(self) -> None:
        """Send the outcomes of this turn of the loop."""
        outcomes, self.outcomes = self.outcomes, []
        self.channel.send(outcomes)

    # The rest is what a slot expects of a frontier and of a recorder.

    @property
    def ready(self) -> int:
        """How many fetches could be taken now."""
        return len(self.waiting)

    def take(self) -> Fetch | None:
        """The next fetch, or None when there is none now."""
        return self.waiting.popleft() if self.waiting else None

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Keep the times until the outcome follows."""
        self.times = slot, due, started, ended

    def settle(self, item: Fetch, page: PageResult, now: float) -> None:
        """Keep an outcome for the parent."""
        times, self.times = self.times, None
        if not self.outcomes:
            self.loop.call_soon(self.flush)
        connected = item.place is not None
        self.outcomes.append(Outcome(self.numbers.pop(item), page, times, now, connected))

    def stop(self, reason: str) -> None:
        """Cancel the exchanges in flight and the fetches that wait."""
        self.stopped = reason
        while item := self.take():
            page = PageResult(None, 0, 0)
            page.error = "cancelled"
            self.settle(item, page, monotonic())
        for slot in self.slots.slots:
            slot.abort("cancelled")


def main(descriptor: int) -> None:
    """Run a process, on the socket that it inherited."""
    # Ctrl-C at a terminal reaches the children too; the parent decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    heap.settle()
    with socket.socket(fileno=descriptor) as sock:
        serve(sock)


def serve(sock: socket.socket) -> None:
    """Take orders over this socket until it is closed."""
    loop = Loop()
    try:
        Child(loop, sock)
        loop.run()
    finally:
        loop.close()
