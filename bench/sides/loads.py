"""How the load of a server asks; the loader imports this, so it needs the standard library only."""

from __future__ import annotations

from typing import Final, Literal

FAST: Final = 10
"""Clients that read as fast as they can, beside those that do not."""

SEGMENT: Final = 1460
"""Bytes of a segment to a slow reader, as on Ethernet. On loopback it has 64 KiB, and the kernel
would buffer an answer of a megabyte whole."""

How = Literal["press", "accept", "hold", "schedule", "slow"]
"""What a load does with its connections: see :class:`bench.sides.protocol.Load`."""
