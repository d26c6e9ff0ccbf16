"""One host of the fleet, a dask actor: its servers, its workers, its readings.

A worker is ``python -m bench.run.worker``, the same process that a trial on one
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
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.fleet import limits
from bench.fleet.cluster import FleetFault
from bench.fleet.limits import Limits
from bench.fleet.messages import (
    Assignment,
    HostStatus,
    KernelReport,
    Served,
    ServerReport,
    WorkerReport,
)
from bench.fleet.schema import Growth, LeftBehind
from bench.machine.probes import kernel, memory, slabs
from bench.machine.probes.memory import OwnMemory
from bench.plan import workloads
from bench.plan.tls import Tls
from bench.run.process import ProcessError, dies_with_parent
from bench.run.protocol import Command, Result, Schedule
from bench.run.record import latency
from bench.run.servers import Server, ServerError
from bench.run.workers import WorkerError, WorkerProcess

LOOK_S = 0.001
READY_S = 120.0
POOL_SIZE = 32
LOOPBACK = "127."


@dataclass(slots=True)
class FleetWorker:
    """A worker process on this host."""

    child: WorkerProcess
    assignment: Assignment
    times: Path
    before: OwnMemory | None = None
    held: OwnMemory | None = None
    result: Result | None = None


@dataclass(slots=True)
class FleetServer:
    """A server process on this host."""

    server: Server
    before: OwnMemory | None = None
    held: OwnMemory | None = None


@dataclass(slots=True)
class MachineReading:
    """The machine of this host at one moment."""

    slabs: slabs.Slabs | None = None
    free: int | None = None
    counters: dict[str, int | None] = field(default_factory=dict)


@contextmanager
def fleet_faults() -> Iterator[None]:
    """Turn the errors of this host's processes into :class:`FleetFault`."""
    try:
        yield
    except (WorkerError, ServerError, ProcessError, OSError) as error:
        # OSError includes TimeoutError: a worker that was not ready in time.
        raise FleetFault(str(error)) from None


class Host:
    """The servers and workers of one trial on this host."""

    def __init__(self, name: str) -> None:
        self.name = name
        address = name.rpartition(":")[0]
        self.address = "127.0.0.1" if address.startswith(LOOPBACK) else address
        self.workers: dict[int, FleetWorker] = {}
        self.servers: dict[int, FleetServer] = {}
        self.warmup: Server | None = None
        """Over TLS if the trial is: importing ssl must not fall into it."""
        self.scratch = tempfile.TemporaryDirectory(prefix="fleet-")
        # Asks all servers at once: asking a hundred busy ones in turn takes too long. Processes
        # are started by the actor's own thread, because they end with the thread.
        self.pool = ThreadPoolExecutor(POOL_SIZE, thread_name_prefix="ask")
        self.before = MachineReading()
        self.held = MachineReading()
        self.sockets_before = kernel.sockets_in_use()

    def limits(self) -> Limits:
        """The limits of this host."""
        return limits.read(self.name)

    def serve(self, number: int, site: str, tls: Tls | None = None) -> Served:
        """Start a server for a site."""
        with fleet_faults():
            server = Server(
                site,
                seed=workloads.SITE_SEED,
                cores=[],
                address=self.address,
                tls=tls,
            )
            self.servers[number] = FleetServer(server)
            authority = None if server.cafile is None else server.cafile.read_bytes()
        return Served(server.prefix, authority)

    def start(self, assignment: Assignment) -> None:
        """Start a worker and assign its connections; :meth:`ready` waits until it has warmed up."""
        served = assignment.served
        with fleet_faults():
            if self.warmup is None:
                tls = Tls() if served.authority else None
                self.warmup = Server(
                    workloads.WARMUP_SITE, seed=workloads.SITE_SEED, cores=[], tls=tls
                )
            cafile = self.authorities(assignment.number, served)
            child = WorkerProcess(f"worker {assignment.number}")
        times = Path(self.scratch.name) / f"times-{assignment.number}"
        self.workers[assignment.number] = FleetWorker(child, assignment, times)
        child.command(
            Command(
                backend=assignment.backend,
                prefix=served.prefix,
                warmup_prefix=self.warmup.prefix,
                urls=assignment.connections,
                slots=assignment.connections,
                timeout_s=assignment.timeout_s,
                schedule=Schedule(kind="constant", rate=assignment.rate),
                switch_interval_s=workloads.HOLD_SWITCH_S,
                recorder="times",
                out=str(times),
                watch_parent=dies_with_parent() is None,
                cafile=None if cafile is None else str(cafile),
            )
        )

    def authorities(self, number: int, served: Served) -> Path | None:
        """The authorities that a worker trusts, in one file; None on plain HTTP.

        One file for the warm-up and the trial, so that the trial uses the warm-up's context.
        """
        if served.authority is None or self.warmup is None or self.warmup.cafile is None:
            return None
        file = Path(self.scratch.name) / f"authorities-{number}.pem"
        file.write_bytes(self.warmup.cafile.read_bytes() + served.authority)
        return file

    def ready(self, number: int) -> None:
        """Wait until a worker has warmed up."""
        with fleet_faults():
            self.workers[number].child.ready(READY_S)

    def arm(self) -> None:
        """Hold every answer from now on, and read the memory before the first connection."""
        with fleet_faults():
            for serving in self.servers.values():
                serving.server.reset()
                serving.server.hold()
        memory.wait_until_settled()
        for worker in self.workers.values():
            worker.before = memory.own_memory(worker.child.pid)
        for serving in self.servers.values():
            serving.before = memory.own_memory(serving.server.pid)
        free = memory.free_memory(or_anonymous=True)
        self.before = MachineReading(slabs.read(), free, kernel.counters())

    def go(self) -> None:
        """Start every worker's crawl."""
        for worker in self.workers.values():
            worker.child.go()

    def look(self) -> HostStatus:
        """The connections held, the results so far, and what went wrong."""
        faults: list[str] = []
        held: dict[int, int] = {}
        asked = {
            number: self.pool.submit(serving.server.barrier)
            for number, serving in self.servers.items()
        }
        for number, answer in asked.items():
            try:
                held[number], _ = answer.result()
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
        """Read the memory again, now that all connections are held."""
        self.held = MachineReading(slabs.read(), memory.free_memory(or_anonymous=True))
        for worker in self.workers.values():
            worker.held = memory.own_memory(worker.child.pid)
        for serving in self.servers.values():
            serving.held = memory.own_memory(serving.server.pid)

    def release(self, per_s: float) -> None:
        """Release the held answers, ``per_s`` per second from each server."""
        with fleet_faults():
            servers = [serving.server for serving in self.servers.values()]
            list(self.pool.map(lambda server: server.release(per_s), servers))

    def kernel(self) -> KernelReport:
        """What the kernel gained during the trial."""
        return KernelReport(
            self.before.slabs,
            self.held.slabs,
            self.before.free,
            self.held.free,
            kernel.delta(self.before.counters, kernel.counters()),
        )

    def worker_report(self, number: int) -> WorkerReport:
        """The report on a worker that has given its result."""
        worker = self.workers[number]
        assert worker.result is not None
        stack = memory.kernel_stack_bytes()
        before, held = worker.before, worker.held
        growth = Growth()
        if before is not None and held is not None:
            threads = held.threads - before.threads
            growth = Growth(
                user_bytes=memory.gain(before.user_bytes, held.user_bytes),
                page_table_bytes=memory.gain(before.page_table_bytes, held.page_table_bytes),
                kernel_stack_bytes=None if stack is None else threads * stack,
                send_buffer_bytes=min(threads, worker.assignment.connections)
                * memory.send_buffer(),
            )
        service = latency(worker.times, "service", worker.result.service)
        return WorkerReport(worker.result, service, growth)

    def server_report(self, number: int) -> ServerReport:
        """The report on a server."""
        serving = self.servers[number]
        with fleet_faults():
            ledger = serving.server.ledger()
        before, held = serving.before, serving.held
        growth = Growth()
        if before is not None and held is not None:
            growth = Growth(
                server_user_bytes=memory.gain(before.user_bytes, held.user_bytes),
                server_page_table_bytes=memory.gain(before.page_table_bytes, held.page_table_bytes),
            )
        return ServerReport(
            digest=serving.server.digest,
            ledger=ledger,
            growth=growth,
        )

    def stop(self) -> LeftBehind:
        """End every process on this host, and report what is left of them."""
        ends: list[Callable[[], None]] = [
            *(worker.child.close for worker in self.workers.values()),
            *(serving.server.stop for serving in self.servers.values()),
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
        left = kernel.tcp_sockets()
        in_use = kernel.sockets_in_use()
        return LeftBehind(
            host=self.name,
            processes=len(psutil.Process().children(recursive=True)),
            sockets=memory.gain(self.sockets_before, in_use),
            orphans=left.get("orphan"),
            time_wait=left.get("tw"),
        )
