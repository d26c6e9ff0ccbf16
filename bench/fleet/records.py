"""``fleet.jsonl``: one record per fleet, one per worker, one per trial.

The first line is a :class:`FleetRecord`. Each trial is written as one :class:`WorkerRecord` per
worker, followed by a :class:`FleetTrialRecord` that is merged from them. Units and missing values
are as in :mod:`bench.schema`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from bench.plan.labels import Label
from bench.schema import Environment, Ledger, Record, Status
from bench.store import StoreError, load_lines
from bench.text import KIB, plural

FLEET_VERSION = 1

Workload = Literal["hold", "crawl"]
"""Earlier releases also shared a crawl; their records still load."""

EARLIER = ConfigDict(extra="ignore")
"""Of records that had more fields in earlier releases, which nothing reads."""


class HostFacts(Record):
    """One host: its name in this file, and its machine."""

    host: str  # "10.0.0.2:4321", the dask worker's address
    machine: int  # hosts with the same number share a kernel
    cores: int
    descriptors: int
    ports: int
    memory_available_bytes: int


class FleetRecord(Record):
    kind: Literal["fleet"] = "fleet"
    schema_version: int = FLEET_VERSION
    fleet: str  # "20261121-051200-1a2b3c"
    created: str  # ISO 8601, UTC
    command: list[str]
    cluster: Literal["local", "remote"]
    hosts: list[HostFacts]
    environment: Environment  # of the coordinator


class Growth(Record):
    """What was added between "all ready" and "all held", in bytes, by owner.

    A part is None if it was not measured there: the kernel's parts belong to the
    machine, so only the trial's record has them.
    """

    user_bytes: int | None = None
    page_table_bytes: int | None = None
    kernel_stack_bytes: int | None = None
    send_buffer_bytes: int | None = None
    kernel_socket_bytes: int | None = None  # the client's half
    kernel_other_bytes: int | None = None  # files, inodes, epoll items, ports, tasks
    server_user_bytes: int | None = None
    server_page_table_bytes: int | None = None
    server_kernel_bytes: int | None = None  # the server's half, with its epoll items
    machine_drop_bytes: int | None = None  # second method: free memory of all machines
    reasons: dict[str, str] = Field(default_factory=dict)


class WorkerRecord(Record):
    model_config = EARLIER
    kind: Literal["worker"] = "worker"
    trial: int
    worker: int
    host: str
    server: str | None  # where its server listened
    status: Status
    reason: str | None
    connections: int  # slots
    # From here on: None, or empty, without a result.
    pages: int | None = None
    bytes: int | None = None
    statuses: dict[str, int] = Field(default_factory=dict)
    errors: dict[str, int] = Field(default_factory=dict)
    elapsed_s: float | None = None
    user_s: float | None = None
    system_s: float | None = None
    digest: str | None = None
    digest_expected: str | None = None
    ledger: Ledger | None = None  # of its own server
    growth: Growth | None = None
    mechanism: dict[str, str | int] = Field(default_factory=dict)


class Sample(Record):
    """The fleet at one moment of the ramp."""

    at_s: float
    connections: int  # held, counted by the servers
    used_bytes: int | None  # of memory, in addition to that before the first connection


class FleetTrialRecord(Record):
    """One trial of the whole fleet, merged from its workers."""

    model_config = EARLIER
    kind: Literal["trial"] = "trial"
    trial: int
    workload: Workload
    backend: str
    family: str
    status: Status
    reason: str | None
    started: str
    trial_s: float
    workers: int
    hosts: int
    connections: int  # planned: slots of all workers together
    tls: str | None = None  # "TLS 1.3, ecdsa, tickets"; None: plain HTTP
    params: dict[str, int | float | str | None]
    held: int | None = None  # at the barrier, counted by the servers
    opened_s: float | None = None  # from the start to the barrier
    released_s: float | None = None  # from the release to the last worker's result
    growth: Growth | None = None
    samples: list[Sample] = Field(default_factory=list)
    kernel: dict[str, int | None] = Field(default_factory=dict)

    @property
    def label(self) -> str:
        """The backend as a plan's label: ``callbacks/tls`` over TLS."""
        return str(Label(self.backend, condition="tls" if self.tls else ""))

    @property
    def told(self) -> str:
        return f"{self.backend} over TLS" if self.tls else self.backend


AnyFleetRecord = Annotated[
    FleetRecord | WorkerRecord | FleetTrialRecord, Field(discriminator="kind")
]
FLEET: TypeAdapter[AnyFleetRecord] = TypeAdapter(AnyFleetRecord)


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


def sentence(trial: FleetTrialRecord) -> str:
    workers = plural(trial.workers, "worker")
    what = f"{trial.told}, {trial.connections:,} connections, {workers}"
    if trial.status != "ok":
        return f"{trial.status}: {what}: {trial.reason}"
    total = per_connection(trial, WHOLE)
    each = f", {total / KIB:.1f} KiB each with both ends" if total is not None else ""
    return (
        f"{what}: all held after {trial.opened_s:.1f} s, released in {trial.released_s:.1f} s{each}"
    )


def per_connection(trial: FleetTrialRecord, parts: Sequence[str]) -> float | None:
    """Bytes of some parts per connection; None if one of them was not measured."""
    if trial.growth is None:
        return None
    values = [getattr(trial.growth, name) for name in parts]
    if any(value is None for value in values):
        return None
    return float(sum(values)) / trial.connections


FILE_NAME = "fleet.jsonl"


@dataclass(slots=True)
class FleetRecords:
    fleet: FleetRecord
    trials: list[FleetTrialRecord] = field(default_factory=list)
    workers: list[WorkerRecord] = field(default_factory=list)

    @property
    def held(self) -> list[FleetTrialRecord]:
        """The trials that count; no shared crawl of an earlier release."""
        return [t for t in self.trials if t.workload == "hold" and t.status == "ok"]

    @property
    def largest(self) -> list[FleetTrialRecord]:
        """By label, the first that held the most connections: plain HTTP and TLS apart."""
        found: dict[str, FleetTrialRecord] = {}
        for trial in self.held:
            if trial.connections > found.setdefault(trial.label, trial).connections:
                found[trial.label] = trial
        return list(found.values())


def load(path: Path) -> FleetRecords:
    """Read and validate the records in a folder or a file.

    Skips an incomplete last line, which a crash may leave. Raises
    :class:`bench.store.StoreError` for anything else that is not a record.
    """
    file = path / FILE_NAME if path.is_dir() else path
    lines, _ = load_lines(file, FLEET)
    if not lines:
        raise StoreError(f"{file}: empty, so this fleet never started; run it again")
    if not isinstance(lines[0], FleetRecord):
        raise StoreError(f"{file}: the first line is not a fleet record")
    return FleetRecords(
        lines[0],
        [line for line in lines if isinstance(line, FleetTrialRecord)],
        [line for line in lines if isinstance(line, WorkerRecord)],
    )
