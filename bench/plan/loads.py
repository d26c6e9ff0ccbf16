"""How the load of a server asks; the loader imports this, so it needs the standard library only."""

from __future__ import annotations

from typing import Literal

How = Literal["press", "accept", "hold"]
"""What a load does with its connections: see :class:`bench.run.protocol.Load`."""
