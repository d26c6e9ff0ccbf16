"""One host of the fleet, a dask actor: its servers, its workers, its readings, its messages.

A worker is ``python -m bench.sides.worker``, the same process that a trial on one
machine measures; a server is ``python -m server``. Neither knows about the fleet.
Both are children of the dask worker, so they end with it in any case.

The methods run one after another in the actor's thread, and all have a time limit.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from bench.fleet.cluster import FleetFault
from bench.fleet.records import Growth
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
OWN = ("user_bytes", "page_table_bytes")


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
class HostMemory:
    """A host's machine at one moment, and its processes by their ids."""

    slabs: Slabs | None = None
    free: int | None = None
    own: dict[int, MemoryParts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostReport:
    """What a host's processes did and gained, and its machine before the first connection and
    with all held. ``counters`` are differences."""

    workers: dict[int, tuple[Result, Growth]]
    servers: dict[int, tuple[str | None, Ledger, Growth]]
    before: HostMemory
    held: HostMemory
    counters: dict[str, int | None]


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
        self.address = name.rpartition(":")[0]
        self.workers: dict[int, WorkerProcess] = {}
        self.slots: dict[int, int] = {}
        self.results: dict[int, Result] = {}
        self.servers: dict[int, Server] = {}
        # Over TLS if the trial is: importing ssl must not fall into it.
        self.warmup: Server | None = None
        self.scratch = tempfile.TemporaryDirectory(prefix="fleet-")
        # Asks all servers at once: asking a hundred busy ones in turn takes too long. Processes
        # are started by the actor's own thread, because they end with the thread.
        self.pool = ThreadPoolExecutor(POOL_SIZE, thread_name_prefix="ask")
        self.before = self.held = HostMemory()
        self.counters: dict[str, int | None] = {}

    def serve(self, sites: Mapping[int, tuple[str, Tls | None]]) -> dict[int, Served]:
        """Start the server of each share, by their numbers."""
        found = {}
        with fleet_faults():
            for number, (site, tls) in sites.items():
                server = Server(
                    site, seed=workloads.SITE_SEED, cores=[], address=self.address, tls=tls
                )
                self.servers[number] = server
                authority = None if server.cafile is None else server.cafile.read_bytes()
                found[number] = Served(server.prefix, authority)
        return found

    def start(self, commands: Mapping[int, tuple[Command, bytes | None]]) -> None:
        """Start the worker of each share, and wait until all have warmed up.

        A command lacks what is of this host. Beside it is the authority of the worker's server.
        """
        with fleet_faults():
            for number, (command, authority) in commands.items():
                if self.warmup is None:
                    tls = Tls() if authority else None
                    self.warmup = Server(
                        workloads.WARMUP_SITE, seed=workloads.SITE_SEED, cores=[], tls=tls
                    )
                child = self.workers[number] = WorkerProcess(f"worker {number}")
                self.slots[number] = command.slots
                own = replace(
                    command,
                    warmup_prefix=self.warmup.prefix,
                    out=f"{self.scratch.name}/times-{number}",
                    cafile=self._authorities(number, authority),
                )
                child.command(own)
            for child in self.workers.values():
                child.ready(READY_S)

    def _authorities(self, number: int, authority: bytes | None) -> str | None:
        # One file for the warm-up and the trial, so that the trial uses the warm-up's context.
        if authority is None or self.warmup is None or self.warmup.cafile is None:
            return None
        file = Path(self.scratch.name) / f"authorities-{number}.pem"
        file.write_bytes(self.warmup.cafile.read_bytes() + authority)
        return str(file)

    def arm(self) -> None:
        """Hold every answer from now on, and read the memory before the first connection."""
        with fleet_faults():
            for server in self.servers.values():
                server.reset()
                server.hold()
            memory.wait_until_settled()
            self.before, self.counters = self._memory(), kernel.counters()

    def _memory(self) -> HostMemory:
        stack = memory.kernel_stack_bytes()
        pids = [worker.pid for worker in self.workers.values()]
        pids += [server.pid for server in self.servers.values()]
        own = {pid: memory.process_parts(psutil.Process(pid), stack) for pid in pids}
        return HostMemory(memory.read_slabs(), memory.free_memory(or_anonymous=True), own)

    def go(self) -> None:
        for worker in self.workers.values():
            worker.go()

    def look(self) -> HostStatus:
        held = 0
        faults: list[str] = []
        asked = {n: self.pool.submit(server.held) for n, server in self.servers.items()}
        for number, answer in asked.items():
            try:
                held += answer.result()
            except ServerError as error:
                faults.append(f"the server of worker {number}: {error}")
        for number in self.workers.keys() - self.results.keys():
            try:
                with suppress(TimeoutError):
                    late = time.monotonic() + LOOK_S
                    self.results[number] = self.workers[number].result(late)
            except (WorkerError, ProcessError) as error:
                faults.append(f"worker {number}: {error}")
        return HostStatus(held, len(self.results), memory.free_memory(), faults)

    def read(self) -> None:
        with fleet_faults():
            self.held = self._memory()

    def release(self, per_s: float) -> None:
        """Release the held answers, ``per_s`` per second from each server."""
        with fleet_faults():
            list(self.pool.map(lambda server: server.release(per_s), self.servers.values()))

    def report(self) -> HostReport:
        with fleet_faults():
            ledgers = self.pool.map(lambda server: server.ledger(), self.servers.values())
            by_number = dict(zip(self.servers, ledgers, strict=True))
        return HostReport(
            {number: (result, self._grown(number)) for number, result in self.results.items()},
            {
                number: (server.digest, by_number[number], self._served(server.pid))
                for number, server in self.servers.items()
            },
            self.before,
            self.held,
            kernel.delta(self.counters, kernel.counters()),
        )

    def _grown(self, number: int) -> Growth:
        pid = self.workers[number].pid
        both = self.before.own[pid], self.held.own[pid]
        buffers = memory.send_buffers(*both, self.slots[number])
        own = memory.grown(*both, (*OWN, "kernel_stack_bytes"))
        return Growth.model_validate({**own, "send_buffer_bytes": buffers})

    def _served(self, pid: int) -> Growth:
        gained = memory.grown(self.before.own[pid], self.held.own[pid], OWN)
        return Growth.model_validate({f"server_{name}": gain for name, gain in gained.items()})

    def stop(self) -> None:
        for number, worker in self.workers.items():
            if number not in self.results:  # it would not end by itself
                worker.process.kill()
        ends: list[Callable[[], None]] = [worker.close for worker in self.workers.values()]
        ends += [server.stop for server in self.servers.values()]
        for end in (*ends, *([self.warmup.stop] if self.warmup else [])):
            end()
        self.pool.shutdown()
        self.scratch.cleanup()
