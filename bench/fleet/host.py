"""One host of the fleet: its servers, its workers, its readings. Lives there as a dask actor.

A worker is ``python -m bench.worker``, the process that a trial on one machine
measures; a server is ``python -m server``. Neither knows of the fleet. They
are children of the dask worker, so they end with it, whatever ends it.

All methods run one after another in the actor's own thread, and none waits
without an end.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bench import trial, workloads
from bench.fleet import limits
from bench.fleet.cluster import FleetFault
from bench.fleet.limits import Limits
from bench.fleet.schema import Growth, LeftBehind
from bench.probes import kernel, memory, procfs, slabs
from bench.process import Child, ProcessError, dies_with_parent
from bench.schema import Latency, Ledger
from bench.servers import Server, ServerError
from bench.trial import TrialError

LOOK_S = 0.001
READY_S = 120.0
ASKERS = 32
LOOPBACK = "127."


@dataclass(frozen=True, slots=True)
class Order:
    """What one worker is to do; ``prefix`` is where its server listens."""

    number: int
    backend: str
    prefix: str
    connections: int
    rate: float
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Look:
    """A host at one moment: what its servers hold, and who is no longer well."""

    held: dict[int, int]
    results: int
    free_bytes: int | None
    faults: list[str]


@dataclass(frozen=True, slots=True)
class WorkerOutcome:
    """What a worker said, and what it took."""

    result: dict[str, Any]
    service_time: Latency | None
    growth: Growth


@dataclass(frozen=True, slots=True)
class ServerOutcome:
    """What a server saw, and what it took."""

    digest: str | None
    ledger: Ledger
    user_s: float
    system_s: float
    growth: Growth


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the kernel of a host's machine gained for the connections of all its hosts."""

    slabs_before: slabs.Slabs | None
    slabs_held: slabs.Slabs | None
    free_before: int | None
    free_held: int | None
    counters: dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Own:
    """A process's own memory at one moment, in bytes."""

    user: int | None
    page_tables: int | None
    threads: int


@dataclass(slots=True)
class Worker:
    """A worker process of this host."""

    child: Child
    order: Order
    times: Path
    before: Own | None = None
    held: Own | None = None
    result: dict[str, Any] | None = None


@dataclass(slots=True)
class Serving:
    """A server process of this host."""

    server: Server
    before: Own | None = None
    held: Own | None = None
    cpu_before: tuple[float, float] = (0.0, 0.0)


@dataclass(slots=True)
class Reading:
    """The machine at one moment."""

    slabs: slabs.Slabs | None = None
    free: int | None = None
    counters: dict[str, int | None] = field(default_factory=dict)


def own_memory(pid: int) -> Own:
    """A process's private memory, page tables and threads."""
    try:
        user, _ = memory.user_memory(pid)
    except psutil.NoSuchProcess:
        user = None
    status = procfs.kib_fields(procfs.read(f"proc/{pid}/status") or "")
    return Own(user, status.get("VmPTE"), status.get("Threads", 1))


def gain(before: int | None, after: int | None) -> int | None:
    """The difference, None where either end is unknown."""
    return None if before is None or after is None else after - before


def free_bytes(or_anonymous: bool = False) -> int | None:
    """Bytes that nothing on this machine holds, or that programs hold for themselves.

    With the latter, what other programs do meanwhile does not move it; what
    ours took is known and added again.
    """
    meminfo, zoneinfo = procfs.read("proc/meminfo") or "", procfs.read("proc/zoneinfo") or ""
    free = memory.machine_free(meminfo, zoneinfo, os.sysconf("SC_PAGE_SIZE"))
    if free is None or not or_anonymous:
        return free
    return free + procfs.kib_fields(meminfo).get("AnonPages", 0)


@contextmanager
def told() -> Iterator[None]:
    """Errors of this host's processes as the one kind that the fleet knows."""
    try:
        yield
    except (TrialError, ServerError, ProcessError, OSError) as error:
        # OSError has TimeoutError in it: a worker that was not ready in time.
        raise FleetFault(str(error)) from None


class Host:
    """The servers and workers of one trial on this host."""

    def __init__(self, name: str) -> None:
        self.name = name
        address = name.rpartition(":")[0]
        self.address = "127.0.0.1" if address.startswith(LOOPBACK) else address
        self.workers: dict[int, Worker] = {}
        self.servers: dict[int, Serving] = {}
        self.warmup: Server | None = None
        self.scratch = tempfile.TemporaryDirectory(prefix="fleet-")
        # They only ask servers, all at once: one after another, a hundred busy ones take too
        # long. Processes are started by the actor's own thread, with which they end.
        self.askers = ThreadPoolExecutor(ASKERS, thread_name_prefix="asker")
        self.before = Reading()
        self.held = Reading()
        self.sockets_before = kernel.sockets_in_use()

    def limits(self) -> Limits:
        """What this host allows."""
        return limits.read(self.name)

    def serve(self, number: int, site: str, delay: str = "none") -> str:
        """Start a server for a site; where it listens, as a URL prefix."""
        with told():
            server = Server(
                site, delay=delay, seed=workloads.SITE_SEED, cores=[], address=self.address
            )
        self.servers[number] = Serving(server)
        return server.prefix

    def expected(self, number: int) -> dict[str, tuple[int, int]]:
        """Status and checksum of every URL of a server's site, by its path."""
        with told():
            found = self.servers[number].server.ask("GET", "/site")["expected"]
        return {path: (status, int(checksum, 16)) for path, (status, checksum) in found.items()}

    def start(self, order: Order) -> None:
        """Start a worker and tell it what to do; :meth:`ready` waits until it has warmed up."""
        with told():
            if self.warmup is None:
                self.warmup = Server(workloads.WARMUP_SITE, seed=workloads.SITE_SEED, cores=[])
            child = Child(f"worker {order.number}", ["-m", "bench.worker"])
        times = Path(self.scratch.name) / f"times-{order.number}"
        self.workers[order.number] = Worker(child, order, times)
        schedule = {"kind": "constant", "rate": order.rate, "seed": 0}
        command = {
            "backend": order.backend,
            "prefix": order.prefix,
            "warmup_prefix": self.warmup.prefix,
            "urls": order.connections,
            "slots": order.connections,
            "timeout_s": order.timeout_s,
            "schedule": schedule,
            "switch_interval_s": workloads.HOLD_SWITCH_S,
            "recorder": "times",
            "out": str(times),
            "watch_parent": dies_with_parent() is None,
        }
        child.say(json.dumps(command))

    def ready(self, number: int) -> None:
        """Wait until a worker waits for the word."""
        with told():
            trial.answer(self.workers[number].child, time.monotonic() + READY_S)

    def arm(self, hold: bool = True) -> None:
        """All are ready: hold every answer from now on, and read what there is before the first."""
        with told():
            for serving in self.servers.values():
                serving.server.reset()
                if hold:
                    serving.server.hold()
                serving.cpu_before = serving.server.cpu()
        memory.settle()
        for worker in self.workers.values():
            worker.before = own_memory(worker.child.pid)
        for serving in self.servers.values():
            serving.before = own_memory(serving.server.pid)
        self.before = Reading(slabs.read(), free_bytes(or_anonymous=True), kernel.counters())

    def go(self) -> None:
        """The word to every worker."""
        for worker in self.workers.values():
            worker.child.say("go")

    def look(self) -> Look:
        """What is held, how many have given their result, and what went wrong."""
        faults: list[str] = []
        held: dict[int, int] = {}
        asked = {
            number: self.askers.submit(serving.server.barrier)
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
                        worker.result = trial.answer(worker.child, time.monotonic() + LOOK_S)
                except (TrialError, ProcessError) as error:
                    faults.append(f"worker {number}: {error}")
        results = sum(worker.result is not None for worker in self.workers.values())
        return Look(held, results, free_bytes(), faults)

    def read(self) -> None:
        """All are held: read the memory again."""
        self.held = Reading(slabs.read(), free_bytes(or_anonymous=True))
        for worker in self.workers.values():
            worker.held = own_memory(worker.child.pid)
        for serving in self.servers.values():
            serving.held = own_memory(serving.server.pid)

    def release(self, per_s: float) -> None:
        """Let go of what is held, so many answers a second from each server."""
        with told():
            servers = [serving.server for serving in self.servers.values()]
            list(self.askers.map(lambda server: server.release(per_s), servers))

    def kernel(self) -> Kernel:
        """The machine's side of the trial."""
        return Kernel(
            self.before.slabs,
            self.held.slabs,
            self.before.free,
            self.held.free,
            kernel.delta(self.before.counters, kernel.counters()),
        )

    def worker_outcome(self, number: int) -> WorkerOutcome:
        """What became of a worker that has given its result."""
        worker = self.workers[number]
        assert worker.result is not None
        meminfo, loadavg = procfs.read("proc/meminfo") or "", procfs.read("proc/loadavg") or ""
        stack = memory.stack_size(meminfo, loadavg, platform.machine())
        before, held = worker.before, worker.held
        growth = Growth()
        if before is not None and held is not None:
            threads = held.threads - before.threads
            growth = Growth(
                user_bytes=gain(before.user, held.user),
                page_table_bytes=gain(before.page_tables, held.page_tables),
                kernel_stack_bytes=None if stack is None else threads * stack,
                send_buffer_bytes=min(threads, worker.order.connections) * memory.send_buffer(),
            )
        service = worker.times.with_suffix(".service")
        return WorkerOutcome(
            worker.result, trial.latency(service, worker.result["service"]), growth
        )

    def server_outcome(self, number: int) -> ServerOutcome:
        """What a server saw."""
        serving = self.servers[number]
        with told():
            ledger, (user, system) = serving.server.ledger(), serving.server.cpu()
        before, held = serving.before, serving.held
        growth = Growth()
        if before is not None and held is not None:
            growth = Growth(
                server_user_bytes=gain(before.user, held.user),
                server_page_table_bytes=gain(before.page_tables, held.page_tables),
            )
        return ServerOutcome(
            digest=serving.server.digest,
            ledger=ledger,
            user_s=user - serving.cpu_before[0],
            system_s=system - serving.cpu_before[1],
            growth=growth,
        )

    def stop(self) -> LeftBehind:
        """End every process of this host, and say what is left of them."""
        ends: list[Callable[[], None]] = [
            *(worker.child.close for worker in self.workers.values()),
            *(serving.server.stop for serving in self.servers.values()),
        ]
        if self.warmup is not None:
            ends.append(self.warmup.stop)
        for worker in self.workers.values():
            if worker.result is None:  # it will not end by itself
                worker.child.process.kill()
        for end in ends:
            end()
        self.workers.clear()
        self.servers.clear()
        self.warmup = None
        self.askers.shutdown()
        self.scratch.cleanup()
        left = kernel.tcp_sockets()
        in_use = kernel.sockets_in_use()
        return LeftBehind(
            host=self.name,
            processes=len(psutil.Process().children(recursive=True)),
            sockets=gain(self.sockets_before, in_use),
            orphans=left.get("orphan"),
            time_wait=left.get("tw"),
        )
