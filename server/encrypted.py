"""Connections over TLS: OpenSSL between the event loop and a connection.

To the event loop an :class:`Encrypted` is a protocol, to its connection it is
the transport. It hands bytes through OpenSSL, in memory, and nothing else: all
of ``connection.py`` works on top of it, and a client that ends, stalls or lies
is treated as without TLS.

Why not the event loop's own TLS? It would hide what the ledger counts and what
fault sites need: handshakes that fail, streams that end without the last word
(``close_notify``), broken records. It takes no less processor time, and 6 KiB
more memory for each connection (docs/notebook/decisions.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import Callable
from typing import Any, cast

from server.connection import Connection, Core

HANDSHAKE_S = 60.0
"""How long a handshake may take. Ten thousand clients at once need about 20 s."""
RECORD = 16384
"""The most that one record holds, so one read empties it."""


class Handshakes:
    """What all encrypted connections share: the certificate, and the count of handshakes."""

    __slots__ = (
        "_clock",
        "_context",
        "_loop",
        "_timer",
        "failed",
        "full",
        "outgoing",
        "resumed",
        "waiting",
    )

    def __init__(
        self,
        context: ssl.SSLContext,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context = context
        self._loop = loop
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        # Emptied after each operation, so one is enough for all connections.
        self.outgoing = ssl.MemoryBIO()
        self.waiting: dict[Encrypted, float] = {}  # since when, the oldest first
        self.reset()

    def reset(self) -> None:
        """Count from zero. Handshakes that have begun count when they end."""
        self.full = self.resumed = self.failed = 0

    def summary(self) -> dict[str, int]:
        """The counts, for the ledger."""
        return {"full": self.full, "resumed": self.resumed, "failed": self.failed}

    def expect(self, connection: Encrypted) -> None:
        """A connection was accepted; the client begins."""
        self.waiting[connection] = self._clock()
        if self._timer is None:
            self._timer = self._loop.call_later(HANDSHAKE_S, self._sweep)

    def begin(self, incoming: ssl.MemoryBIO) -> ssl.SSLObject:
        """The server's side of one handshake."""
        return self._context.wrap_bio(incoming, self.outgoing, server_side=True)

    def done(self, connection: Encrypted, resumed: bool) -> None:
        """A handshake is complete."""
        del self.waiting[connection]
        if resumed:
            self.resumed += 1
        else:
            self.full += 1

    def gone(self, connection: Encrypted, begun: bool) -> None:
        """A connection has ended. Its handshake has failed if it was begun and not done."""
        if self.waiting.pop(connection, None) is not None and begun:
            self.failed += 1

    def _sweep(self) -> None:
        """Cut the handshakes that take too long."""
        self._timer = None
        now = self._clock()
        for connection, since in list(self.waiting.items()):
            left = since + HANDSHAKE_S - now
            if left > 0:
                self._timer = self._loop.call_later(left, self._sweep)
                return
            del self.waiting[connection]
            self.failed += 1
            connection.abort()


class Encrypted(asyncio.Protocol):
    """One connection over TLS.

    ``raw`` is the transport that carries it. ``_object`` is OpenSSL's part, from
    the first byte on. ``_up`` is true after the handshake, and ``_over`` as soon
    as our side of the stream has ended: nothing is written or read any more.
    """

    __slots__ = ("_connection", "_handshakes", "_incoming", "_object", "_over", "_up", "raw")

    raw: asyncio.Transport

    def __init__(self, core: Core, handshakes: Handshakes) -> None:
        self._connection: Connection | None = core.connect()
        self._handshakes = handshakes
        self._incoming = ssl.MemoryBIO()
        self._object: ssl.SSLObject | None = None
        self._up = False
        self._over = False

    # --- called by the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        self.raw = cast("asyncio.Transport", transport)
        self._handshakes.expect(self)
        assert self._connection is not None
        self._connection.connection_made(cast(asyncio.Transport, self))

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`."""
        if self._over:
            return
        incoming = self._incoming
        incoming.write(data)
        if not self._up and not self._shake():
            return
        assert self._object is not None
        connection, more = self._connection, False
        assert connection is not None
        while incoming.pending and not self._over:
            try:
                plain = self._object.read(RECORD)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLError:
                self._fail()
                return
            if plain:
                if more and not connection.busy:  # the record before had a whole request
                    connection.core.ledger.pipelined += 1
                connection.data_received(plain)
                more = True
            else:  # close_notify
                connection.eof_received()
                self.close()
        self._flush()  # the answer to a key update

    def eof_received(self) -> None:
        """See :class:`asyncio.Protocol`."""
        if self._up and self._connection is not None:
            self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        self._over = True
        self._handshakes.gone(self, self._object is not None)
        connection = self._connection
        self._connection = self._object = None  # no cycles: garbage is rarely collected here
        if connection is not None:
            connection.connection_lost(exc)

    def pause_writing(self) -> None:
        """See :class:`asyncio.Protocol`."""
        if self._connection is not None:
            self._connection.pause_writing()

    def resume_writing(self) -> None:
        """See :class:`asyncio.Protocol`."""
        if self._connection is not None:
            self._connection.resume_writing()

    # --- called by the connection ---

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """See :class:`asyncio.WriteTransport`."""
        if self._over or not data:
            return
        assert self._object is not None
        written = self._object.write(data)
        while written < len(data):
            written += self._object.write(memoryview(data)[written:])
        self.raw.write(self._handshakes.outgoing.read())

    def write_eof(self) -> None:
        """See :class:`asyncio.WriteTransport`: close_notify, then the end."""
        self._finish()
        self.raw.write_eof()

    def close(self) -> None:
        """See :class:`asyncio.BaseTransport`."""
        if not self.raw.is_closing():
            self._finish()
            self.raw.close()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Everything else that a transport can do, the raw one does."""
        if name == "raw":  # not connected yet
            raise AttributeError(name)
        return getattr(self.raw, name)

    # --- called by fault sites ---

    def cut(self) -> None:
        """Close the connection without close_notify: the stream has no end."""
        self._over = True
        self.raw.close()

    def tear(self, data: bytes) -> None:
        """Send half a record, and cut the connection."""
        if not self._over:
            assert self._object is not None
            self._object.write(data)
            record = self._handshakes.outgoing.read()
            self.raw.write(record[: len(record) // 2])
        self.cut()

    # --- TLS ---

    def _shake(self) -> bool:
        """Go on with the handshake; whether it is complete."""
        if self._object is None:
            self._object = self._handshakes.begin(self._incoming)
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        except ssl.SSLError:
            self._fail()
            return False
        self._up = True
        self._flush()
        self._handshakes.done(self, bool(self._object.session_reused))
        return True

    def _fail(self) -> None:
        """Hang up on a client that broke the protocol, with OpenSSL's alert as the reason."""
        self._over = True
        self._flush()
        self.raw.close()

    def _finish(self) -> None:
        """End our side of the stream."""
        if self._over:
            return
        self._over = True
        if self._up:
            assert self._object is not None
            with contextlib.suppress(ssl.SSLError):  # it would wait for the client's close_notify
                self._object.unwrap()
            self._flush()

    def _flush(self) -> None:
        """Send what OpenSSL has left to be sent."""
        if self._handshakes.outgoing.pending:
            self.raw.write(self._handshakes.outgoing.read())
