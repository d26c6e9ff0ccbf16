"""A trial that holds connections: all workers of the fleet meet at one barrier.

Every server withholds its answers. When all servers together hold as many requests as the fleet has
slots, every host reads its memory and releases its answers. If a host or a process is lost on the
way, the trial ends at once and is void, and its record names what was lost.

The hosts are this machine alone, or each worker of a dask cluster. One that does not answer in time
is lost, whatever the network reports: an unplugged cable reports nothing.

A share is an ordinary trial of a crawler (:class:`bench.run.trial.Crawling`), with a worker and a
server that know nothing of the fleet. All are children of the process that has the host, so they
end with it in any case.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from typing import Any, Final, NamedTuple

import psutil

from bench import filesystem
from bench.fleet.study import FleetTrial, HostRecord, Moment, Worker
from bench.launch import install
from bench.machine import cpu, doctor, environment, memory, procfs
from bench.machine.host import counters, delta, ephemeral_ports
from bench.machine.memory import Snapshot, added, gain, grown
from bench.plan import backends
from bench.plan.participants import Label
from bench.plan.plan import PlannedTrial
from bench.plan.workloads import SITE_SEED
from bench.run.trial import Bench, Crawling
from bench.schema import MemoryParts
from bench.sides.process import ProcessError, interruptible
from bench.sides.servers import ServerError
from bench.study import StudyError
from bench.study.runner import Lost

# --- a host: its servers, its workers, and what it reads of their memory -------------------

LOOK_S, READY_S, POOL_SIZE = 0.001, 120.0, 32
OF_CLIENT: Final = [part for part in memory.PARTS if part in MemoryParts.model_fields]


class FleetFault(StudyError):
    """A host or a process of the fleet failed or was lost; the message names it."""


class HostStatus(NamedTuple):
    """A host at one moment: connections held, and results so far."""

    held: int
    results: int
    free_bytes: int | None


class Host:
    """Its methods run one after another in the same thread, and all have a time limit."""

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

    def limits(self) -> HostRecord:
        """The limits of this machine. Changes only this process's soft descriptor limit."""
        self.record = HostRecord(
            host=self.name,
            boot=environment.boot(),
            cores=psutil.cpu_count() or 1,
            descriptors=doctor.raise_descriptor_limit()[1],
            ports=ephemeral_ports() or procfs.UNLIMITED,
            memory_available_bytes=doctor.available_bytes(),
        )
        return self.record

    def examine(self, plan: FleetTrial) -> list[doctor.CheckResult]:
        """What the doctor says of this machine's part of a plan."""
        return doctor.examine_limits(plan.needs(self.name))

    def start(self, plan: FleetTrial) -> None:
        """Start the servers and the workers; once all have warmed up, read the memory.

        From then on, the servers withhold every answer.
        """
        self.stop()  # a host that was lost and is back still has those of the last trial
        # Asks all servers at once: asking a hundred busy ones in turn takes too long. Processes
        # are started by the host's own thread, because they end with the thread.
        self.pool = self.ends.enter_context(ThreadPoolExecutor(POOL_SIZE))
        bench = Bench(
            backends={backend.name: backend for backend in backends.choose([plan.backend])},
            seed=SITE_SEED,
            pinning=cpu.Pinning([], [], "a fleet uses every processor"),
            scratch=self.ends.enter_context(filesystem.scratch()),
            ends=self.ends,
        )
        for share in plan.shares_of(self.name):
            point = plan.point(share)
            planned = PlannedTrial(0, point.id, share.number, Label(plan.backend))
            trial = Crawling(bench, point, planned, share.number)
            trial.start(self.ends, None)
            trial.worker.what = f"worker {share.number}"
            self.trials.append(trial)
        for trial in self.trials:
            trial.ready()
            trial.tell()
        for trial in self.trials:
            trial.worker.ready(READY_S)
            trial.server.reset()
            trial.server.hold()
        memory.wait_until_settled()
        workers = [trial.worker.pid for trial in self.trials]
        self.reader = memory.Reader(workers, [trial.server.pid for trial in self.trials])
        self.before, self.counters = self.reader.read(), counters()

    def go(self) -> None:
        for trial in self.trials:
            trial.worker.go()

    def look(self) -> HostStatus:
        held = sum(self.pool.map(lambda trial: trial.server.held(), self.trials))
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
        growth, reasons = gained(self.before, self.held, sum(trial.slots for trial in self.trials))
        workers = [judged(trial) for trial in self.trials]
        risen = delta(self.counters, counters())
        seen = {"workers": workers, "growth": growth, "reasons": reasons, "kernel": risen}
        return self.record.model_copy(update=seen)

    def stop(self) -> None:
        for trial in self.trials:
            trial.end()  # a worker would not end by itself while it waits for an answer
        self.ends.close()
        self.trials = []

    def __del__(self) -> None:
        # A host that was too slow for the fleet, and answers again when that has ended, is dropped
        # by dask before it is asked to stop. Python keeps a Popen of a child that runs, and thus
        # the pipe at whose end the child would end.
        self.stop()


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
        void=trial.why_void(trial.result),
    )


def gained(
    before: Snapshot, held: Snapshot, connections: int
) -> tuple[dict[str, int | None], dict[str, str]]:
    """Bytes by owner that a host gained with these connections; why some are unknown."""
    assert before.other is not None
    assert held.other is not None
    seen = memory.memory(before, held, connections)
    server = grown(before.other, held.other, ("user_bytes", "page_table_bytes"))
    of_kernel = memory.kernel_growth(before, held, connections)
    growth = {
        **grown(seen.before, seen.held, OF_CLIENT),
        **{f"server_{part}": gain for part, gain in server.items()},
        "server_kernel_bytes": added((of_kernel.server_sockets, of_kernel.server_other)),
        "machine_drop_bytes": seen.machine_drop_bytes,
    }
    return growth, seen.reasons


# --- all hosts ---------------------------------------------------------------------------

CONNECT_S: Final = 5.0
ANSWER_S: Final = 30.0
"""Without an answer so long, a host is lost. With a hundred busy servers, one takes seconds."""
PATIENCE: Final = {"start": 10, "report": 10, "release": 2, "stop": 2}
"""How many times as long these methods of :class:`Host` may take."""
LOOK_EVERY_S: Final = 0.5
LOOK_REST: Final = 4
"""A pause lasts at least this many times as long as the look before it, to spare the servers."""
SETTLE_S: Final = 0.2
"""Wait between "all are held" and the reading, so that the last client can go to sleep."""


class Fleet:
    """Hosts by name: this machine alone, or actors of dask, each of which answers by a future."""

    def __init__(self, hosts: Mapping[str, Any]) -> None:
        self.hosts = hosts
        self.limits: dict[str, HostRecord] = self.call("limits")

    def call(self, method: str, *arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """Call a method of all hosts at once.

        Raises :class:`FleetFault`, which names the host, if one fails or is lost. The time limit
        applies to each answer, counted from the one before it.
        """
        calls = {}
        for name, host in self.hosts.items():
            with naming(name):
                calls[name] = host.do(method, *arguments)
        return {name: answer(name, call, method) for name, call in calls.items()}

    def stop(self) -> None:
        """End all processes of the hosts that still answer."""
        for name, host in self.hosts.items():
            with suppress(FleetFault), naming(name):
                answer(name, host.do("stop"), "stop")


def answer(host: str, call: Any, method: str) -> Any:  # noqa: ANN401
    """What a host has answered, or does in time."""
    if not hasattr(call, "result"):
        return call
    with naming(host), interruptible():
        return call.result(timeout=ANSWER_S * PATIENCE.get(method, 1))


@contextmanager
def naming(host: str) -> Iterator[None]:
    """Whatever goes wrong with a host becomes a :class:`FleetFault` that names it."""
    try:
        yield
    except FleetFault as fault:
        raise FleetFault(f"host {host}: {fault}") from None
    except Exception as error:
        # Dask raises many kinds of errors: broken connections, forgotten workers, and so on.
        why = "no answer in time" if isinstance(error, TimeoutError) else repr(error)
        raise FleetFault(f"host {host} is lost: {why}") from None


@contextmanager
def connected(scheduler: str | None) -> Iterator[Fleet]:
    """The hosts of the cluster at ``scheduler``; without it, this machine.

    Each dask worker is a host: ``10.0.0.2:4321`` is the name of ``tcp://10.0.0.2:4321``. Raises
    :class:`StudyError` if dask.distributed is missing, there is no scheduler at that address, or
    it has no worker, or two on one machine.
    """
    if scheduler is None:
        yield Fleet({here: Host(here) for here in ["this machine"]})
        return
    try:
        import distributed
    except ImportError:
        raise StudyError(f"a cluster needs dask.distributed: {install('fleet')}") from None
    # The fleet reports lost hosts itself.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(scheduler, timeout=f"{CONNECT_S:g}s")
    except (OSError, ValueError) as error:
        start = "start one with: dask scheduler"
        raise StudyError(f"no dask scheduler at {scheduler}: {error}; {start}") from None
    with client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        # An actor lives as long as its future exists.
        futures = {
            name: client.submit(Host, name, workers=[worker], actor=True, pure=False)
            for worker in sorted(workers)
            for name in [worker.partition("://")[2]]
        }
        fleet = Fleet({name: answer(name, future, "start") for name, future in futures.items()})
        # Each host counts the kernel's memory of its machine as its own.
        machines = {record.boot or name for name, record in fleet.limits.items()}
        if not machines or len(machines) < len(workers):
            names = ", ".join(futures) or "none"
            raise StudyError(f"start one dask worker on each machine; there are {names}")
        yield fleet


# --- a trial -----------------------------------------------------------------------------


def measure(fleet: Fleet, plan: FleetTrial) -> FleetTrial:
    """One trial. Raises :class:`bench.study.runner.Lost` with what there is of it."""
    seen: dict[str, Any] = {"samples": []}
    try:
        hold(fleet, plan, seen)
    except FleetFault as fault:
        raise Lost(str(fault), void=True, part=plan.model_copy(update=seen)) from None
    finally:
        fleet.stop()
    return plan.model_copy(update=seen)


def hold(fleet: Fleet, plan: FleetTrial, seen: dict[str, Any]) -> None:
    """What it sees goes to ``seen``, by the names of the record. Raises :class:`FleetFault`."""
    free: list[int | None] = []

    def until(what: str, wanted: int, *step: Any) -> float:  # noqa: ANN401
        """Let all hosts take a step, and look until there are so many; returns after how long."""
        began = time.monotonic()
        fleet.call(*step)
        while True:
            looked = time.monotonic()
            looks = fleet.call("look").values()
            at_s, took = time.monotonic() - began, time.monotonic() - looked
            there = sum(getattr(look, what) for look in looks)
            if what == "held":
                free.append(added(look.free_bytes for look in looks))
                used = gain(free[-1], free[0])
                seen["samples"].append(Moment(at_s=at_s, connections=there, used_bytes=used))
            if there >= wanted:
                return at_s
            if at_s > plan.patience_s:
                raise FleetFault(f"only {there:,} of {wanted:,} {what} after {at_s:.0f} s")
            with interruptible():
                time.sleep(max(LOOK_EVERY_S - took, LOOK_REST * took))

    workers = len(plan.shares)
    fleet.call("start", plan)
    seen["opened_s"] = until("held", plan.connections, "go")
    time.sleep(SETTLE_S)
    seen["released_s"] = until("results", workers, "release", plan.ramp_per_s / workers)
    seen["hosts"] = list(fleet.call("report").values())
    for host in seen["hosts"]:
        for worker in host.workers:
            if worker.void:
                raise FleetFault(f"worker {worker.worker} on host {host.host}: {worker.void}")
