"""What a check asks about, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Level = Literal["ok", "note", "warning", "refusal"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One thing that was checked. ``effect`` and ``fix`` are empty when all is well."""

    check: str
    level: Level
    found: str
    effect: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a workload needs from the machine."""

    connections: int = 0  # held at once by the worker, and again by the server
    threads: int = 0
    addresses: int = 1  # server (address, port) pairs the connections are spread over
    folder: Path = Path()  # where the records go
    tls_client: int = 0  # bytes of the worker for each connection over TLS
    tls_server: int = 0  # and of the server
