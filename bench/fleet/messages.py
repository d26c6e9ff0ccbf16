"""What the coordinator and the hosts send each other."""

from __future__ import annotations

from dataclasses import dataclass

from bench.fleet.schema import Growth
from bench.machine.probes.slabs import Slabs
from bench.run.protocol import Result
from bench.schema import Latency, Ledger


@dataclass(frozen=True, slots=True)
class Served:
    """A server: its URL, and over TLS the certificate of its authority, in PEM.

    The text, not the file: the worker may run on another machine.
    """

    prefix: str
    authority: bytes | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one worker does, with which server."""

    number: int
    backend: str
    served: Served
    connections: int
    rate: float
    timeout_s: float


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A host at one moment: connections held per server, results so far, and faults."""

    held: dict[int, int]
    results: int
    free_bytes: int | None
    faults: list[str]


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """A worker's result and what the worker took."""

    result: Result
    service_time: Latency | None
    growth: Growth


@dataclass(frozen=True, slots=True)
class ServerReport:
    """A server's ledger and what the server took."""

    digest: str | None
    ledger: Ledger
    growth: Growth


@dataclass(frozen=True, slots=True)
class KernelReport:
    """The kernel of a host's machine before the first connection and with all held.

    It covers every host of that machine. ``counters`` are differences.
    """

    slabs_before: Slabs | None
    slabs_held: Slabs | None
    free_before: int | None
    free_held: int | None
    counters: dict[str, int | None]
