"""From what a trial of held connections observed to its records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.fleet import merge
from bench.fleet.messages import KernelReport, Served, ServerReport, WorkerReport
from bench.fleet.plan import FleetPlan, Share
from bench.fleet.schema import FleetTrialRecord, Growth, HostFacts, LeftBehind, Sample, WorkerRecord
from bench.machine.probes import memory
from bench.plan.cast import Cast
from bench.plan.workloads import PAGE_BYTES, Point
from bench.run.judge import void_reason
from bench.schema import Status
from bench.text import now
from crawlers.backend import Backend


@dataclass(slots=True)
class HoldState:
    """What a trial has found so far."""

    status: Status = "ok"
    reason: str | None = None
    served: dict[int, Served] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    held: int | None = None
    opened_s: float | None = None
    released_s: float | None = None
    workers: dict[int, WorkerReport] = field(default_factory=dict)
    servers: dict[int, ServerReport] = field(default_factory=dict)
    kernels: list[KernelReport] = field(default_factory=list)
    left_behind: list[LeftBehind] = field(default_factory=list)


def worker_record(share: Share, plan: FleetPlan, number: int, state: HoldState) -> WorkerRecord:
    """One worker's record, checked like a trial of its own."""
    worker, server = state.workers.get(share.number), state.servers.get(share.number)
    served = state.served.get(share.number)
    values: dict[str, Any] = {
        "trial": number,
        "worker": share.number,
        "host": share.host,
        "server": None if served is None else served.prefix,
        "connections": share.connections,
    }
    if worker is None or server is None:
        return WorkerRecord(**values, status="failed", reason="no result")
    result = worker.result
    point = Point(
        id="fleet",
        workload="hold",
        kind="hold",
        site="",
        slots=share.connections,
        cast=Cast(1),
        tls=plan.tls,
    )
    reason = void_reason(point, result, server.ledger, server.digest)
    own = worker.growth.model_dump(exclude_none=True) | server.growth.model_dump(exclude_none=True)
    taken = ("pages", "bytes", "statuses", "errors", "elapsed_s", "user_s", "system_s", "digest")
    return WorkerRecord(
        **values,
        **{name: getattr(result, name) for name in taken},
        status="ok" if reason is None else "void",
        reason=reason,
        digest_expected=server.digest,
        service_time=worker.service_time,
        ledger=server.ledger,
        growth=Growth(**own),
        mechanism=result.mechanism,
    )


def machine_growth(
    facts: Mapping[str, HostFacts], plan: FleetPlan, kernels: Iterable[KernelReport]
) -> tuple[list[memory.KernelGrowth], int | None]:
    """What each machine's kernel gained, and the drop in their free memory together.

    Hosts that share a kernel all report the same growth, so only the first one's
    reading counts, for the connections of all of them.
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
    plan: FleetPlan,
    known: Backend,
    facts: Mapping[str, HostFacts],
    number: int,
    state: HoldState,
    workers: list[WorkerRecord],
    started: str,
) -> FleetTrialRecord:
    """The record of the whole fleet, merged from its workers' records."""
    values: dict[str, Any] = {}
    if state.kernels:  # these come last, so everything else is there
        kernels, drop = machine_growth(facts, plan, state.kernels)
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
            "kernel": merge.kernel_counters(kernel.counters for kernel in state.kernels),
        }
    return FleetTrialRecord(
        trial=number,
        workload="hold",
        backend=plan.backend,
        family=known.family,
        status=state.status,
        reason=state.reason,
        started=started,
        trial_s=0.0,
        workers=len(plan.shares),
        hosts=len(facts),
        connections=plan.connections,
        tls=plan.tls.words if plan.tls else None,
        params={
            "ramp_per_s": plan.ramp_per_s,
            "share": max(share.connections for share in plan.shares),
            "page_bytes": PAGE_BYTES,
        },
        held=state.held,
        opened_s=state.opened_s,
        released_s=state.released_s,
        samples=state.samples,
        left_behind=state.left_behind,
        **values,
    )


def refused(
    plan: FleetPlan, known: Backend, number: int, reason: str, hosts: int
) -> FleetTrialRecord:
    """The record of a trial that the limits do not allow."""
    return trial_record(
        plan, known, {}, number, HoldState(status="refused", reason=reason), [], now()
    ).model_copy(update={"hosts": hosts})
