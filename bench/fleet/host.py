"""One host of the fleet: its servers, its workers, and what it reads of their memory.

A worker is ``python -m bench.sides.worker``, the same process that a trial on one machine measures;
a server is ``python -m server``. Neither knows about the fleet. All are children of the process
that has the host, so they end with it in any case.

The methods run one after another in the same thread, and all have a time limit.
"""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil

from bench.conditions.held import HOLD_SWITCH_S
from bench.fleet.plan import FleetPlan, Share
from bench.fleet.records import UNKNOWN, Growth, HostRecord, Worker
from bench.machine import doctor, environment, kernel, memory, objects, procfs
from bench.machine.memory import Snapshot, added
from bench.plan import workloads
from bench.run.judge import void_reason
from bench.schema import MemoryParts
from bench.sides.process import ProcessError, WorkerProcess
from bench.sides.protocol import Command, Result, Schedule
from bench.sides.servers import Server, ServerError, authorities
from bench.study.record import StudyError

LOOK_S: Final = 0.001
READY_S: Final = 120.0
POOL_SIZE: Final = 32
OWN: Final = ("user_bytes", "page_table_bytes")


class FleetFault(StudyError):
    """A host or a process of the fleet failed or was lost; the message names it."""


class HostStatus(NamedTuple):
    """A host at one moment: connections held, and results so far."""

    held: int
    results: int
    free_bytes: int | None


@dataclass(slots=True)
class Crew:
    """A share at work: a worker and its server, with the result as soon as there is one."""

    share: Share
    server: Server
    worker: WorkerProcess
    result: Result | None = None


class Host:
    def __init__(self, name: str) -> None:
        self.name = name
        self.crews: list[Crew] = []
        self.ends = ExitStack()

    def do(self, method: str, *arguments: Any) -> Any:  # noqa: ANN401
        """Call a method. Raises :class:`FleetFault` for what goes wrong with a process."""
        try:
            return getattr(self, method)(*arguments)
        except (ServerError, ProcessError, OSError, psutil.Error) as error:
            # OSError includes TimeoutError: a worker that was not ready in time.
            raise FleetFault(str(error)) from None

    # --- before anything starts ---

    def boot(self) -> str:
        """Tells machines apart; hosts that cannot read it count as different ones."""
        return environment.boot() or self.name

    def limits(self) -> HostRecord:
        """The limits of this machine. Changes only this process's soft descriptor limit."""
        _, descriptors = doctor.raise_descriptor_limit()
        self.record = HostRecord(
            host=self.name,
            cores=psutil.cpu_count() or 1,
            descriptors=descriptors,
            ports=kernel.ephemeral_ports() or procfs.UNLIMITED,
            memory_available_bytes=doctor.available_bytes(),
        )
        return self.record

    def examine(self, plan: FleetPlan) -> list[doctor.CheckResult]:
        """What the doctor says of this machine's part of a plan."""
        return doctor.examine_limits(plan.needs(self.name))

    # --- a trial ---

    def start(self, plan: FleetPlan) -> None:
        """Start the servers, then the workers; once all have warmed up, read the memory.

        From then on, the servers withhold every answer.
        """
        self.stop()  # a host that was lost and is back still has those of the last trial
        self.plan, shares = plan, plan.shares_of(self.name)
        scratch = Path(self.ends.enter_context(tempfile.TemporaryDirectory(prefix="fleet-")))
        # Asks all servers at once: asking a hundred busy ones in turn takes too long. Processes
        # are started by the host's own thread, because they end with the thread.
        self.pool = self.ends.enter_context(ThreadPoolExecutor(POOL_SIZE))
        servers = [
            self._server(f"list:{share.connections}:{workloads.PAGE_BYTES}") for share in shares
        ]
        # Over TLS if the trial is: importing ssl must not fall into it.
        warmup = self._server(workloads.WARMUP_SITE)
        for share, server in zip(shares, servers, strict=True):
            worker = self.ends.enter_context(WorkerProcess(f"worker {share.number}"))
            self.crews.append(Crew(share, server, worker))
            worker.command(self._command(share, server, warmup, scratch))
        for crew in self.crews:
            crew.worker.ready(READY_S)
        for crew in self.crews:
            crew.server.reset()
            crew.server.hold()
        memory.wait_until_settled()
        self.before, self.counters = self._memory(), kernel.counters()

    def _server(self, site: str) -> Server:
        server = Server(site, seed=workloads.SITE_SEED, cores=[], tls=self.plan.tls)
        return self.ends.enter_context(server)

    def _command(self, share: Share, server: Server, warmup: Server, scratch: Path) -> Command:
        plan, times = self.plan, scratch / f"times-{share.number}"
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

    def _memory(self) -> Snapshot:
        stack = memory.kernel_stack_bytes()

        def read(pid: int) -> MemoryParts:
            return memory.process_parts(psutil.Process(pid), stack)

        own = memory.total([read(crew.worker.pid) for crew in self.crews])
        other = memory.total([read(crew.server.pid) for crew in self.crews])
        return Snapshot(own, other, memory.free_memory(or_anonymous=True), objects.read_slabs())

    def go(self) -> None:
        for crew in self.crews:
            crew.worker.go()

    def look(self) -> HostStatus:
        held = sum(self.pool.map(lambda crew: crew.server.held(), self.crews))
        for crew in self.crews:
            if crew.result is None:
                with suppress(TimeoutError):
                    crew.result = crew.worker.result(time.monotonic() + LOOK_S)
        results = sum(crew.result is not None for crew in self.crews)
        return HostStatus(held, results, memory.free_memory())

    def read(self) -> None:
        self.held = self._memory()

    def release(self) -> None:
        """Release the held answers, all servers together at the pace of the ramp."""
        per_s = self.plan.ramp_per_s / len(self.plan.shares)
        list(self.pool.map(lambda crew: crew.server.release(per_s), self.crews))

    def report(self) -> HostRecord:
        connections = sum(crew.share.connections for crew in self.crews)
        seen = {
            "workers": [self._worker(crew) for crew in self.crews],
            "growth": growth(self.before, self.held, connections),
            "kernel": kernel.delta(self.counters, kernel.counters()),
        }
        return self.record.model_copy(update=seen)

    def _worker(self, crew: Crew) -> Worker:
        server, result, share = crew.server, crew.result, crew.share
        assert result is not None
        ledger, values = server.ledger(), asdict(result)
        void = void_reason(self.plan.under, result, ledger, share.connections, server.digest)
        return Worker(
            worker=share.number,
            connections=share.connections,
            **{name: values[name] for name in Worker.model_fields.keys() & values.keys()},
            digest_expected=server.digest,
            ledger=ledger,
            void=void and f"worker {share.number} on host {self.name}: {void}",
        )

    def stop(self) -> None:
        for crew in self.crews:
            if crew.result is None:
                crew.worker.process.kill()  # it would not end by itself
        self.ends.close()
        self.crews = []


def growth(before: Snapshot, held: Snapshot, connections: int) -> Growth:
    """What a host gained with these connections, by owner."""
    assert before.other is not None
    assert held.other is not None
    own = memory.grown(before.own, held.own, (*OWN, "kernel_stack_bytes"))
    server = memory.grown(before.other, held.other, OWN)
    of_kernel = memory.kernel_growth(before, held, connections)
    parts = {
        **own,
        **{f"server_{part}": gain for part, gain in server.items()},
        "send_buffer_bytes": memory.send_buffers(before.own, held.own, connections),
        "kernel_socket_bytes": of_kernel.sockets,
        "kernel_other_bytes": of_kernel.other,
        "server_kernel_bytes": added((of_kernel.server_sockets, of_kernel.server_other)),
        "machine_drop_bytes": memory.second_method(before, held),
    }
    reasons = {part: why for part, why in UNKNOWN.items() if parts[part] is None}
    return Growth.model_validate(parts | {"reasons": reasons})
