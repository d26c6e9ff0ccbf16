"""Before a campaign: what this machine forbids, and who else measures."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from rich.console import Console

from bench.machine import doctor
from bench.machine.doctor import Needs
from bench.plan.backends import of_role
from bench.plan.participants import Label
from bench.plan.plan import Plan
from bench.plan.workloads import Point
from bench.text import KIB, MIB
from crawlers.backend import Backend
from crawlers.catalogue import OURS

PROCESS_BYTES: Final = 32 * MIB
"""Of a worker or a server before its first connection; those of a block in turns run together.

A pair was seen to take 41 to 54 MiB, with the kernel's part: aiohttp's worker takes 26, and the
server of a large site 37.
"""

REPORT_BYTES: Final = 192 * MIB
"""What the harness grows by for the report of a small campaign, when all others have ended."""

THREADED = "threads"
"""The family that starts a thread for each slot."""


def refusals(
    todo: Plan, known: Mapping[str, Backend], folder: Path, console: Console
) -> dict[tuple[str, Label], str]:
    """Examine the machine; maps (point, label) pairs that its limits forbid to the reasons."""
    connections = max(point.slots for point in todo.points.values())
    for result in doctor.examine(Needs(connections, connections, folder=folder)):
        # Connections are opened at a paced rate, so the backlog is deep enough.
        if result.level in ("warning", "refusal") and result.check != "backlog":
            text = f"{result.level}: {result.check}: {result.found}: {result.effect}"
            fix = f" ({result.fix})" if result.fix else ""
            console.print(text + fix)
    refused = {}
    for entry in todo.entries:
        point = entry.point
        together = len(entry.labels) if point.interleaved else 1
        for label in entry.labels:
            backend = of_role(point, label, known)
            threads = point.slots if backend.family == THREADED else 0
            processes = max(2 * together * PROCESS_BYTES, REPORT_BYTES)
            of_all = over_tls(point, label) | {"process_bytes": processes}
            reason = unable(backend, point) or doctor.refuse(
                Needs(point.slots, threads, folder=folder, **of_all)
            )
            if reason:
                refused[point.id, label] = reason
    return refused


def unable(backend: Backend, point: Point) -> str | None:
    """Why a backend can never run this point: its connections, or TLS; None when it can."""
    if point.over_tls and (reason := backend.no_https):
        return f"{backend.name} has no HTTPS: {reason}"
    if not point.held or backend.most is None or backend.most >= point.slots:
        return None
    return f"{backend.name} holds at most {backend.most} connections at once ({backend.changes})"


# --- what a connection over TLS may need -------------------------------------------------

SERVER_KIB: Final = 64
"""KiB of the server's memory for one connection over TLS; uvloop's streams take 50."""

CLIENT_KIB: Final = 64
"""KiB of most clients for one connection over TLS, with some to spare."""

ASYNCIO_KIB: Final = 320
"""KiB of asyncio's: its SSLProtocol has a receive buffer of 256 KiB and touches all of it."""


def client_kib(name: str) -> int:
    """KiB that a backend's process may need for one connection over TLS.

    asyncio's also where it changes something else, on some rung below.
    """
    backend = OURS.get(name)
    if backend is None or "own_tls" in backend.tags:
        return CLIENT_KIB
    return ASYNCIO_KIB if "asyncio_tls" in backend.tags else client_kib(backend.against or "")


def over_tls(point: Point, label: Label) -> dict[str, int]:
    """Bytes that each held connection of this label takes over TLS, at both ends."""
    if point.tls is None or not point.memory:
        return {}
    return {"tls_client": client_kib(label.name) * KIB, "tls_server": SERVER_KIB * KIB}


# --- other campaigns ---------------------------------------------------------------------


NAME = "c10k-crawlers.campaign"


@contextmanager
def announced(console: Console) -> Iterator[None]:
    """Warn about another campaign at the start, and at the end: they share the processors.

    A campaign has a socket with this name in the kernel's memory (unix(7), "abstract"), which goes
    with its process, however that ends. One that finds the name taken sends a word to it.
    """
    alone = True
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
        own.setblocking(False)
        try:
            own.bind(f"\0{NAME}")
        except OSError:
            alone = False
            with suppress(OSError):  # it has just ended
                own.sendto(b"hello", f"\0{NAME}")
            console.print(
                "warning: another campaign is running on this machine; both will measure each "
                "other's load. Stop one of them",
                style="yellow",
            )
        try:
            yield
        finally:
            with suppress(BlockingIOError):
                alone = not own.recv(100) and alone
            if not alone:
                console.print(
                    "warning: another campaign ran on this machine at the same time, so both "
                    "measured each other's load. Run them one after the other",
                    style="yellow",
                )
