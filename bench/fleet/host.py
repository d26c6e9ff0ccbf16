"""One host of the fleet, a dask actor: its servers, its workers, its readings, its messages.

A worker is ``python -m bench.sides.worker``, the same process that a trial on one
machine measures; a server is ``python -m server``. Neither knows about the fleet.
Both are children of the dask worker, so they end with it in any case.

The methods run one after another in the actor's thread, and all have a time limit.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from bench.fleet.cluster import FleetFault
from bench.machine import kernel, memory
from bench.machine.memory import Slabs
from bench.plan import workloads
from bench.schema import Ledger, MemoryParts
from bench.sides.process import ProcessError, WorkerError, WorkerProcess
from bench.sides.protocol import Command, Result
from bench.sides.servers import Server, ServerError
from bench.sides.tls import Tls

LOOK_S = 0.001
READY_S = 120.0
POOL_SIZE = 32


@dataclass(frozen=True, slots=True)
class Served:
    """A server: its URL, and over TLS the certificate of its authority, in PEM.

    The text, not the file: the worker may run on another machine.
    """

    prefix: str
    authority: bytes | None = None


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A host at one moment: connections held, results so far, and faults."""

    held: int
    results: int
    free_bytes: int | None
    faults: list[str]


@dataclass(frozen=True, slots=True)
class Reading:
    """A host at one moment: its machine, and its processes by their ids."""

    slabs: Slabs | None = None
    free: int | None = None
    own: dict[int, MemoryParts] = field(default_factory=dict)


Grown = dict[str, int | None]
"""Bytes that a process gained, by the names of :class:`bench.fleet.records.Growth`."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    result: Result
    grown: Grown


@dataclass(frozen=True, slots=True)
class ServerReport:
    digest: str | None
    ledger: Ledger
    grown: Grown


@dataclass(frozen=True, slots=True)
class HostReport:
    """Everything about a host's processes, and its machine before the first connection and with
    all held. ``counters`` are differences."""

    workers: dict[int, WorkerReport]
    servers: dict[int, ServerReport]
    before: Reading
    held: Reading
    counters: dict[str, int | None]


@dataclass(slots=True)
class FleetWorker:
    child: WorkerProcess
    connections: int
    result: Result | None = None


@contextmanager
def fleet_faults() -> Iterator[None]:
    """Turn the errors of this host's processes into :class:`FleetFault`."""
    try:
        yield
    except (WorkerError, ServerError, ProcessError, OSError, psutil.Error) as error:
        # OSError includes TimeoutError: a worker that was not ready in time.
        raise FleetFault(str(error)) from None


class Host:
    def __init__(self, name: str) -> None:
        self.name = name
        self.address = name.rpartition(":")[0]
        self.workers: dict[int, FleetWorker] = {}
        self.servers: dict[int, Server] = {}
        # Over TLS if the trial is: importing ssl must not fall into it.
        self.warmup: Server | None = None
        self.scratch = tempfile.TemporaryDirectory(prefix="fleet-")
        # Asks all servers at once: asking a hundred busy ones in turn takes too long. Processes
        # are started by the actor's own thread, because they end with the thread.
        self.pool = ThreadPoolExecutor(POOL_SIZE, thread_name_prefix="ask")
        self.before = self.held = Reading()
        self.stack_bytes = memory.kernel_stack_bytes()
        self.counters: dict[str, int | None] = {}

    def serve(self, number: int, site: str, tls: Tls | None = None) -> Served:
        with fleet_faults():
            server = Server(site, seed=workloads.SITE_SEED, cores=[], address=self.address, tls=tls)
            self.servers[number] = server
            authority = None if server.cafile is None else server.cafile.read_bytes()
        return Served(server.prefix, authority)

    def start(self, number: int, command: Command, authority: bytes | None) -> None:
        """Start a worker and assign its connections; :meth:`ready` waits until it has warmed up.

        The command lacks what is of this host. The ``authority`` is that of the worker's server.
        """
        with fleet_faults():
            if self.warmup is None:
                tls = Tls() if authority else None
                self.warmup = Server(
                    workloads.WARMUP_SITE, seed=workloads.SITE_SEED, cores=[], tls=tls
                )
            cafile = self.authorities(number, authority)
            child = WorkerProcess(f"worker {number}")
        self.workers[number] = FleetWorker(child, command.slots)
        out = f"{self.scratch.name}/times-{number}"
        child.command(replace(command, warmup_prefix=self.warmup.prefix, out=out, cafile=cafile))

    def authorities(self, number: int, authority: bytes | None) -> str | None:
        """The authorities that a worker trusts, in one file; None on plain HTTP.

        One file for the warm-up and the trial, so that the trial uses the warm-up's context.
        """
        if authority is None or self.warmup is None or self.warmup.cafile is None:
            return None
        file = Path(self.scratch.name) / f"authorities-{number}.pem"
        file.write_bytes(self.warmup.cafile.read_bytes() + authority)
        return str(file)

    def ready(self, number: int) -> None:
        with fleet_faults():
            self.workers[number].child.ready(READY_S)

    def arm(self) -> None:
        """Hold every answer from now on, and read the memory before the first connection."""
        with fleet_faults():
            for server in self.servers.values():
                server.reset()
                server.hold()
            memory.wait_until_settled()
            self.before, self.counters = self._reading(), kernel.counters()

    def _reading(self) -> Reading:
        slabs, free = memory.read_slabs(), memory.free_memory(or_anonymous=True)
        pids = [
            *(worker.child.pid for worker in self.workers.values()),
            *(server.pid for server in self.servers.values()),
        ]
        own = {pid: memory.process_parts(psutil.Process(pid), self.stack_bytes) for pid in pids}
        return Reading(slabs, free, own)

    def go(self) -> None:
        for worker in self.workers.values():
            worker.child.go()

    def look(self) -> HostStatus:
        held = 0
        faults: list[str] = []
        asked = {n: self.pool.submit(server.held) for n, server in self.servers.items()}
        for number, answer in asked.items():
            try:
                held += answer.result()
            except ServerError as error:
                faults.append(f"the server of worker {number}: {error}")
        for number, worker in self.workers.items():
            if worker.result is None:
                try:
                    with suppress(TimeoutError):
                        worker.result = worker.child.result(time.monotonic() + LOOK_S)
                except (WorkerError, ProcessError) as error:
                    faults.append(f"worker {number}: {error}")
        results = sum(worker.result is not None for worker in self.workers.values())
        return HostStatus(held, results, memory.free_memory(), faults)

    def read(self) -> None:
        with fleet_faults():
            self.held = self._reading()

    def release(self, per_s: float) -> None:
        """Release the held answers, ``per_s`` per second from each server."""
        with fleet_faults():
            list(self.pool.map(lambda server: server.release(per_s), self.servers.values()))

    def report(self) -> HostReport:
        with fleet_faults():
            ledgers = self.pool.map(lambda server: server.ledger(), self.servers.values())
            by_number = dict(zip(self.servers, ledgers, strict=True))
        return HostReport(
            {number: self._worker(worker) for number, worker in self.workers.items()},
            {
                number: ServerReport(
                    server.digest,
                    by_number[number],
                    {f"server_{name}": gain for name, gain in self._grown(server.pid).items()},
                )
                for number, server in self.servers.items()
            },
            self.before,
            self.held,
            kernel.delta(self.counters, kernel.counters()),
        )

    def _worker(self, worker: FleetWorker) -> WorkerReport:
        assert worker.result is not None
        pid = worker.child.pid
        both = self.before.own[pid], self.held.own[pid]
        grown = self._grown(pid) | memory.grown(*both, ("kernel_stack_bytes",))
        grown["send_buffer_bytes"] = memory.send_buffers(*both, worker.connections)
        return WorkerReport(worker.result, grown)

    def _grown(self, pid: int) -> Grown:
        names = ("user_bytes", "page_table_bytes")
        return memory.grown(self.before.own[pid], self.held.own[pid], names)

    def stop(self) -> None:
        ends: list[Callable[[], None]] = [
            *(worker.child.close for worker in self.workers.values()),
            *(server.stop for server in self.servers.values()),
        ]
        if self.warmup is not None:
            ends.append(self.warmup.stop)
        for worker in self.workers.values():
            if worker.result is None:  # it would not end by itself
                worker.child.process.kill()
        for end in ends:
            end()
        self.workers.clear()
        self.servers.clear()
        self.warmup = None
        self.pool.shutdown()
        self.scratch.cleanup()
