"""One host of the fleet: its servers, its workers, and what it reads of their memory.

A worker is ``python -m bench.sides.worker``, the same process that a trial on one machine measures;
a server is ``python -m server``. Neither knows about the fleet. All are children of the process
that has the host, so they end with it in any case.

The methods run one after another in the same thread, and all have a time limit.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import psutil

from bench.conditions.held import HOLD_SWITCH_S
from bench.fleet.plan import FleetPlan, Share
from bench.fleet.records import Growth, Worker
from bench.machine import kernel, memory
from bench.machine.memory import Snapshot, added
from bench.plan import workloads
from bench.run.judge import void_reason
from bench.sides.process import ProcessError, WorkerError, WorkerProcess
from bench.sides.protocol import Command, Result, Schedule
from bench.sides.servers import Server, ServerError

LOOK_S: Final = 0.001
READY_S: Final = 120.0
POOL_SIZE: Final = 32
OWN: Final = ("user_bytes", "page_table_bytes")


class FleetFault(Exception):
    """A host or a process of the fleet failed or was lost; the message names it."""


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A host at one moment: connections held, results so far, and faults."""

    held: int
    results: int
    free_bytes: int | None
    faults: list[str]


@dataclass(frozen=True, slots=True)
class HostReport:
    """What a host's workers did, why it does not count, and what it gained.

    ``counters`` are differences.
    """

    workers: list[Worker]
    void: str | None
    growth: Growth
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
    def __init__(self, name: str, plan: FleetPlan) -> None:
        self.name, self.plan = name, plan
        self.workers: dict[int, WorkerProcess] = {}
        self.results: dict[int, Result] = {}
        self.servers: dict[int, Server] = {}
        self.warmup: Server | None = None
        self.scratch = tempfile.TemporaryDirectory(prefix="fleet-")
        # Asks all servers at once: asking a hundred busy ones in turn takes too long. Processes
        # are started by the host's own thread, because they end with the thread.
        self.pool = ThreadPoolExecutor(POOL_SIZE, thread_name_prefix="ask")
        self.before: Snapshot
        self.held: Snapshot
        self.counters: dict[str, int | None] = {}

    @property
    def shares(self) -> list[Share]:
        return [share for share in self.plan.shares if share.host == self.name]

    def start(self) -> None:
        """Start the servers, then the workers, and wait until all have warmed up."""
        with fleet_faults():
            for share in self.shares:
                site = f"list:{share.connections}:{workloads.PAGE_BYTES}"
                self.servers[share.number] = self._server(site)
            # Over TLS if the trial is: importing ssl must not fall into it.
            self.warmup = self._server(workloads.WARMUP_SITE)
            for share in self.shares:
                child = self.workers[share.number] = WorkerProcess(f"worker {share.number}")
                child.command(self._command(share, self.servers[share.number], self.warmup))
            for child in self.workers.values():
                child.ready(READY_S)

    def _server(self, site: str) -> Server:
        return Server(site, seed=workloads.SITE_SEED, cores=[], tls=self.plan.tls)

    def _command(self, share: Share, server: Server, warmup: Server) -> Command:
        plan = self.plan
        cafile: Path | None = None
        if server.cafile is not None and warmup.cafile is not None:
            # One file for the warm-up and the trial, so that the trial uses the warm-up's context.
            cafile = Path(self.scratch.name) / f"authorities-{share.number}.pem"
            cafile.write_bytes(warmup.cafile.read_bytes() + server.cafile.read_bytes())
        rate = plan.ramp_per_s * share.connections / plan.connections
        return Command(
            backend=plan.backend,
            prefix=server.prefix,
            warmup_prefix=warmup.prefix,
            urls=share.connections,
            slots=share.connections,
            timeout_s=2 * plan.patience_s,
            schedule=Schedule(kind="constant", rate=rate),
            switch_interval_s=HOLD_SWITCH_S,
            recorder="times",
            out=f"{self.scratch.name}/times-{share.number}",
            cafile=None if cafile is None else str(cafile),
        )

    def arm(self) -> None:
        """Hold every answer from now on, and read the memory before the first connection."""
        with fleet_faults():
            for server in self.servers.values():
                server.reset()
                server.hold()
            memory.wait_until_settled()
            self.before, self.counters = self._memory(), kernel.counters()

    def _memory(self) -> Snapshot:
        stack = memory.kernel_stack_bytes()
        own, other = (
            memory.total([memory.process_parts(psutil.Process(one.pid), stack) for one in side])
            for side in (self.workers.values(), self.servers.values())
        )
        return Snapshot(own, other, memory.free_memory(or_anonymous=True), memory.read_slabs())

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

    def release(self) -> None:
        """Release the held answers, all servers together at the pace of the ramp."""
        per_s = self.plan.ramp_per_s / len(self.plan.shares)
        with fleet_faults():
            list(self.pool.map(lambda server: server.release(per_s), self.servers.values()))

    def report(self) -> HostReport:
        with fleet_faults():
            ledgers = {number: server.ledger() for number, server in self.servers.items()}
        workers, reasons = [], []
        for share in self.shares:
            server, result = self.servers[share.number], self.results[share.number]
            slots, ledger = share.connections, ledgers[share.number]
            if reason := void_reason(self.plan.under, result, ledger, slots, server.digest):
                reasons.append(f"worker {share.number} on host {self.name}: {reason}")
            said = asdict(result)
            workers.append(
                Worker(
                    worker=share.number,
                    host=self.name,
                    server=server.prefix,
                    connections=slots,
                    **{name: said[name] for name in Worker.model_fields.keys() & said.keys()},
                    digest_expected=server.digest,
                    ledger=ledger,
                )
            )
        return HostReport(
            workers,
            next(iter(reasons), None),
            growth(self.plan, self.name, self.before, self.held),
            kernel.delta(self.counters, kernel.counters()),
        )

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


def growth(plan: FleetPlan, name: str, before: Snapshot, held: Snapshot) -> Growth:
    """What a host gained, by owner.

    The kernel's parts and the free memory belong to the machine, so that its first host has them
    for all of its connections, and its other hosts none.
    """
    own = memory.grown(before.own, held.own, (*OWN, "kernel_stack_bytes"))
    if before.other is not None and held.other is not None:
        theirs = memory.grown(before.other, held.other, OWN)
        own |= {f"server_{part}": gain for part, gain in theirs.items()}
    connections = sum(share.connections for share in plan.shares if share.host == name)
    of_kernel = memory.KernelGrowth(0, 0, 0, 0)
    drop: int | None = 0
    if name in plan.machines:
        on_machine = sum(share.connections for share in plan.machines[name])
        of_kernel = memory.kernel_growth(before.slabs, held.slabs, on_machine)
        drop = memory.gain(held.free, before.free)
    return Growth(
        **own,
        send_buffer_bytes=memory.send_buffers(before.own, held.own, connections),
        kernel_socket_bytes=of_kernel.sockets,
        kernel_other_bytes=of_kernel.other,
        server_kernel_bytes=added((of_kernel.server_sockets, of_kernel.server_other)),
        # Anonymous memory counts as free in a reading, so that of the processes is added.
        machine_drop_bytes=added((drop, own["user_bytes"], own.get("server_user_bytes"))),
    )
