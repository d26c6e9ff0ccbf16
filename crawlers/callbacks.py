"""Callbacks: one thread, and a loop that calls a function when a socket is ready.

What waits: only the loop, in ``select``; a slot keeps its place in its own
attributes. What switches: the loop, which calls the method that a slot left with
it. What a connection costs: the slot and its entry in the selector. The reader
pays for this: no function shows one fetch from beginning to end, and the
traceback of an error begins at the loop.
"""

from __future__ import annotations

import socket
from functools import partial
from math import inf
from selectors import EVENT_READ, EVENT_WRITE, BaseSelector, DefaultSelector
from time import monotonic

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
    wanted_event,
)
from crawlers.stop import Stop


class Shared:
    """The state that the slots of one crawl share."""

    def __init__(self, job: Job, recorder: Recorder, loop: Loop) -> None:
        self.job = job
        self.recorder = recorder
        self.frontier = Frontier(job)
        self.slots = [Slot(number, self) for number in range(job.slots)]
        self.loop = loop
        self.idle: list[Slot] = []
        self.working = job.slots


class Slot:
    """At most one connection, at most one exchange in flight: the fetcher object.

    ``origin`` is the server of the open connection ``sock``, None without one.
    ``started`` is the time at which the exchange in flight began, inf without one.
    ``deadline`` is the time at which it times out.
    Each method takes one step and leaves the next one with the loop.
    """

    __slots__ = (
        "deadline", "exchange", "item", "number", "origin", "sent", "shared", "sock", "started",
    )  # fmt: skip

    sock: socket.socket
    item: Fetch
    exchange: Exchange

    def __init__(self, number: int, shared: Shared) -> None:
        self.number = number
        self.origin: Origin | None = None
        self.started = self.deadline = inf
        self.shared = shared
        self.sent = 0

    def connect(self) -> None:
        """Begin to open the connection; the loop calls ``connected`` when it is open."""
        self.disconnect()
        self.sock = begin_connect(self.item.address)
        self.origin = self.item.origin
        self.shared.loop.selector.register(self.sock, EVENT_WRITE, self.connected)

    def connected(self) -> None:
        """The connection is open, or it failed."""
        try:
            end_connect(self.sock)
        except OSError as error:
            self.fail(error)
        else:
            self.shared.loop.selector.modify(self.sock, EVENT_READ, self.receive)
            if self.item.origin.tls is None:
                self.send()
            else:
                self.secure()

    def secure(self) -> None:
        """Encrypt the connection; the handshake begins here and ends in ``shake_hands``."""
        try:
            self.sock = encrypt(self.sock, self.item.origin)
        except OSError as error:
            self.fail(error)
        else:
            self.shake_hands()

    def shake_hands(self) -> None:
        """Go on with the handshake; send the request when it is done."""
        try:
            shake_hands(self.sock)
        except OSError as error:
            self.wait(error, self.shake_hands)
        else:
            self.send()

    def wait(self, error: OSError, step: Callback) -> None:
        """Take a step again when the socket is ready for TLS; any other error is a failure.

        To read, TLS may have to write first, and the other way round.
        """
        event = wanted_event(self.origin, error)
        if event is None:
            self.fail(error)
        else:
            self.shared.loop.selector.modify(self.sock, event, partial(self.resume, step))

    def resume(self, step: Callback) -> None:
        """The socket is ready as TLS wanted it."""
        self.shared.loop.selector.modify(self.sock, EVENT_READ, self.receive)
        step()

    def disconnect(self) -> None:
        """Close the connection, if there is one."""
        if self.origin is not None:
            if self.origin.tls is not None:
                hang_up(self.sock)
            self.origin = None
            self.shared.loop.selector.unregister(self.sock)
            self.sock.close()

    def fetch(self) -> None:
        """Begin an exchange: connect if needed; sending and receiving come later."""
        if self.exchange.done:
            return
        self.started = monotonic()
        try:
            if self.origin is self.item.origin:
                self.exchange.reused = True
                self.send()
            else:
                self.connect()
        except OSError as error:
            self.fail(error)

    def send(self) -> None:
        """Send the request; the part that does not fit follows when there is room."""
        try:
            self.sent = self.sock.send(self.exchange.request)
        except BlockingIOError:
            self.sent = 0
        except OSError as error:
            self.wait(error, self.send)
            return
        if self.sent < len(self.exchange.request):
            self.shared.loop.selector.modify(self.sock, EVENT_WRITE, self.send_rest)

    def send_rest(self) -> None:
        """There is room: send more of the request."""
        try:
            self.sent += self.sock.send(self.exchange.request[self.sent :])
        except OSError as error:
            self.fail(error)
            return
        if self.sent == len(self.exchange.request):
            self.shared.loop.selector.modify(self.sock, EVENT_READ, self.receive)

    def receive(self) -> None:
        """Receive bytes, or the end of them; finish when the exchange is done."""
        try:
            data = self.sock.recv(RECV_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            self.wait(error, self.receive)
            return
        if self.started == inf:
            self.disconnect()  # we asked for nothing
            return
        self.exchange.feed(data)
        if self.exchange.done:
            self.finish()

    def fail(self, error: OSError) -> None:
        """The connection failed, and so did its exchange, if there is one."""
        self.disconnect()
        if self.started != inf:
            self.exchange.fail(error)
            # Through the loop, so that fetches that fail at once do not nest.
            self.shared.loop.call_soon(self.finish)

    def abort(self, kind: str) -> None:
        """The exchange timed out, or the crawl is stopped."""
        if self.deadline != inf and not self.exchange.done:
            self.exchange.abort(kind)
            self.finish()

    def finish(self) -> None:
        """Give the outcome to the frontier; wake as many other slots as there is work for."""
        ended = monotonic()
        shared, item, exchange = self.shared, self.item, self.exchange
        page = read_page(item, exchange, shared.job.follow)
        if exchange.error is None:
            shared.recorder.record(self.number, item.intended, self.started, ended)
        self.deadline = self.started = inf
        if not exchange.keep_alive:
            self.disconnect()
        shared.frontier.settle(item, page, ended)
        wake(shared, shared.frontier.ready - 1)
        self.take()

    def take(self) -> None:
        """Begin the next fetch; become idle if there is none, close if the crawl is over."""
        shared = self.shared
        item = shared.frontier.take()
        if item is not None:
            self.item = item
            self.exchange = Exchange(item, shared.job.max_body)
            self.deadline = max(monotonic(), item.due) + shared.job.timeout_s
            if item.due:
                shared.loop.call_at(item.due, self.fetch)
            else:
                self.fetch()
        elif not shared.frontier.finished:
            shared.idle.append(self)
        else:
            self.disconnect()
            wake(shared, len(shared.idle))
            shared.working -= 1
            if not shared.working:
                shared.loop.stop()


def wake(shared: Shared, count: int) -> None:
    """Let up to ``count`` idle slots look for work again."""
    while shared.idle and count > 0:
        shared.loop.call_soon(shared.idle.pop().take)
        count -= 1


def end(shared: Shared, reason: str) -> None:
    """Take no more fetches; let the exchanges in flight end."""
    shared.frontier.stop(reason)
    wake(shared, len(shared.idle))


def watch(shared: Shared, stop: Stop) -> None:
    """Abort the exchanges that ran out of time; called at every tick."""
    now = monotonic()
    if reason := stop.reason(now):
        end(shared, reason)
    for slot in shared.slots:
        if now > slot.deadline or shared.frontier.stopped:
            slot.abort("cancelled" if shared.frontier.stopped else "timeout")
    shared.loop.call_at(now + stop.tick_s, partial(watch, shared, stop))


def crawl(
    job: Job, recorder: Recorder, *, selector_class: type[BaseSelector] = DefaultSelector
) -> CrawlReport:
    """Crawl with one fetcher object for each slot, on one loop."""
    loop = Loop(selector_class)
    shared = Shared(job, recorder, loop)
    try:
        with Stop(job) as stop:
            shared.frontier.start(monotonic())
            for slot in shared.slots:
                loop.call_soon(slot.take)
            watch(shared, stop)
            loop.run()
    finally:
        for slot in shared.slots:
            slot.disconnect()
        loop.close()
    return shared.frontier.report("callbacks", {"selector": selector_class.__name__})
