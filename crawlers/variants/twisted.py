"""Twisted: the oldest event loop of Python, with Protocols and Deferreds.

What waits: a coroutine, suspended on a Deferred. What switches: the reactor, in
Python, which calls the connection's Protocol; that feeds the exchange and fires
the Deferred at its end. What a connection costs: transport, Protocol and
Deferred. Changed against ``asyncio_protocol``: the library.

Twisted reports a broken connection as "lost in a non-clean fashion" and drops the
socket's own error, so it counts as reset.
"""

from __future__ import annotations

import socket
from collections.abc import Coroutine
from errno import ECONNRESET
from time import monotonic
from typing import Any

import twisted
from twisted.internet import defer, error
from twisted.internet.endpoints import TCP4ClientEndpoint, TCP6ClientEndpoint, connectProtocol
from twisted.internet.epollreactor import EPollReactor
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.task import LoopingCall, deferLater
from twisted.python.failure import Failure

from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.stop import Stop
from crawlers.variants import _slots
from crawlers.variants._slots import Slot, disconnect, end, finish, overdue, taken

# Without an open log Twisted keeps the last 65,536 events, and the event of a
# factory's start keeps its connection and its reactor alive.
Factory.noisy = False


class Connection(Protocol):
    """Feeds bytes to the exchange in flight; ``over`` fires at its end."""

    transport: Any

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.exchange: Exchange | None = None
        self.over: defer.Deferred[None] | None = None

    def connectionMade(self) -> None:
        """The connection is open."""
        self.transport.setTcpNoDelay(True)

    def dataReceived(self, data: bytes) -> None:
        """Bytes have arrived."""
        if self.exchange is None:
            disconnect(self.slot)  # we asked for nothing
            return
        self.exchange.feed(data)
        self.check()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is lost."""
        if self.exchange is not None:
            if not isinstance(reason.value, error.ConnectionDone):
                self.exchange.fail(OSError(ECONNRESET, ""))
            self.exchange.feed(b"")
            self.check()
        if self.slot.origin is not None and self.slot.sock is self:
            self.slot.origin = None

    def check(self) -> None:
        """Resume the coroutine when its exchange is done."""
        if self.exchange is not None and self.exchange.done:
            self.exchange = None
            over, self.over = self.over, None
            if over is not None and not over.called:
                over.callback(None)

    def close(self) -> None:
        """Close, without waiting for a server: a reset cuts what is in flight."""
        if self.exchange is None:
            self.transport.loseConnection()
        else:
            self.transport.abortConnection()


class Shared(_slots.Shared):
    """What the slots of one crawl share; a slot's ``scope`` is the Deferred it waits on."""

    def __init__(self, job: Job, recorder: Recorder, reactor: Any) -> None:  # noqa: ANN401
        super().__init__(job, recorder)
        self.reactor = reactor
        self.idle: list[defer.Deferred[None]] = []

    def wake(self, count: int) -> None:
        """Let up to ``count`` idle slots look for work again."""
        while self.idle and count > 0:
            # Through the reactor: a Deferred resumes its coroutine at once, and slots
            # that wake each other must not nest.
            self.reactor.callLater(0, self.idle.pop().callback, None)
            count -= 1


async def connect(shared: Shared, slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the coroutine is suspended until it is open."""
    disconnect(slot)
    host, port = item.address.sockaddr[:2]
    kind = TCP6ClientEndpoint if item.address.family == socket.AF_INET6 else TCP4ClientEndpoint
    # Its own timeout must come after ours, which watch keeps.
    endpoint = kind(shared.reactor, str(host), int(port), timeout=shared.job.timeout_s + 60)
    slot.scope = connectProtocol(endpoint, Connection(slot))  # type: ignore[no-untyped-call]
    slot.sock = await slot.scope
    slot.origin = item.origin


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, and wait until it is done."""
    exchange = Exchange(item, shared.job.max_body)
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            slot.scope = deferLater(shared.reactor, max(item.due - monotonic(), 0.0))
            await slot.scope
        slot.started = monotonic()
        if slot.origin is item.origin:
            exchange.reused = True
        else:
            await connect(shared, slot, item)
        slot.sock.exchange = exchange
        slot.scope = slot.sock.over = defer.Deferred[None]()
        slot.sock.transport.write(exchange.request)
        await slot.scope
    except (defer.CancelledError, error.ConnectingCancelledError):
        exchange.abort(slot.aborted or "cancelled")
    except error.ConnectError as failed:
        if slot.aborted is not None:
            exchange.abort(slot.aborted)
        exchange.fail(OSError(failed.osError, ""))
    except Exception as failed:
        exchange.fail(failed)
    return exchange


async def take(shared: Shared, slot: Slot) -> Fetch | None:
    """The next fetch, suspended until there is one; None when the crawl is over."""
    while (item := shared.frontier.take()) is None:
        if shared.frontier.finished:
            shared.wake(len(shared.idle))
            disconnect(slot)
            return None
        idle = defer.Deferred[None]()
        shared.idle.append(idle)
        await idle
    return taken(shared, slot, item)


async def work(shared: Shared, slot: Slot) -> None:
    """The life of a slot: take, fetch, finish, until nothing is left."""
    try:
        while item := await take(shared, slot):
            exchange = await fetch(shared, slot, item)
            finish(shared, slot, item, exchange)
    except Exception as failure:
        # If a coroutine failed silently, the others would wait for its outcome.
        shared.failure = failure
        end(shared, "failed")


def watch(shared: Shared, stop: Stop) -> None:
    """Cancel the exchanges that ran out of time; called at every tick."""
    for slot in overdue(shared, stop):
        slot.scope.cancel()


def main(shared: Shared, stop: Stop) -> None:
    """Run one coroutine for each slot, until all are done; then stop the reactor."""
    shared.frontier.start(monotonic())
    keeper = LoopingCall(watch, shared, stop)
    keeper.clock = shared.reactor
    works: list[Coroutine[Any, Any, None]] = [work(shared, slot) for slot in shared.slots]
    done = defer.DeferredList([defer.ensureDeferred(coroutine) for coroutine in works])
    keeper.start(stop.tick_s)

    def over(_: object) -> None:
        keeper.stop()
        # Closed connections are taken off the reactor in its next turn.
        shared.reactor.callLater(0, shared.reactor.stop)

    done.addCallback(over)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one coroutine for each slot, on a reactor of its own."""
    # Not twisted.internet.reactor, which cannot run twice.
    reactor: Any = EPollReactor()  # type: ignore[no-untyped-call]
    shared = Shared(job, recorder, reactor)
    try:
        with Stop(job) as stop:
            reactor.callWhenRunning(main, shared, stop)
            reactor.run(installSignalHandlers=False)
    finally:
        # A reactor expects to live as long as its process and leaves these open.
        reactor.waker.connectionLost(None)
        reactor._poller.close()
    if shared.failure is not None:
        raise shared.failure
    loop = f"{type(reactor).__module__}.{type(reactor).__qualname__}"
    return shared.frontier.report("twisted", {"loop": loop, "library": twisted.__version__})
