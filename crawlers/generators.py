"""Generators: the loop resumes a suspended function exactly where it stopped.

What waits: a generator, suspended in ``yield from`` on a Future that a callback
will resolve. What switches: a Task, which resumes the generator; inside,
``yield from`` makes a whole stack of generators act like one. What a connection
costs: a few suspended frames. The functions below read like those of
``threads``, with ``yield from`` wherever they wait.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator
from functools import partial
from math import inf
from selectors import EVENT_READ, EVENT_WRITE, BaseSelector, DefaultSelector
from time import monotonic
from typing import Any, Generic, TypeVar

from crawlers.frontier import Frontier
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job, Origin
from crawlers.loop import Callback, Loop
from crawlers.page import read_page
from crawlers.recorder import Recorder
from crawlers.sockets import (
    begin_connect,
    encrypt,
    end_connect,
    hang_up,
    shake_hands,
    unasked,
    wanted_event,
)
from crawlers.stop import Stop

T = TypeVar("T")
Coroutine = Generator["Future[Any]", None, T]


class Shared:
    """The state that the slots of one crawl share."""

    def __init__(self, job: Job, recorder: Recorder, loop: Loop) -> None:
        self.job = job
        self.recorder = recorder
        self.frontier = Frontier(job)
        self.slots = [Slot(number, loop) for number in range(job.slots)]
        self.loop = loop
        self.idle: list[Future[None]] = []


class Slot:
    """At most one connection, at most one exchange in flight.

    ``origin`` is the server of the open connection ``sock``, None without one.
    ``started`` is the time at which the exchange in flight began, inf without one.
    ``deadline`` is the time at which it times out.
    ``ready`` is the Future on which the slot's task waits for the socket.
    """

    __slots__ = ("deadline", "loop", "number", "origin", "ready", "sock", "started", "task")

    sock: socket.socket
    task: Task[None]

    def __init__(self, number: int, loop: Loop) -> None:
        self.number = number
        self.origin: Origin | None = None
        self.started = self.deadline = inf
        self.loop = loop
        self.ready: Future[None] | None = None


class Cancelled(Exception):
    """Is thrown into a coroutine to end its wait; ``kind`` is the error kind to report."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Future(Generic[T]):
    """A result that is not there yet; ``yield from`` it to wait."""

    __slots__ = ("_callbacks", "_error", "_loop", "_result", "done")

    _result: T

    def __init__(self, loop: Loop) -> None:
        self.done = False
        self._loop = loop
        self._error: BaseException | None = None
        self._callbacks: list[Callback] = []

    def __iter__(self) -> Coroutine[T]:
        if not self.done:
            yield self
        return self.result()

    def result(self) -> T:
        """The result; raises the error instead if there is one."""
        if self._error is not None:
            raise self._error
        return self._result

    def add_done_callback(self, callback: Callback) -> None:
        """Call the function soon after the future is done."""
        if self.done:
            self._loop.call_soon(callback)
        else:
            self._callbacks.append(callback)

    def remove_done_callback(self, callback: Callback) -> None:
        """Do not call the function after all."""
        self._callbacks.remove(callback)

    def resolve(self, result: T) -> None:
        """Set the result."""
        self._result = result
        self._call_back()

    def reject(self, error: BaseException) -> None:
        """Set an error instead of a result."""
        self._error = error
        self._call_back()

    def _call_back(self) -> None:
        self.done = True
        for callback in self._callbacks:
            self._loop.call_soon(callback)
        self._callbacks.clear()


class Task(Future[T]):
    """Runs a coroutine; it is also the Future of the coroutine's result."""

    __slots__ = ("_coroutine", "_thrown", "_waits_for")

    def __init__(self, loop: Loop, coroutine: Coroutine[T]) -> None:
        super().__init__(loop)
        self._coroutine = coroutine
        self._thrown: Cancelled | None = None
        self._waits_for: Future[Any] | None = None
        loop.call_soon(self._step)

    def cancel(self, kind: str) -> None:
        """Throw :class:`Cancelled` into the coroutine where it waits."""
        if self.done:
            return
        self._thrown = Cancelled(kind)
        if self._waits_for is not None and not self._waits_for.done:
            self._waits_for.remove_done_callback(self._step)
            self._loop.call_soon(self._step)

    def _step(self) -> None:
        """Run the coroutine up to its next wait."""
        thrown, self._thrown, self._waits_for = self._thrown, None, None
        try:
            future = self._coroutine.throw(thrown) if thrown else next(self._coroutine)
        except StopIteration as stop:
            self.resolve(stop.value)
        except Exception as error:
            self.reject(error)
        else:
            self._waits_for = future
            future.add_done_callback(self._step)


def gather(tasks: list[Task[None]]) -> Coroutine[None]:
    """Wait for all tasks; raises the error of the first that failed."""
    for task in tasks:
        yield from task


def run_until_complete(loop: Loop, coroutine: Coroutine[T]) -> T:
    """Run the loop until the coroutine has returned."""
    task = Task(loop, coroutine)
    task.add_done_callback(loop.stop)
    loop.run()
    return task.result()


def sleep_until(loop: Loop, when: float) -> Coroutine[None]:
    """Wait for a time on the monotonic clock."""
    timer = Future[None](loop)
    loop.call_at(when, lambda: timer.resolve(None))
    yield from timer


def socket_ready(slot: Slot) -> Future[None]:
    """Resolved when the socket is ready to read or to write, as registered."""
    slot.ready = Future(slot.loop)
    return slot.ready


def notice(slot: Slot) -> None:
    """The socket is ready: resolve the Future on which the slot waits."""
    ready, slot.ready = slot.ready, None
    if ready is not None:
        ready.resolve(None)
    elif slot.started == inf and unasked(slot.sock):
        disconnect(slot)  # we asked for nothing


def connect(slot: Slot, item: Fetch) -> Coroutine[None]:
    """Open the slot's connection; the coroutine is suspended until it is open."""
    disconnect(slot)
    slot.sock = begin_connect(item.address)
    slot.origin = item.origin
    slot.loop.selector.register(slot.sock, EVENT_WRITE, partial(notice, slot))
    yield from socket_ready(slot)
    end_connect(slot.sock)
    slot.loop.selector.modify(slot.sock, EVENT_READ, partial(notice, slot))
    if item.origin.tls is not None:
        yield from secure(slot, item.origin)


def secure(slot: Slot, origin: Origin) -> Coroutine[None]:
    """Encrypt the slot's connection; the coroutine is suspended during the handshake."""
    slot.sock = encrypt(slot.sock, origin)
    while True:
        try:
            return shake_hands(slot.sock)
        except OSError as error:
            yield from wanted(slot, error)


def wanted(slot: Slot, error: OSError) -> Coroutine[None]:
    """Wait until the socket is ready for TLS; raises any other error.

    To read, TLS may have to write first, and the other way round.
    """
    event = wanted_event(slot.origin, error)
    if event is None:
        raise error
    slot.loop.selector.modify(slot.sock, event, partial(notice, slot))
    yield from socket_ready(slot)
    slot.loop.selector.modify(slot.sock, EVENT_READ, partial(notice, slot))


def disconnect(slot: Slot) -> None:
    """Close the slot's connection, if it has one."""
    if slot.origin is not None:
        if slot.origin.tls is not None:
            hang_up(slot.sock)
        slot.origin = None
        slot.loop.selector.unregister(slot.sock)
        slot.sock.close()


def send(slot: Slot, data: bytes) -> Coroutine[None]:
    """Send all of the request; wait for room if there is too little."""
    while True:
        try:
            sent = slot.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            yield from wanted(slot, error)
            continue
        if sent == len(data):
            return
        data = data[sent:]
        slot.loop.selector.modify(slot.sock, EVENT_WRITE, partial(notice, slot))
        yield from socket_ready(slot)
        slot.loop.selector.modify(slot.sock, EVENT_READ, partial(notice, slot))


def receive(slot: Slot) -> Coroutine[bytes]:
    """Wait for bytes, or the end of them."""
    yield from socket_ready(slot)
    while True:
        try:
            return slot.sock.recv(RECV_SIZE)
        except BlockingIOError:
            yield from socket_ready(slot)  # a loop, or the kernel, may say ready too early
        except OSError as error:
            yield from wanted(slot, error)


def fetch(shared: Shared, slot: Slot, item: Fetch) -> Coroutine[Exchange]:
    """One exchange: connect if needed, send, receive until it is done."""
    exchange = Exchange(item, shared.job.max_body)
    try:
        if item.due:
            yield from sleep_until(shared.loop, item.due)
        slot.started = monotonic()
        if slot.origin is item.origin:
            exchange.reused = True
        else:
            yield from connect(slot, item)
        yield from send(slot, exchange.request)
        while not exchange.done:
            data = yield from receive(slot)
            exchange.feed(data)
    except OSError as error:
        exchange.fail(error)
    except Cancelled as error:
        exchange.abort(error.kind)
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


def take(shared: Shared, slot: Slot) -> Coroutine[Fetch | None]:
    """The next fetch, suspended until there is one; None when the crawl is over."""
    while (item := shared.frontier.take()) is None:
        if shared.frontier.finished:
            wake(shared, len(shared.idle))
            disconnect(slot)
            return None
        idle = Future[None](shared.loop)
        shared.idle.append(idle)
        yield from idle
    slot.deadline = max(monotonic(), item.due) + shared.job.timeout_s
    return item


def work(shared: Shared, slot: Slot) -> Coroutine[None]:
    """The life of a slot: take, fetch, finish, until nothing is left."""
    try:
        while item := (yield from take(shared, slot)):
            exchange = yield from fetch(shared, slot, item)
            finish(shared, slot, item, exchange)
    except BaseException:
        # If a task failed silently, the others would wait for its outcome.
        end(shared, "failed")
        raise


def wake(shared: Shared, count: int) -> None:
    """Let up to ``count`` idle slots look for work again."""
    while shared.idle and count > 0:
        shared.idle.pop().resolve(None)
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
            slot.task.cancel("cancelled" if shared.frontier.stopped else "timeout")
    shared.loop.call_at(now + stop.tick_s, partial(watch, shared, stop))


def run(name: str, shared: Shared, start: Callable[[Slot], Task[None]]) -> CrawlReport:
    """Run one task for each slot, until all are done."""
    loop = shared.loop
    try:
        with Stop(shared.job) as stop:
            shared.frontier.start(monotonic())
            for slot in shared.slots:
                slot.task = start(slot)
            watch(shared, stop)
            run_until_complete(loop, gather([slot.task for slot in shared.slots]))
    finally:
        for slot in shared.slots:
            disconnect(slot)
        loop.close()
    return shared.frontier.report(name, {"selector": type(loop.selector).__name__})


def crawl(
    job: Job, recorder: Recorder, *, selector_class: type[BaseSelector] = DefaultSelector
) -> CrawlReport:
    """Crawl with one task for each slot, on one loop."""
    shared = Shared(job, recorder, Loop(selector_class))
    return run("generators", shared, lambda slot: Task(shared.loop, work(shared, slot)))
