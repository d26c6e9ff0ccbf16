"""Bytes and segments of a connection, as Linux's TCP counted them.

Read once, when the connection ends. See ``struct tcp_info`` in linux/tcp.h: fields are only ever
added at its end.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from typing import NamedTuple

_BYTES_RECEIVED = 128
"""Offset of ``tcpi_bytes_received``; ``tcpi_segs_out`` and ``tcpi_segs_in`` follow."""
_FIELDS = struct.Struct("=QII")
_SIZE = _BYTES_RECEIVED + _FIELDS.size


class Traffic(NamedTuple):
    """What a client sent, and how many segments each side needed; acknowledgements count."""

    bytes_sent: int  # by the client; its end (FIN) counts as a byte
    segments_sent: int  # by the client
    segments_received: int  # by the client

    def plus(self, other: Traffic) -> Traffic:
        """The traffic of both."""
        return Traffic(*(a + b for a, b in zip(self, other, strict=True)))


NOTHING = Traffic(0, 0, 0)


def read(transport: asyncio.BaseTransport) -> Traffic | None:
    """The traffic of a connection; None where the platform does not count it."""
    sock = transport.get_extra_info("socket")
    if sock is None or not sys.platform.startswith("linux"):
        return None
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SIZE)
    except OSError:  # the connection was reset, or the descriptor is gone
        return None
    if len(info) < _SIZE:
        return None
    received, segments_out, segments_in = _FIELDS.unpack_from(info, _BYTES_RECEIVED)
    return Traffic(received, segments_in, segments_out)
