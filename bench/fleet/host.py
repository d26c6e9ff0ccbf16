"""One host of the fleet: its servers, its workers, and what it reads of their memory.

A worker is ``python -m bench.sides.worker``, the same process that a trial on one machine measures;
a server is ``python -m server``. Neither knows about the fleet. All are children of the process
that has the host, so they end with it in any case.

The methods run one after another in the same thread, and all have a time limit.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import psutil

from bench.conditions.held import HOLD_SWITCH_S
from bench.fleet.plan import FleetPlan, Share
from bench.fleet.records import Growth, HostFacts, Worker
from bench.machine import kernel, memory, procfs
from bench.machine.doctor import (
    CheckResult,
    Needs,
    available_bytes,
    examine_limits,
    raise_descriptor_limit,
)
from bench.machine.memory import Slabs, Snapshot, added
from bench.plan import workloads
from bench.run.judge import void_reason
from bench.sides.process import ProcessError, WorkerError, WorkerProcess
from bench.sides.protocol import Command, Result, Schedule
from bench.sides.servers import Server, ServerError, authorities
from bench.study.record import StudyError

LOOK_S: Final = 0.001
READY_S: Final = 120.0
POOL_SIZE: Final = 32
OWN: Final = ("user_bytes", "page_table_bytes")


class FleetFault(StudyError):
    """A host or a process of the fleet failed or was lost; the message names it."""


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A host at one moment: connections held, and results so far."""

    held: int
    results: int
    free_bytes: int | None


@dataclass(frozen=True, slots=True)
class HostReport:
    """What a host's workers did, why it does not count, and what it gained.

    ``counters`` are differences.
    """

    workers: list[Worker]
    void: str | None
    growth: Growth
    counters: dict[str, int | None]


class Host:
    def __init__(self, name: str) -> None:
        self.name = name
        self.workers: dict[int, WorkerProcess] = {}
        self.results: dict[int, Result] = {}
        self.servers: dict[int, Server] = {}
        self.ends = ExitStack()

    def do(self, method: str, *given: Any) -> Any:  # noqa: ANN401
        """Call a method. Raises :class:`FleetFault` for what goes wrong with a process."""
        try:
            return getattr(self, method)(*given)
        except (WorkerError, ServerError, ProcessError, OSError, psutil.Error) as error:
            # OSError includes TimeoutError: a worker that was not ready in time.
            raise FleetFault(str(error)) from None

    # --- before anything starts ---

    def facts(self) -> tuple[str, HostFacts]:
        """This machine's boot id, and its limits, as its machine's first host.

        Changes only this process's soft descriptor limit.
        """
        _, descriptors = raise_descriptor_limit()
        return procfs.read("proc/sys/kernel/random/boot_id") or self.name, HostFacts(
            host=self.name,
            machine=0,
            cores=psutil.cpu_count() or 1,
            descriptors=descriptors,
            ports=kernel.ephemeral_ports() or procfs.UNLIMITED,
            memory_available_bytes=available_bytes(),
        )

    def examine(self, needs: Mapping[str, Needs]) -> list[CheckResult]:
        """What the doctor says of this machine, if this is its first host."""
        return examine_limits(needs[self.name]) if self.name in needs else []

    # --- a trial ---

    def start(self, plan: FleetPlan) -> None:
        """Start the servers, then the workers, and wait until all have warmed up."""
        self.stop()  # a host that was lost and is back still has those of the last trial
        self.plan = plan
        self.shares = [share for share in plan.shares if share.host == self.name]
        self.scratch = Path(self.ends.enter_context(tempfile.TemporaryDirectory(prefix="fleet-")))
        # Asks all servers at once: asking a hundred busy ones in turn takes too long. Processes
        # are started by the host's own thread, because they end with the thread.
        self.pool = self.ends.enter_context(ThreadPoolExecutor(POOL_SIZE))
        for share in self.shares:
            self.servers[share.number] = self._server(
                f"list:{share.connections}:{workloads.PAGE_BYTES}"
            )
        # Over TLS if the trial is: importing ssl must not fall into it.
        warmup = self._server(workloads.WARMUP_SITE)
        for share in self.shares:
            child = self.ends.enter_context(WorkerProcess(f"worker {share.number}"))
            self.workers[share.number] = child
            child.command(self._command(share, self.servers[share.number], warmup))
        for child in self.workers.values():
            child.ready(READY_S)

    def _server(self, site: str) -> Server:
        made = Server(site, seed=workloads.SITE_SEED, cores=[], tls=self.plan.tls)
        return self.ends.enter_context(made)

    def _command(self, share: Share, server: Server, warmup: Server) -> Command:
        plan, times = self.plan, self.scratch / f"times-{share.number}"
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
            out=str(times),
            cafile=authorities(times.with_suffix(".pem"), warmup, server),
        )

    def arm(self) -> None:
        """Hold every answer from now on, and read the memory before the first connection."""
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
        held = sum(self.pool.map(Server.held, self.servers.values()))
        for number in self.workers.keys() - self.results.keys():
            with suppress(TimeoutError):
                late = time.monotonic() + LOOK_S
                self.results[number] = self.workers[number].result(late)
        return HostStatus(held, len(self.results), memory.free_memory())

    def read(self) -> None:
        self.held = self._memory()

    def release(self) -> None:
        """Release the held answers, all servers together at the pace of the ramp."""
        per_s = self.plan.ramp_per_s / len(self.plan.shares)
        list(self.pool.map(lambda server: server.release(per_s), self.servers.values()))

    def report(self) -> HostReport:
        workers, reasons = [], []
        for share in self.shares:
            server, result = self.servers[share.number], self.results[share.number]
            slots, ledger, said = share.connections, server.ledger(), asdict(result)
            if reason := void_reason(self.plan.under, result, ledger, slots, server.digest):
                reasons.append(f"worker {share.number} on host {self.name}: {reason}")
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
        for number in self.workers.keys() - self.results.keys():
            self.workers[number].process.kill()  # it would not end by itself
        self.ends.close()
        self.workers, self.results, self.servers = {}, {}, {}


def growth(plan: FleetPlan, name: str, before: Snapshot, held: Snapshot) -> Growth:
    """What a host gained, by owner.

    The kernel's parts and the free memory belong to the machine, so that its first host has them
    for all of its connections, and its other hosts none.
    """
    if name not in plan.machines:
        before, held = (replace(each, free=0, slabs=Slabs({}, {})) for each in (before, held))
    own = memory.grown(before.own, held.own, (*OWN, "kernel_stack_bytes"))
    assert before.other is not None
    assert held.other is not None
    theirs = memory.grown(before.other, held.other, OWN)
    on_machine = sum(share.connections for share in plan.machines.get(name, ()))
    of_kernel = memory.kernel_growth(before.slabs, held.slabs, on_machine)
    return Growth(
        **own,
        **{f"server_{part}": gain for part, gain in theirs.items()},
        send_buffer_bytes=memory.send_buffers(before.own, held.own, plan.connections),
        kernel_socket_bytes=of_kernel.sockets,
        kernel_other_bytes=of_kernel.other,
        server_kernel_bytes=added((of_kernel.server_sockets, of_kernel.server_other)),
        machine_drop_bytes=memory.second_method(before, held),
    )
