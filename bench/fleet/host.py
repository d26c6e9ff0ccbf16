"""One host of the fleet: its servers, its workers, and what it reads of their memory.

A share is an ordinary trial of a crawler (:class:`bench.run.trial.Crawling`), with a worker and a
server that know nothing of the fleet. All are children of the process that has the host, so they
end with it in any case.

The methods run one after another in the same thread, and all have a time limit.
"""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil

from bench.fleet.plan import FleetPlan
from bench.fleet.records import HostRecord, Worker
from bench.machine import cpu, doctor, environment, kernel, memory, procfs
from bench.machine.memory import Snapshot, added, grown
from bench.plan import workloads
from bench.plan.labels import Label
from bench.plan.plan import Turn
from bench.run import block
from bench.run.trial import Bench, Crawling
from bench.schema import MemoryParts
from bench.sides.process import ProcessError
from bench.sides.servers import Server, ServerError, Tls
from bench.study.record import StudyError

LOOK_S: Final = 0.001
READY_S: Final = 120.0
POOL_SIZE: Final = 32
OF_SERVER: Final = ("user_bytes", "page_table_bytes")
OF_CLIENT: Final = [part for part in memory.PARTS if part in MemoryParts.model_fields]


class FleetFault(StudyError):
    """A host or a process of the fleet failed or was lost; the message names it."""


class HostStatus(NamedTuple):
    """A host at one moment: connections held, and results so far."""

    held: int
    results: int
    free_bytes: int | None


class Host:
    def __init__(self, name: str) -> None:
        self.name = name
        self.trials: list[Crawling] = []
        self.ends = ExitStack()

    def do(self, method: str, *arguments: Any) -> Any:  # noqa: ANN401
        """Call a method. Raises :class:`FleetFault` for what goes wrong with a process."""
        try:
            return getattr(self, method)(*arguments)
        except (ServerError, ProcessError, OSError, psutil.Error) as error:
            # OSError includes TimeoutError: a worker that was not ready in time.
            raise FleetFault(str(error)) from None

    # --- before anything starts ---

    def limits(self) -> HostRecord:
        """The limits of this machine. Changes only this process's soft descriptor limit."""
        _, descriptors = doctor.raise_descriptor_limit()
        self.record = HostRecord(
            host=self.name,
            boot=environment.boot(),
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
        """Start the servers and the workers; once all have warmed up, read the memory.

        From then on, the servers withhold every answer.
        """
        self.stop()  # a host that was lost and is back still has those of the last trial
        scratch = Path(self.ends.enter_context(tempfile.TemporaryDirectory(prefix="fleet-")))
        # Asks all servers at once: asking a hundred busy ones in turn takes too long. Processes
        # are started by the host's own thread, because they end with the thread.
        self.pool = self.ends.enter_context(ThreadPoolExecutor(POOL_SIZE))
        # Over TLS if the trial is: importing ssl must not fall into it.
        tls, seed = Tls() if plan.over_tls else None, workloads.SITE_SEED
        warmup = Server(workloads.WARMUP_SITE, seed=seed, cores=[], tls=tls)
        warmups = {tls: self.ends.enter_context(warmup)}
        anywhere = cpu.Pinning([], [], "a fleet uses every processor")
        bench = Bench(warmups, {plan.backend.name: plan.backend}, anywhere, seed, scratch)
        for share in plan.shares_of(self.name):
            point = plan.point(share)
            turn = Turn(0, point.id, share.number, Label(plan.backend.name))
            trial = Crawling(bench, point, turn, share.number)
            block.start(self.ends, trial, None)
            trial.worker.what = f"worker {share.number}"
            self.trials.append(trial)
        for trial in self.trials:
            trial.ready()
            trial.tell()
        for trial in self.trials:
            trial.worker.ready(READY_S)
        for trial in self.trials:
            trial.server.reset()
            trial.hold()
        memory.wait_until_settled()
        workers = [trial.worker.pid for trial in self.trials]
        self.reader = memory.Reader(workers, [trial.server.pid for trial in self.trials])
        self.before, self.counters = self.reader.read(), kernel.counters()

    def go(self) -> None:
        for trial in self.trials:
            trial.worker.go()

    def look(self) -> HostStatus:
        held = sum(self.pool.map(Crawling.held, self.trials))
        for trial in self.trials:
            if trial.result is None:
                with suppress(TimeoutError):
                    trial.result = trial.worker.result(time.monotonic() + LOOK_S)
        results = sum(trial.result is not None for trial in self.trials)
        return HostStatus(held, results, memory.free_memory())

    def release(self, per_s: float) -> None:
        """Read the memory, then release the answers of all servers together, each at this pace."""
        self.held = self.reader.read()
        list(self.pool.map(lambda trial: trial.server.release(per_s), self.trials))

    def report(self) -> HostRecord:
        connections = sum(trial.slots for trial in self.trials)
        growth, reasons = gained(self.before, self.held, connections)
        seen = {
            "workers": [judged(trial) for trial in self.trials],
            "growth": growth,
            "reasons": reasons,
            "kernel": kernel.delta(self.counters, kernel.counters()),
        }
        return self.record.model_copy(update=seen)

    def stop(self) -> None:
        for trial in self.trials:
            trial.end()  # a worker would not end by itself while it waits for an answer
        self.ends.close()
        self.trials = []


def judged(trial: Crawling) -> Worker:
    """What a worker did, and whether it counts."""
    trial.collect()
    assert trial.result is not None
    assert trial.ledger is not None
    values = asdict(trial.result)
    return Worker(
        worker=trial.number,
        connections=trial.slots,
        **{name: values[name] for name in Worker.model_fields.keys() & values.keys()},
        digest_expected=trial.server.digest,
        ledger=trial.ledger,
        void=trial.why_void(trial.result, {}),
    )


def gained(
    before: Snapshot, held: Snapshot, connections: int
) -> tuple[dict[str, int | None], dict[str, str]]:
    """Bytes by owner that a host gained with these connections; why some are unknown."""
    assert before.other is not None
    assert held.other is not None
    seen = memory.memory(before, held, connections)
    server = grown(before.other, held.other, OF_SERVER)
    of_kernel = memory.kernel_growth(before, held, connections)
    growth = {
        **grown(seen.before, seen.held, OF_CLIENT),
        **{f"server_{part}": gain for part, gain in server.items()},
        "server_kernel_bytes": added((of_kernel.server_sockets, of_kernel.server_other)),
        "machine_drop_bytes": seen.machine_drop_bytes,
    }
    return growth, seen.reasons
