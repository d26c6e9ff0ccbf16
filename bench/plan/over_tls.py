"""The workloads over TLS: memory at the barrier, a page on a kept connection, a connection each."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bench.plan.cast import MAIN_VARIANTS, Cast
from bench.plan.tls import EACH_PAGE, KEPT, Mode, Tls
from bench.plan.workloads import SETTLE_S, TLS_RAMP_PER_S, Point, c10k, fetch
from crawlers.registry import MODELS

PAGES_OF: Final = (
    *MODELS,
    *MAIN_VARIANTS,
    *("asyncio_protocol", "uvloop_protocol", "anyio", "curio", "tornado", "rloop"),
    *("urllib3", "requests", "httpx", "httpx2"),
)
"""Whose pages are measured over TLS: every library that has its own way to do it.

Rungs that change something else (timeouts, the selector's system call, a thread's stack) do
TLS as the backend that they change, and tuned stacks as the stack. Their memory is measured all
the same.
"""

SMALL_BUFFER: Final = ("asyncio_small_tls",)
"""The rung that makes asyncio's buffer small: beside the default at every number."""

TLS_HELD_S = 400e-6
"""Time to open, hold and release one connection over TLS, beyond the paced ramp."""


def tls_c10k(connections: int, cast: Cast) -> Point:
    """Connections held open over TLS: how much memory one takes, and OpenSSL alone."""
    return replace(
        c10k(connections, cast),
        id=f"tls-c10k-{connections}",
        workload="tls-c10k",
        tls=Tls(),
        controls=("bare_tls",),
        deadline_s=300.0,
        waits_s=SETTLE_S + connections / TLS_RAMP_PER_S,
        work_s=connections * TLS_HELD_S,
    )


def in_modes(workload: str, modes: tuple[Mode, ...], slots: int, urls: int, cast: Cast) -> Point:
    """The list of ``fetch``, in turns, by each backend in each mode."""
    return replace(
        fetch(slots, urls, cast),
        id=f"{workload}-{slots}",
        workload=workload,
        cast=cast,
        twins=(),
        controls=(),
        ceiling=False,
        modes=modes,
    )


def tls_fetch(slots: int, urls: int, cast: Cast) -> Point:
    """Kept connections, on plain HTTP and over TLS: what encryption adds to a page."""
    return in_modes("tls-fetch", KEPT, slots, urls, replace(cast, only=PAGES_OF))


def tls_handshake(slots: int, urls: int, cast: Cast) -> Point:
    """A connection for each page: plain, with a full handshake, and resumed if a client can."""
    return in_modes("tls-handshake", EACH_PAGE, slots, urls, replace(cast, only=PAGES_OF))
