"""A trial that holds connections: all workers of the fleet meet at one barrier.

Every server withholds its answers. The barrier is reached when all servers together
hold as many requests as the fleet has slots. Then every host reads its memory, and
only after that do the servers release their answers. If a host or a process is lost
on the way, the trial ends at once and is void, and its record names what was lost.

A trial's record adds what its workers' records have, and never averages it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.conditions.held import HELD, HOLD_SWITCH_S
from bench.conditions.ways import Way
from bench.fleet.cluster import START_S, FleetFault, HostCall, Hosts, addresses
from bench.fleet.host import READY_S, Host, HostReport, HostStatus, Served
from bench.fleet.plan import FleetPlan, Share
from bench.fleet.records import FleetTrialRecord, Growth, Sample, WorkerRecord
from bench.machine import memory
from bench.machine.memory import added
from bench.plan.workloads import PAGE_BYTES
from bench.run.judge import void_reason
from bench.schema import Status
from bench.sides.protocol import Command, Schedule
from bench.terminal import Phases
from bench.text import now
from crawlers.backend import Backend

if TYPE_CHECKING:
    from distributed import Client

LOOK_EVERY_S = 0.5
LOOK_REST = 4
"""A pause lasts at least this many times as long as the look before it, to spare the servers."""
SETTLE_S = 0.2
"""Wait between "all are held" and the reading, so that the last client can go to sleep."""
PATIENCE = 3.0
"""A ramp or a release may take this many times its planned time, plus :data:`SPARE_S`."""
SPARE_S = 60.0
READ_S = 60.0
REPORT_S = 300.0
STOP_S = 60.0


@dataclass(slots=True)
class HoldState:
    status: Status = "ok"
    reason: str | None = None
    served: dict[int, Served] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    held: int | None = None
    opened_s: float | None = None
    released_s: float | None = None
    reports: list[HostReport] = field(default_factory=list)


def run(
    client: Client,
    plan: FleetPlan,
    known: Backend,
    number: int,
    progress: Phases,
    answer_s: float,
) -> tuple[FleetTrialRecord, list[WorkerRecord]]:
    began, started = time.monotonic(), now()
    state = HoldState()
    try:
        hosts = Hosts(client, Host, where(client, plan), answer_s)
    except FleetFault as fault:
        state.status, state.reason = "failed", str(fault)
    else:
        try:
            Trial(hosts, plan, state, progress).measure()
        except FleetFault as fault:
            state.status, state.reason = "void", str(fault)
        finally:
            progress.phase("stopping")
            hosts.stop(STOP_S)
    workers = [worker_record(share, plan, number, state) for share in plan.shares]
    if state.status == "ok":
        bad = [worker for worker in workers if worker.status != "ok"]
        if bad:
            state.status = "void"
            state.reason = f"worker {bad[0].worker} on host {bad[0].host}: {bad[0].reason}"
    merged: dict[str, Any] = {}
    if state.reports:  # these come last, so everything else is there
        kernels, drop = machine_growth(plan, state.reports)
        merged = {
            "growth": growth([w.growth for w in workers if w.growth is not None], kernels, drop),
            "kernel": kernel_counters([report.counters for report in state.reports]),
        }
    record = trial_record(plan, known, number, state, merged, started)
    return record.model_copy(update={"trial_s": time.monotonic() - began}), workers


def where(client: Client, plan: FleetPlan) -> dict[str, str]:
    there = addresses(client)
    for one in plan.hosts:
        if one.host not in there:
            raise FleetFault(f"host {one.host} has left the cluster")
    return {one.host: there[one.host] for one in plan.hosts}


@dataclass(slots=True)
class Trial:
    """The trial itself; fills in ``state`` as it goes."""

    hosts: Hosts
    plan: FleetPlan
    state: HoldState
    progress: Phases

    def measure(self) -> None:
        """From the start to the reports. Raises :class:`FleetFault`."""
        hosts, plan, state, progress = self.hosts, self.plan, self.state, self.progress
        self._start()
        progress.phase("reading memory")
        hosts.all("arm", deadline_s=READ_S)
        began = time.monotonic()
        hosts.all("go", deadline_s=READ_S)
        self._barrier(began)
        progress.phase("all held; reading memory")
        time.sleep(SETTLE_S)
        hosts.all("read", deadline_s=READ_S)
        released = time.monotonic()
        hosts.all("release", plan.ramp_per_s / len(plan.shares), deadline_s=READ_S)
        self._results(released)
        state.released_s = time.monotonic() - released
        progress.phase("collecting")
        state.reports = hosts.all("report", deadline_s=REPORT_S)

    def _start(self) -> None:
        # The servers, then the workers, which need the servers' addresses.
        hosts, plan, progress = self.hosts, self.plan, self.progress
        progress.phase("starting servers", len(plan.shares))
        calls: list[HostCall] = [
            (
                *(share.server_host, "serve"),
                (share.number, f"list:{share.connections}:{PAGE_BYTES}", plan.tls),
            )
            for share in plan.shares
        ]
        for share, served in zip(plan.shares, hosts.each(calls, START_S), strict=True):
            self.state.served[share.number] = served
            progress.to(share.number + 1)
        progress.phase("starting workers", len(plan.shares))
        calls = []
        for share in plan.shares:
            served = self.state.served[share.number]
            arguments = share.number, self._command(share, served.prefix), served.authority
            calls.append((share.host, "start", arguments))
        list(hosts.each(calls, START_S))
        calls = [(share.host, "ready", (share.number,)) for share in plan.shares]
        for done, _ in enumerate(hosts.each(calls, READY_S), 1):
            progress.to(done)

    def _command(self, share: Share, prefix: str) -> Command:
        """What a worker is to crawl; its host adds its own warm-up server and files."""
        rate = self.plan.ramp_per_s * share.connections / self.plan.connections
        return Command(
            backend=self.plan.backend,
            prefix=prefix,
            warmup_prefix="",
            urls=share.connections,
            slots=share.connections,
            timeout_s=2 * self._patience_s,
            schedule=Schedule(kind="constant", rate=rate),
            switch_interval_s=HOLD_SWITCH_S,
            recorder="times",
            out="",
        )

    def _barrier(self, began: float) -> None:
        """Wait until the servers hold a request from every slot; sample the way there.

        Raises :class:`FleetFault` if a host or process is lost, or when the time is up.
        """
        wanted, state = self.plan.connections, self.state
        self.progress.phase("opening connections", wanted)
        first: int | None = None
        for looks in self._looks():
            at = time.monotonic() - began
            held = sum(one.held for one in looks)
            each = zip(self.plan.hosts, looks, strict=True)
            free = added({fact.machine: one.free_bytes for fact, one in each}.values())
            first = free if first is None else first
            used = memory.gain(free, first)
            state.samples.append(Sample(at_s=at, connections=held, used_bytes=used))
            state.held = held
            self.progress.to(held)
            if held >= wanted:
                state.opened_s = at
                return
            if at > self._patience_s:
                raise FleetFault(f"only {held:,} of {wanted:,} connections after {at:.0f} s")

    def _results(self, released: float) -> None:
        wanted = len(self.plan.shares)
        self.progress.phase("releasing", wanted)
        for looks in self._looks():
            done = sum(one.results for one in looks)
            self.progress.to(done)
            if done == wanted:
                return
            if time.monotonic() - released > self._patience_s:
                raise FleetFault(f"only {done} of {wanted} workers gave a result")

    def _looks(self) -> Iterator[list[HostStatus]]:
        """The status of every host, again and again. Raises the first fault."""
        while True:
            looked = time.monotonic()
            looks: list[HostStatus] = self.hosts.all("look")
            for host, one in zip(self.hosts.names, looks, strict=True):
                if one.faults:
                    raise FleetFault(f"host {host}: {one.faults[0]}")
            yield looks
            took = time.monotonic() - looked
            time.sleep(max(LOOK_EVERY_S - took, LOOK_REST * took))

    @property
    def _patience_s(self) -> float:
        return PATIENCE * self.plan.ramp_s + SPARE_S


# --- records ---------------------------------------------------------------------------


def worker_record(share: Share, plan: FleetPlan, number: int, state: HoldState) -> WorkerRecord:
    n = share.number
    worker = next((one.workers[n] for one in state.reports if n in one.workers), None)
    server = next((one.servers[n] for one in state.reports if n in one.servers), None)
    served = state.served.get(n)
    values: dict[str, Any] = {
        "trial": number,
        "worker": n,
        "host": share.host,
        "server": served and served.prefix,
        "connections": share.connections,
    }
    if worker is None or server is None:
        return WorkerRecord(**values, status="failed", reason="no result")
    result = worker.result
    under = (HELD, *([Way(tls=plan.tls)] if plan.tls else []))
    reason = void_reason(under, result, server.ledger, share.connections, server.digest)
    taken = ("pages", "bytes", "statuses", "errors", "elapsed_s", "user_s", "system_s", "digest")
    return WorkerRecord(
        **values,
        **{name: getattr(result, name) for name in taken},
        status="ok" if reason is None else "void",
        reason=reason,
        digest_expected=server.digest,
        ledger=server.ledger,
        growth=Growth(**worker.grown, **server.grown),
        mechanism=result.mechanism,
    )


def machine_growth(
    plan: FleetPlan, reports: Sequence[HostReport]
) -> tuple[list[memory.KernelGrowth], int | None]:
    """What each machine's kernel gained, and the drop in their free memory together.

    Hosts that share a kernel all report the same growth, so only the first one's
    reading counts, for the connections of all of them.
    """
    machines = {fact.host: fact.machine for fact in plan.hosts}
    connections: Counter[int] = Counter()
    for share in plan.shares:
        connections[machines[share.host]] += share.connections
    first: dict[int, HostReport] = {}
    for fact, report in zip(plan.hosts, reports, strict=True):
        first.setdefault(fact.machine, report)
    return [
        memory.kernel_growth(one.before.slabs, one.held.slabs, connections[machine])
        for machine, one in first.items()
    ], added(memory.gain(one.held.free, one.before.free) for one in first.values())


def trial_record(
    plan: FleetPlan,
    known: Backend,
    number: int,
    state: HoldState,
    merged: Mapping[str, Any],
    started: str,
) -> FleetTrialRecord:
    seen = ("status", "reason", "held", "opened_s", "released_s", "samples")
    return FleetTrialRecord(
        trial=number,
        workload="hold",
        backend=plan.backend,
        family=known.family,
        started=started,
        trial_s=0.0,
        workers=len(plan.shares),
        hosts=len(plan.hosts),
        connections=plan.connections,
        tls=plan.tls.words if plan.tls else None,
        params={
            "ramp_per_s": plan.ramp_per_s,
            "share": max(share.connections for share in plan.shares),
            "page_bytes": PAGE_BYTES,
        },
        **{name: getattr(state, name) for name in seen},
        **merged,
    )


def refused(plan: FleetPlan, known: Backend, number: int, reason: str) -> FleetTrialRecord:
    state = HoldState(status="refused", reason=reason)
    return trial_record(plan, known, number, state, {}, now())


def kernel_counters(parts: Sequence[Mapping[str, int | None]]) -> dict[str, int | None]:
    """The sums of counters of several network namespaces; None if one of them lacks it."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: added(part.get(name, 0) for part in parts) for name in names}


OWN_PARTS = (
    *("user_bytes", "page_table_bytes", "kernel_stack_bytes", "send_buffer_bytes"),
    *("server_user_bytes", "server_page_table_bytes"),
)
"""Parts that belong to a process, and can therefore be added over processes."""


def growth(
    processes: Sequence[Growth], kernels: Sequence[memory.KernelGrowth], drop: int | None
) -> Growth:
    """What the whole trial took: its processes and each machine's kernel.

    ``drop`` is how much the free or anonymous memory of all machines shrank. Adding
    what the trial's processes took gives the sum of the second method.
    """
    # A worker has no server parts, and a server no worker parts: absent, not unknown.
    values = {
        name: added(value for part in processes if (value := getattr(part, name)) is not None)
        for name in OWN_PARTS
    }
    of_kernel = {
        "kernel_socket_bytes": added(kernel.sockets for kernel in kernels),
        "kernel_other_bytes": added(kernel.other for kernel in kernels),
        "server_kernel_bytes": added(
            added((kernel.server_sockets, kernel.server_other)) for kernel in kernels
        ),
    }
    reasons = {name: memory.NO_SLABINFO for name, value in of_kernel.items() if value is None}
    both = added((drop, values["user_bytes"], values["server_user_bytes"]))
    if both is None:
        reasons["machine_drop_bytes"] = memory.NO_PROC
    return Growth(**values, **of_kernel, machine_drop_bytes=both, reasons=reasons)
