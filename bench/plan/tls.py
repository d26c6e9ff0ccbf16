"""How much memory a connection over TLS may need: it decides on what is refused beforehand."""

from __future__ import annotations

from typing import Final

from crawlers.catalogue import OURS

SERVER_KIB: Final = 64
"""KiB of the server's memory for one connection over TLS; uvloop's streams take 50."""

CLIENT_KIB: Final = 64
"""KiB of most clients for one connection over TLS, with some to spare."""

ASYNCIO_KIB: Final = 320
"""KiB of asyncio's: its SSLProtocol has a receive buffer of 256 KiB and touches all of it."""


def on_asyncio(name: str) -> bool:
    """Whether a backend may have asyncio's buffer: it changes something else, on some rung below.

    It decides only on what is refused beforehand.
    """
    backend = OURS.get(name)
    if backend is None or "own_tls" in backend.tags:
        return False
    return "asyncio_tls" in backend.tags or on_asyncio(backend.against or "")


def client_kib(name: str) -> int:
    """KiB that a backend's process may need for one connection over TLS."""
    return ASYNCIO_KIB if on_asyncio(name) else CLIENT_KIB
