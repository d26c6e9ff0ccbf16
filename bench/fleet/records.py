"""What one trial of the fleet saw: a sample of ``fleet.jsonl``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from bench.machine.memory import added
from bench.schema import Ledger, Record
from bench.study.record import Run, Study
from bench.text import GIB, KIB, plural


class Worker(Record):
    """One worker with its server."""

    worker: int
    connections: int  # slots
    pages: int
    bytes: int
    statuses: dict[str, int]
    errors: dict[str, int]
    elapsed_s: float
    user_s: float
    system_s: float
    digest: str | None
    digest_expected: str | None
    ledger: Ledger
    mechanism: dict[str, str | int]
    void: str | None = None  # why what it did does not count


class HostRecord(Record):
    """One host: its name, the limits of a process there, and what its workers did and gained."""

    host: str  # "10.0.0.2:4321", the dask worker's address
    boot: str | None = None  # tells machines apart
    cores: int
    descriptors: int
    ports: int
    memory_available_bytes: int
    workers: list[Worker] = Field(default_factory=list)
    # Bytes that they gained between "all ready" and "all held", by owner; None if unknown.
    growth: dict[str, int | None] = Field(default_factory=dict)
    reasons: dict[str, str] = Field(default_factory=dict)  # why a part is unknown
    kernel: dict[str, int | None] = Field(default_factory=dict)  # what its counters rose by


class Moment(Record):
    """The fleet at one moment of the ramp."""

    at_s: float
    connections: int  # held, counted by the servers
    used_bytes: int | None  # of memory, in addition to that before the first connection

    @property
    def used_gib(self) -> float | None:
        return None if self.used_bytes is None else max(self.used_bytes, 0) / GIB


class FleetTrial(Record):
    """One trial of the whole fleet, with everything that its hosts reported."""

    backend: str
    tls: str | None  # "TLS 1.3, ecdsa, tickets"; None: plain HTTP
    connections: int  # planned: slots of all workers together
    ramp_per_s: float
    hosts: list[HostRecord]
    opened_s: float | None = None  # from the start to the barrier
    released_s: float | None = None  # from the release to the last worker's result
    samples: list[Moment] = Field(default_factory=list)

    @property
    def label(self) -> str:
        """``callbacks``, and ``callbacks/tls`` over TLS."""
        return f"{self.backend}/tls" if self.tls else self.backend

    @property
    def words(self) -> str:
        return words_of(self.label)

    @property
    def workers(self) -> list[Worker]:
        return [worker for host in self.hosts for worker in host.workers]

    def counted(self, counter: str) -> int | None:
        """By how much a counter of the kernel rose, added over hosts."""
        return added(host.kernel.get(counter) for host in self.hosts)

    def per_connection(self, parts: Sequence[str]) -> float | None:
        """Bytes of some parts per connection; None if one of them was not measured."""
        total = added(host.growth.get(part) for host in self.hosts for part in parts)
        return None if total is None else total / self.connections


STUDY: Final[Study[FleetTrial]] = Study("fleet", "connections held at one barrier", FleetTrial)

BUDGET: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("client, user", ("user_bytes",)),
    ("client, page tables", ("page_table_bytes",)),
    ("client, kernel stacks", ("kernel_stack_bytes",)),
    ("client, send buffers of threads", ("send_buffer_bytes",)),
    ("client, kernel: sockets", ("kernel_socket_bytes",)),
    ("client, kernel: files, epoll, ports", ("kernel_other_bytes",)),
    ("server, user", ("server_user_bytes", "server_page_table_bytes")),
    ("server, kernel", ("server_kernel_bytes",)),
)
"""Who holds the memory of a connection: words for the table, and parts of a record."""
WHOLE = tuple(part for _, parts in BUDGET for part in parts)


def words_of(label: str) -> str:
    return label.replace("/tls", " over TLS")


def held(run: Run[FleetTrial]) -> list[FleetTrial]:
    """Those that count, in the order of the record."""
    return [sample.part for sample in run.samples if sample.status == "ok" and sample.part]


def largest(run: Run[FleetTrial]) -> list[FleetTrial]:
    """By label, the first that held the most connections: plain HTTP and TLS apart."""
    largest: dict[str, FleetTrial] = {}
    for trial in held(run):
        if trial.connections > largest.setdefault(trial.label, trial).connections:
            largest[trial.label] = trial
    return list(largest.values())


def sentence(trial: FleetTrial) -> str:
    total, workers = trial.per_connection(WHOLE), plural(len(trial.workers), "worker")
    each = f", {total / KIB:.1f} KiB each with both ends" if total is not None else ""
    return (
        f"{trial.words}, {trial.connections:,} connections, {workers}: "
        f"all held after {trial.opened_s:.1f} s, released in {trial.released_s:.1f} s{each}"
    )
