"""A trial that holds connections: all workers of the fleet meet at one barrier.

Every server withholds its answers. The barrier is reached when all servers
together count as many held as there are slots in the whole fleet; then memory
is read on every host, and only then is anything let go. A host or a process
that is lost on the way voids the trial, which says which; nobody waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.backends import Known
from bench.fleet import merge
from bench.fleet.cluster import START_S, Call, FleetFault, Hosts, addresses, name_of
from bench.fleet.host import READY_S, Host, Kernel, Order, ServerOutcome, WorkerOutcome
from bench.fleet.plan import Plan, Share
from bench.fleet.progress import Progress
from bench.fleet.schema import (
    FleetTrialRecord,
    Growth,
    HostFacts,
    LeftBehind,
    Sample,
    WorkerRecord,
)
from bench.probes import memory
from bench.schema import Status
from bench.trial import now
from bench.verify import void_reason
from bench.workloads import PAGE_BYTES, Point

if TYPE_CHECKING:
    from distributed import Client

LOOK_EVERY_S = 0.5
LOOK_REST = 4
"""A pause is at least so many times as long as the look before it: looking costs the servers."""
SETTLE_S = 0.2
"""Between "all are held" and the reading: the last client has yet to go to sleep."""
PATIENCE = 3.0
"""A ramp or a release may take so many times as long as planned, and :data:`SPARE_S` more."""
SPARE_S = 60.0
READ_S = 60.0
STOP_S = 60.0


@dataclass(slots=True)
class Found:
    """What a trial found, as far as it came."""

    status: Status = "ok"
    reason: str | None = None
    prefixes: dict[int, str] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    held: int | None = None
    opened_s: float | None = None
    released_s: float | None = None
    workers: dict[int, WorkerOutcome] = field(default_factory=dict)
    servers: dict[int, ServerOutcome] = field(default_factory=dict)
    kernels: list[Kernel] = field(default_factory=list)
    left_behind: list[LeftBehind] = field(default_factory=list)


def patience_s(plan: Plan) -> float:
    """Seconds after which a ramp, or a release, is given up."""
    return PATIENCE * plan.ramp_s + SPARE_S


def run(
    client: Client,
    plan: Plan,
    known: Known,
    facts: Mapping[str, HostFacts],
    number: int,
    progress: Progress,
    answer_s: float,
) -> tuple[FleetTrialRecord, list[WorkerRecord]]:
    """Run one trial; the records say what became of it, whatever that is."""
    began, started = time.monotonic(), now()
    found = Found()
    try:
        hosts = Hosts(client, Host, where(client, facts), answer_s)
    except FleetFault as fault:
        found.status, found.reason = "failed", str(fault)
    else:
        try:
            measure(hosts, plan, facts, found, progress)
        except FleetFault as fault:
            found.status, found.reason = "void", str(fault)
        finally:
            progress.phase("stopping")
            found.left_behind = hosts.farewell("stop", STOP_S)
    workers = [worker_record(share, plan, number, found) for share in plan.shares]
    if found.status == "ok":
        bad = [worker for worker in workers if worker.status != "ok"]
        if bad:
            found.status = "void"
            found.reason = f"worker {bad[0].worker} on host {bad[0].host}: {bad[0].reason}"
    record = trial_record(plan, known, facts, number, found, workers, started)
    return record.model_copy(update={"trial_s": time.monotonic() - began}), workers


def measure(
    hosts: Hosts, plan: Plan, facts: Mapping[str, HostFacts], found: Found, progress: Progress
) -> None:
    """The trial itself; fills in ``found`` as it goes."""
    start(hosts, plan, found, progress)
    progress.phase("reading memory")
    hosts.all("arm", deadline_s=READ_S)
    began = time.monotonic()
    hosts.all("go", deadline_s=READ_S)
    barrier(hosts, plan, facts, found, progress, began)
    progress.phase("all are held; reading memory")
    time.sleep(SETTLE_S)
    hosts.all("read", deadline_s=READ_S)
    released = time.monotonic()
    hosts.all("release", plan.ramp_per_s / len(plan.shares), deadline_s=READ_S)
    results(hosts, plan, progress, released)
    found.released_s = time.monotonic() - released
    progress.phase("collecting")
    numbers = [share.number for share in plan.shares]
    calls: list[Call] = [(share.host, "worker_outcome", (share.number,)) for share in plan.shares]
    found.workers = dict(zip(numbers, hosts.each(calls, READ_S), strict=True))
    calls = [(share.server_host, "server_outcome", (share.number,)) for share in plan.shares]
    found.servers = dict(zip(numbers, hosts.each(calls, READ_S), strict=True))
    found.kernels = hosts.all("kernel", deadline_s=READ_S)


def where(client: Client, facts: Mapping[str, HostFacts]) -> list[str]:
    """The addresses of the planned hosts, in their order."""
    there = {name_of(address): address for address in addresses(client)}
    for host in facts:
        if host not in there:
            raise FleetFault(f"host {host} has left the cluster")
    return [there[host] for host in facts]


def start(hosts: Hosts, plan: Plan, found: Found, progress: Progress) -> None:
    """Servers first, then the workers that need their addresses."""
    progress.phase("starting servers", len(plan.shares))
    sites: list[Call] = [
        (share.server_host, "serve", (share.number, f"list:{share.connections}:{PAGE_BYTES}"))
        for share in plan.shares
    ]
    for share, prefix in zip(plan.shares, hosts.each(sites, START_S), strict=True):
        found.prefixes[share.number] = prefix
        progress.to(share.number + 1)
    progress.phase("starting workers", len(plan.shares))
    calls: list[Call] = [
        (share.host, "start", (order(share, plan, found),)) for share in plan.shares
    ]
    list(hosts.each(calls, START_S))
    calls = [(share.host, "ready", (share.number,)) for share in plan.shares]
    for done, _ in enumerate(hosts.each(calls, READY_S), 1):
        progress.to(done)


def order(share: Share, plan: Plan, found: Found) -> Order:
    """What one worker is told: its part of the connections, and of the ramp."""
    return Order(
        number=share.number,
        backend=plan.backend,
        prefix=found.prefixes[share.number],
        connections=share.connections,
        rate=plan.ramp_per_s * share.connections / plan.connections,
        timeout_s=2 * patience_s(plan),
    )


def barrier(
    hosts: Hosts,
    plan: Plan,
    facts: Mapping[str, HostFacts],
    found: Found,
    progress: Progress,
    began: float,
) -> None:
    """Wait until the servers hold a request of every slot in the fleet; watch it come.

    Raises :class:`FleetFault` for what is lost, or when the time is up.
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
        found.samples.append(Sample(at_s=at, connections=held, used_bytes=used))
        found.held = held
        progress.to(held)
        if held >= plan.connections:
            found.opened_s = at
            return
        if time.monotonic() > deadline:
            raise FleetFault(f"only {held:,} of {plan.connections:,} connections after {at:.0f} s")
        pause(looked)


def results(hosts: Hosts, plan: Plan, progress: Progress, released: float) -> None:
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


def look(hosts: Hosts) -> list[Any]:
    """A look at every host. Raises :class:`FleetFault` with the first thing that went wrong."""
    looks = hosts.all("look")
    for host, one in zip(hosts.names, looks, strict=True):
        if one.faults:
            raise FleetFault(f"host {host}: {one.faults[0]}")
    return looks


def pause(since: float) -> None:
    """Until the next look; a look that took long is followed by a longer pause."""
    took = time.monotonic() - since
    time.sleep(max(LOOK_EVERY_S - took, LOOK_REST * took))


def worker_record(share: Share, plan: Plan, number: int, found: Found) -> WorkerRecord:
    """One worker's record; checked like a trial of its own."""
    worker, server = found.workers.get(share.number), found.servers.get(share.number)
    values: dict[str, Any] = {
        "trial": number,
        "worker": share.number,
        "host": share.host,
        "server": found.prefixes.get(share.number),
        "connections": share.connections,
    }
    if worker is None or server is None:
        empty = ("pages", "bytes", "elapsed_s", "user_s", "system_s", "digest", "digest_expected")
        values |= dict.fromkeys((*empty, "service_time", "ledger"))
        values |= {"statuses": {}, "errors": {}, "status": "failed", "reason": "no result"}
        return WorkerRecord(**values)
    result = worker.result
    point = Point(
        id="fleet", workload="hold", kind="hold", site="", slots=share.connections, blocks=1
    )
    reason = void_reason(point, result, server.ledger, server.digest)
    own = worker.growth.model_dump(exclude_none=True) | server.growth.model_dump(exclude_none=True)
    taken = ("pages", "bytes", "statuses", "errors", "elapsed_s", "user_s", "system_s", "digest")
    return WorkerRecord(
        **values,
        **{name: result[name] for name in taken},
        status="ok" if reason is None else "void",
        reason=reason,
        digest_expected=server.digest,
        service_time=worker.service_time,
        ledger=server.ledger,
        growth=Growth(**own),
        mechanism=result["mechanism"],
    )


def machine_growth(
    facts: Mapping[str, HostFacts], plan: Plan, kernels: Iterable[Kernel]
) -> tuple[list[memory.KernelGrowth], int | None]:
    """What each machine's kernel gained, and by how much the free memory of all dropped.

    Hosts that share a kernel all saw the same growth: the first one's reading
    counts, for the connections of them all.
    """
    connections: dict[int, int] = {}
    for share in plan.shares:
        machine = facts[share.host].machine
        connections[machine] = connections.get(machine, 0) + share.connections
    growths: dict[int, memory.KernelGrowth] = {}
    drops: dict[int, int | None] = {}
    for fact, kernel in zip(facts.values(), kernels, strict=True):
        if fact.machine in growths:
            continue
        if kernel.slabs_before is None or kernel.slabs_held is None:
            growths[fact.machine] = memory.KernelGrowth()
        else:
            growths[fact.machine] = memory.from_slabs(
                kernel.slabs_before, kernel.slabs_held, connections.get(fact.machine, 0)
            )
        known = kernel.free_before is not None and kernel.free_held is not None
        drops[fact.machine] = (kernel.free_before or 0) - (kernel.free_held or 0) if known else None
    values = [drop for drop in drops.values() if drop is not None]
    return list(growths.values()), sum(values) if values and len(values) == len(drops) else None


def trial_record(
    plan: Plan,
    known: Known,
    facts: Mapping[str, HostFacts],
    number: int,
    found: Found,
    workers: list[WorkerRecord],
    started: str,
) -> FleetTrialRecord:
    """The whole fleet's record, made from its workers'."""
    values: dict[str, Any] = {}
    if found.kernels:  # then everything came in
        kernels, drop = machine_growth(facts, plan, found.kernels)
        growths = [worker.growth for worker in workers if worker.growth is not None]
        elapsed = [worker.elapsed_s or 0.0 for worker in workers]
        values = {
            "elapsed_s": max(elapsed),
            "pages": sum(worker.pages or 0 for worker in workers),
            "bytes": sum(worker.bytes or 0 for worker in workers),
            "digest": merge.digests((worker.worker, worker.digest) for worker in workers),
            "digest_expected": merge.digests(
                (worker.worker, worker.digest_expected) for worker in workers
            ),
            "ledger": merge.ledgers([w.ledger for w in workers if w.ledger is not None]),
            "service_time": merge.latencies(worker.service_time for worker in workers),
            "user_s": sum(worker.user_s or 0.0 for worker in workers),
            "system_s": sum(worker.system_s or 0.0 for worker in workers),
            "growth": merge.growth(growths, kernels, drop),
            "kernel": merge.kernel_counters(kernel.counters for kernel in found.kernels),
        }
    return FleetTrialRecord(
        trial=number,
        workload="hold",
        backend=plan.backend,
        family=known.family,
        status=found.status,
        reason=found.reason,
        started=started,
        trial_s=0.0,
        workers=len(plan.shares),
        hosts=len(facts),
        connections=plan.connections,
        params={
            "ramp_per_s": plan.ramp_per_s,
            "share": max(share.connections for share in plan.shares),
            "page_bytes": PAGE_BYTES,
        },
        held=found.held,
        opened_s=found.opened_s,
        released_s=found.released_s,
        samples=found.samples,
        left_behind=found.left_behind,
        **values,
    )


def refused(plan: Plan, known: Known, number: int, reason: str, hosts: int) -> FleetTrialRecord:
    """The record of a trial that was not begun, because it could not be."""
    return trial_record(
        plan, known, {}, number, Found(status="refused", reason=reason), [], now()
    ).model_copy(update={"hosts": hosts})
