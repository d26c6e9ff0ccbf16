"""Connections to a fault site: they break off, lie and flood as each page demands."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from typing import cast

from server.behaviour import Answer
from server.connection import Connection
from server.encrypted import Encrypted
from server.sites.fault_kinds import End, pieces
from server.sites.faults import Faults, Faulty

DRIP_S = 0.05
"""Seconds between two bytes of ``drip``."""
BLOCK = b"x" * 65536
NO_RECORD = b"\x17\x03\x03\x00\x40" + b"?" * 64
"""The head of a record of 64 bytes, which no key decrypts."""


class FaultyConnection(Connection):
    """A connection to a :class:`Faults` site, which answers as the kind of the page says.

    It answers HEAD like GET; nothing asks a fault site for HEAD.
    """

    __slots__ = ("_end", "_keep", "_left", "_pause_s", "_timer")

    _end: End
    _keep: bool
    _pause_s: float

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        self._left: deque[bytes] = deque()
        self._timer: asyncio.TimerHandle | None = None
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`. There is no fast path here."""
        self._read(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        self._left.clear()
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """See :class:`asyncio.Protocol`."""
        super().resume_writing()
        if self.queue and not self._left and self._end is End.FLOOD:
            self._flood()

    def _answer(self, head_only: bool, target: bytes, keep: bool, ready: list[bytes]) -> None:
        """Begin the answer, and read nothing more until it is complete."""
        resource = self.core.site.find(target)
        if not isinstance(resource, Faulty):
            super()._answer(head_only, target, keep, ready)
            return
        self._send(ready)
        resource.hits += 1
        self.requests += 1
        page, wire = cast("Faults", self.core.site).wire(resource)
        self._left.extend(pieces(page, wire))
        self._end = wire.end
        self._keep = keep
        self._pause_s = DRIP_S if wire.drip else page.pause_s
        self.queue = deque([Answer(self, resource, head_only, not keep)])
        self.busy = self.closing = True
        self.core.ledger.received()
        self._play()

    def _play(self) -> None:
        """Send the next piece and arrange for the one after it."""
        self._timer = None
        if self._left:
            self.transport.write(self._left.popleft())
        if self._left:
            self._later(self._pause_s)
        elif self._end is End.RESET and self.transport.get_write_buffer_size():
            self._later(0.001)  # a reset drops bytes that are not sent yet
        else:
            self._finish()

    def _later(self, seconds: float) -> None:
        self._timer = self.core.loop.call_later(seconds, self._play)

    def _finish(self) -> None:
        if self._end is End.FLOOD:
            self._flood()
        elif self._end is End.RESET:
            sock = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()
        elif self._end in (End.CUT, End.TEAR, End.BREAK):
            self.queue = None
            self.core.ledger.answered()
            self._break(self._end)
        elif self._end is not End.SILENCE:
            self.queue = None
            self.core.ledger.answered()
            self.closing = self._end is End.CLOSE or not self._keep
            self._settle()

    def _break(self, how: End) -> None:
        """Close the connection beneath TLS; without TLS it is just closed."""
        transport: asyncio.Transport | Encrypted = self.transport
        if not isinstance(transport, Encrypted):
            transport.close()
        elif how is End.TEAR:
            transport.tear(BLOCK[:1000])
        else:
            if how is End.BREAK:
                transport.raw.write(NO_RECORD)
            transport.cut()

    def _flood(self) -> None:
        while not self.paused and not self.transport.is_closing():
            self.transport.write(BLOCK)
