"""Encryption in a workload: the server's options, and the ways in which a page can be fetched.

A point with *modes* holds every backend several times in a block: on plain HTTP and over
TLS, on kept connections and with a connection for each page. So the price of encryption
and of a handshake is a difference within a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from bench.sides.tls import Tls
from crawlers.catalogue import OURS

Mode = Literal["", "plain", "tls", "churn", "handshake", "tickets"]


@dataclass(frozen=True, slots=True)
class Way:
    """How the pages of a trial are fetched."""

    tls: Tls | None = None
    keep_alive: bool = True


WAYS: Final[dict[Mode, Way]] = {
    "plain": Way(),
    "tls": Way(Tls()),
    "churn": Way(keep_alive=False),
    "handshake": Way(Tls(tickets=False), keep_alive=False),
    "tickets": Way(Tls(), keep_alive=False),
}
"""The ways of the modes: ``handshake`` is always a full one, ``tickets`` lets a client resume."""

KEPT: Final[tuple[Mode, ...]] = ("plain", "tls")
EACH_PAGE: Final[tuple[Mode, ...]] = ("churn", "handshake", "tickets")
OPENED: Final[tuple[Mode, ...]] = ("plain", "churn")

SERVER_KIB: Final = 64
"""KiB of the server's memory for one connection over TLS; uvloop's streams take 50."""

CLIENT_KIB: Final = 64
"""KiB of most clients for one connection over TLS, with some to spare."""

ASYNCIO_KIB: Final = 320
"""KiB of asyncio's: its SSLProtocol has a receive buffer of 256 KiB and touches all of it."""

ASYNCIO: Final = frozenset({"async_await", "callbacks_asyncio", "generators_asyncio", "processes"})
"""The backends at which a part of the ladder begins that has asyncio's TLS."""

OTHER_TLS: Final = frozenset(
    {
        *("asyncio_sockets", "asyncio_small_tls", "uvloop", "uvloop_protocol", "aiohttp_uvloop"),
        "trio",
    }
)
"""The rungs above them that change it, and with it those above themselves."""


def on_asyncio(name: str) -> bool:
    """Whether a backend may have asyncio's buffer: it changes something else, on some rung below.

    It decides only on what is refused beforehand.
    """
    backend = OURS.get(name)
    if backend is None or name in OTHER_TLS:
        return False
    return name in ASYNCIO or on_asyncio(backend.against or "")


def client_kib(name: str) -> int:
    """KiB that a backend's process may need for one connection over TLS."""
    return ASYNCIO_KIB if on_asyncio(name) else CLIENT_KIB
