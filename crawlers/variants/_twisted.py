"""The Protocol of ``twisted``, which its TLS builds on."""

from __future__ import annotations

from errno import ECONNRESET
from typing import Any

from twisted.internet import defer, error
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from crawlers.http import Exchange
from crawlers.variants._slots import Slot, disconnect


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
        """Close, without waiting."""
        self.transport.abortConnection()
