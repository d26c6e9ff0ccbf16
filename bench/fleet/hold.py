"""A trial that holds connections: all workers of the fleet meet at one barrier.

Every server withholds its answers. The barrier is reached when all servers together
hold as many requests as the fleet has slots. Then every host reads its memory, and
only after that do the servers release their answers. If a host or a process is lost
on the way, the trial ends at once and is void, and its record names what was lost.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bench.fleet.cluster import START_S, FleetFault, HostCall, Hosts, addresses, name_of
from bench.fleet.hold_record import HoldState, trial_record, worker_record
from bench.fleet.host import READY_S, Host
from bench.fleet.messages import Assignment, HostStatus
from bench.fleet.plan import FleetPlan, Share
from bench.fleet.progress import Progress
from bench.fleet.schema import FleetTrialRecord, HostFacts, Sample, WorkerRecord
from bench.plan.workloads import PAGE_BYTES
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
STOP_S = 60.0


def patience_s(plan: FleetPlan) -> float:
    """Seconds after which the trial gives up on a ramp or a release."""
    return PATIENCE * plan.ramp_s + SPARE_S


def run(
    client: Client,
    plan: FleetPlan,
    known: Backend,
    facts: Mapping[str, HostFacts],
    number: int,
    progress: Progress,
    answer_s: float,
) -> tuple[FleetTrialRecord, list[WorkerRecord]]:
    """Run one trial; returns its records, whatever happens."""
    began, started = time.monotonic(), now()
    state = HoldState()
    try:
        hosts = Hosts(client, Host, where(client, facts), answer_s)
    except FleetFault as fault:
        state.status, state.reason = "failed", str(fault)
    else:
        try:
            measure(hosts, plan, facts, state, progress)
        except FleetFault as fault:
            state.status, state.reason = "void", str(fault)
        finally:
            progress.phase("stopping")
            state.left_behind = hosts.remaining("stop", STOP_S)
    workers = [worker_record(share, plan, number, state) for share in plan.shares]
    if state.status == "ok":
        bad = [worker for worker in workers if worker.status != "ok"]
        if bad:
            state.status = "void"
            state.reason = f"worker {bad[0].worker} on host {bad[0].host}: {bad[0].reason}"
    record = trial_record(plan, known, facts, number, state, workers, started)
    return record.model_copy(update={"trial_s": time.monotonic() - began}), workers


def measure(
    hosts: Hosts,
    plan: FleetPlan,
    facts: Mapping[str, HostFacts],
    state: HoldState,
    progress: Progress,
) -> None:
    """The trial itself; fills in ``state`` as it goes."""
    start(hosts, plan, state, progress)
    progress.phase("reading memory")
    hosts.all("arm", deadline_s=READ_S)
    began = time.monotonic()
    hosts.all("go", deadline_s=READ_S)
    barrier(hosts, plan, facts, state, progress, began)
    progress.phase("all held; reading memory")
    time.sleep(SETTLE_S)
    hosts.all("read", deadline_s=READ_S)
    released = time.monotonic()
    hosts.all("release", plan.ramp_per_s / len(plan.shares), deadline_s=READ_S)
    results(hosts, plan, progress, released)
    state.released_s = time.monotonic() - released
    progress.phase("collecting")
    numbers = [share.number for share in plan.shares]
    calls: list[HostCall] = [
        (share.host, "worker_report", (share.number,)) for share in plan.shares
    ]
    state.workers = dict(zip(numbers, hosts.each(calls, READ_S), strict=True))
    calls = [(share.server_host, "server_report", (share.number,)) for share in plan.shares]
    state.servers = dict(zip(numbers, hosts.each(calls, READ_S), strict=True))
    state.kernels = hosts.all("kernel", deadline_s=READ_S)


def where(client: Client, facts: Mapping[str, HostFacts]) -> list[str]:
    """The addresses of the planned hosts, in order."""
    there = {name_of(address): address for address in addresses(client)}
    for host in facts:
        if host not in there:
            raise FleetFault(f"host {host} has left the cluster")
    return [there[host] for host in facts]


def start(hosts: Hosts, plan: FleetPlan, state: HoldState, progress: Progress) -> None:
    """Start the servers, then the workers, which need the servers' addresses."""
    progress.phase("starting servers", len(plan.shares))
    sites: list[HostCall] = [
        (
            *(share.server_host, "serve"),
            (share.number, f"list:{share.connections}:{PAGE_BYTES}", plan.tls),
        )
        for share in plan.shares
    ]
    for share, served in zip(plan.shares, hosts.each(sites, START_S), strict=True):
        state.served[share.number] = served
        progress.to(share.number + 1)
    progress.phase("starting workers", len(plan.shares))
    calls: list[HostCall] = [
        (share.host, "start", (assignment(share, plan, state),)) for share in plan.shares
    ]
    list(hosts.each(calls, START_S))
    calls = [(share.host, "ready", (share.number,)) for share in plan.shares]
    for done, _ in enumerate(hosts.each(calls, READY_S), 1):
        progress.to(done)


def assignment(share: Share, plan: FleetPlan, state: HoldState) -> Assignment:
    """One worker's part of the connections and of the ramp."""
    return Assignment(
        number=share.number,
        backend=plan.backend,
        served=state.served[share.number],
        connections=share.connections,
        rate=plan.ramp_per_s * share.connections / plan.connections,
        timeout_s=2 * patience_s(plan),
    )


def barrier(
    hosts: Hosts,
    plan: FleetPlan,
    facts: Mapping[str, HostFacts],
    state: HoldState,
    progress: Progress,
    began: float,
) -> None:
    """Wait until the servers hold a request from every slot in the fleet; sample the way there.

    Raises :class:`FleetFault` if a host or process is lost, or when the time is up.
    """
    progress.phase("opening connections", plan.connections)
    deadline = began + patience_s(plan)
    first: int | None = None
    while True:
        looked = time.monotonic()
        looks = look(hosts)
        at = time.monotonic() - began
        held = sum(sum(one.held.values()) for one in looks)
        free = {
            fact.machine: one.free_bytes for fact, one in zip(facts.values(), looks, strict=True)
        }
        total = None if None in free.values() else sum(value or 0 for value in free.values())
        first = total if first is None else first
        used = None if total is None or first is None else first - total
        state.samples.append(Sample(at_s=at, connections=held, used_bytes=used))
        state.held = held
        progress.to(held)
        if held >= plan.connections:
            state.opened_s = at
            return
        if time.monotonic() > deadline:
            raise FleetFault(f"only {held:,} of {plan.connections:,} connections after {at:.0f} s")
        pause(looked)


def results(hosts: Hosts, plan: FleetPlan, progress: Progress, released: float) -> None:
    """Wait until every worker has given its result."""
    progress.phase("releasing", len(plan.shares))
    deadline = released + patience_s(plan)
    while True:
        looked = time.monotonic()
        done = sum(one.results for one in look(hosts))
        progress.to(done)
        if done == len(plan.shares):
            return
        if time.monotonic() > deadline:
            raise FleetFault(f"only {done} of {len(plan.shares)} workers gave a result")
        pause(looked)


def look(hosts: Hosts) -> list[HostStatus]:
    """The status of every host. Raises :class:`FleetFault` with the first fault."""
    looks: list[HostStatus] = hosts.all("look")
    for host, one in zip(hosts.names, looks, strict=True):
        if one.faults:
            raise FleetFault(f"host {host}: {one.faults[0]}")
    return looks


def pause(since: float) -> None:
    """Sleep until the next look; longer if the last one took long."""
    took = time.monotonic() - since
    time.sleep(max(LOOK_EVERY_S - took, LOOK_REST * took))
