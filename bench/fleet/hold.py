"""A trial that holds connections: all workers of the fleet meet at one barrier.

Every server withholds its answers. The barrier is reached when all servers together
hold as many requests as the fleet has slots. Then every host reads its memory, and
only after that do the servers release their answers. If a host or a process is lost
on the way, the trial ends at once and is void, and its record names what was lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.conditions.held import HELD, HOLD_SWITCH_S
from bench.conditions.ways import Way
from bench.fleet.cluster import START_S, FleetFault, Hosts
from bench.fleet.host import Host, HostReport, HostStatus, Served
from bench.fleet.plan import FleetPlan, Share
from bench.fleet.records import FleetTrial, Growth, Moment, Worker
from bench.machine import memory
from bench.machine.memory import added
from bench.plan.workloads import PAGE_BYTES
from bench.run.judge import void_reason
from bench.sides.process import interruptible
from bench.sides.protocol import Command, Schedule
from bench.study.runner import Lost

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


def measure(client: Client, plan: FleetPlan, answer_s: float) -> FleetTrial:
    """One trial. Raises :class:`bench.study.runner.Lost` with what there is of it."""
    seen: dict[str, Any] = {"samples": []}
    try:
        hosts = Hosts(client, Host, [fact.host for fact in plan.hosts], answer_s)
        try:
            reports = hold(hosts, plan, seen)
        finally:
            hosts.stop(STOP_S)
    except FleetFault as fault:
        raise Lost(str(fault), void=True, part=trial(plan, seen)) from None
    workers = [worker(share, seen["served"][share.number], reports) for share in plan.shares]
    seen |= {
        "workers": workers,
        "growth": growth([each.growth for each in workers], *machine_growth(plan, reports)),
        "kernel": kernel_counters([report.counters for report in reports.values()]),
    }
    made = trial(plan, seen)
    for each in workers:
        if reason := void(plan, each, reports):
            raise Lost(f"worker {each.worker} on host {each.host}: {reason}", void=True, part=made)
    return made


def trial(plan: FleetPlan, seen: Mapping[str, Any]) -> FleetTrial:
    return FleetTrial(
        backend=plan.backend,
        tls=plan.tls.words if plan.tls else None,
        connections=plan.connections,
        ramp_per_s=plan.ramp_per_s,
        share=max(share.connections for share in plan.shares),
        page_bytes=PAGE_BYTES,
        hosts=list(plan.hosts),
        **{name: value for name, value in seen.items() if name != "served"},
    )


# --- the trial -------------------------------------------------------------------------------


def hold(hosts: Hosts, plan: FleetPlan, seen: dict[str, Any]) -> dict[str, HostReport]:
    """From the start to the reports. What it sees goes to ``seen``. Raises FleetFault."""
    start(hosts, plan, seen)
    hosts.each("arm", deadline_s=READ_S)
    began = time.monotonic()
    hosts.each("go", deadline_s=READ_S)
    seen["opened_s"] = barrier(hosts, plan, began, seen)
    time.sleep(SETTLE_S)
    hosts.each("read", deadline_s=READ_S)
    released = time.monotonic()
    pace = plan.ramp_per_s / len(plan.shares)
    hosts.each("release", {fact.host: pace for fact in plan.hosts}, READ_S)
    for looks in looking(hosts):
        done = sum(look.results for look in looks.values())
        if done == len(plan.shares):
            break
        if time.monotonic() - released > patience_s(plan):
            raise FleetFault(f"only {done} of {len(plan.shares)} workers gave a result")
    seen["released_s"] = time.monotonic() - released
    return hosts.each("report", deadline_s=REPORT_S)


def start(hosts: Hosts, plan: FleetPlan, seen: dict[str, Any]) -> None:
    """The servers, then the workers, which need the servers' addresses."""
    sites: dict[str, dict[int, object]] = {fact.host: {} for fact in plan.hosts}
    for share in plan.shares:
        site = f"list:{share.connections}:{PAGE_BYTES}"
        sites[share.server_host][share.number] = (site, plan.tls)
    answers = hosts.each("serve", sites, START_S)
    served: dict[int, Served] = {n: one for found in answers.values() for n, one in found.items()}
    seen["served"] = served
    commands: dict[str, dict[int, object]] = {fact.host: {} for fact in plan.hosts}
    for share in plan.shares:
        mine = served[share.number]
        commands[share.host][share.number] = (command(plan, share, mine.prefix), mine.authority)
    hosts.each("start", commands, START_S)


def command(plan: FleetPlan, share: Share, prefix: str) -> Command:
    """What a worker is to crawl; its host adds its own warm-up server and files."""
    rate = plan.ramp_per_s * share.connections / plan.connections
    return Command(
        backend=plan.backend,
        prefix=prefix,
        urls=share.connections,
        slots=share.connections,
        timeout_s=2 * patience_s(plan),
        schedule=Schedule(kind="constant", rate=rate),
        switch_interval_s=HOLD_SWITCH_S,
        recorder="times",
        out="",
    )


def barrier(hosts: Hosts, plan: FleetPlan, began: float, seen: dict[str, Any]) -> float:
    """Wait until the servers hold a request from every slot; sample the way there.

    Returns the seconds it took. Raises :class:`FleetFault` if a host or process is lost, or when
    the time is up.
    """
    first: int | None = None
    for looks in looking(hosts):
        at = time.monotonic() - began
        held = sum(look.held for look in looks.values())
        free = added({f.machine: looks[f.host].free_bytes for f in plan.hosts}.values())
        first = free if first is None else first
        used = memory.gain(free, first)
        seen["samples"].append(Moment(at_s=at, connections=held, used_bytes=used))
        seen["held"] = held
        if held >= plan.connections:
            return at
        if at > patience_s(plan):
            wanted = f"{plan.connections:,} connections after {at:.0f} s"
            raise FleetFault(f"only {held:,} of {wanted}")
    raise AssertionError("looking never ends")


def looking(hosts: Hosts) -> Iterator[dict[str, HostStatus]]:
    """The status of every host, again and again. Raises the first fault."""
    while True:
        looked = time.monotonic()
        looks: dict[str, HostStatus] = hosts.each("look")
        for host, look in looks.items():
            if look.faults:
                raise FleetFault(f"host {host}: {look.faults[0]}")
        yield looks
        took = time.monotonic() - looked
        with interruptible():
            time.sleep(max(LOOK_EVERY_S - took, LOOK_REST * took))


def patience_s(plan: FleetPlan) -> float:
    return PATIENCE * plan.ramp_s + SPARE_S


# --- what it adds up to ------------------------------------------------------------------------


def worker(share: Share, served: Served, reports: Mapping[str, HostReport]) -> Worker:
    """A worker, and its server, which may be on another host."""
    result, mine = reports[share.host].workers[share.number]
    digest, ledger, theirs = reports[share.server_host].servers[share.number]
    taken = ("pages", "bytes", "statuses", "errors", "elapsed_s", "user_s", "system_s", "digest")
    both = mine.model_dump(exclude_none=True) | theirs.model_dump(exclude_none=True)
    return Worker(
        worker=share.number,
        host=share.host,
        server=served.prefix,
        connections=share.connections,
        **{name: getattr(result, name) for name in taken},
        digest_expected=digest,
        ledger=ledger,
        growth=Growth.model_validate(both),
        mechanism=result.mechanism,
    )


def void(plan: FleetPlan, worker: Worker, reports: Mapping[str, HostReport]) -> str | None:
    """Why a worker's share does not count, as any trial's; None if it does."""
    under = (HELD, *([Way(tls=plan.tls)] if plan.tls else []))
    result, _ = reports[worker.host].workers[worker.worker]
    return void_reason(under, result, worker.ledger, worker.connections, worker.digest_expected)


def machine_growth(
    plan: FleetPlan, reports: Mapping[str, HostReport]
) -> tuple[list[memory.KernelGrowth], int | None]:
    """What each machine's kernel gained, and the drop in their free memory together.

    Hosts that share a kernel all report the same growth, so only the first one's
    reading counts, for the connections of all of them.
    """
    machines = {fact.host: fact.machine for fact in plan.hosts}
    first = {fact.machine: reports[fact.host] for fact in reversed(plan.hosts)}
    connections = dict.fromkeys(first, 0)
    for share in plan.shares:
        connections[machines[share.host]] += share.connections
    return [
        memory.kernel_growth(one.before.slabs, one.held.slabs, connections[machine])
        for machine, one in first.items()
    ], added(memory.gain(one.held.free, one.before.free) for one in first.values())


def kernel_counters(parts: Sequence[Mapping[str, int | None]]) -> dict[str, int | None]:
    """The sums of counters of several network namespaces; None if one of them lacks it."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: added(part.get(name, 0) for part in parts) for name in names}


OWN_PARTS = (
    "user_bytes",
    "page_table_bytes",
    "kernel_stack_bytes",
    "send_buffer_bytes",
    "server_user_bytes",
    "server_page_table_bytes",
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
