"""A trial that holds connections: all workers of the fleet meet at one barrier.

Every server withholds its answers. The barrier is reached when all servers together
hold as many requests as the fleet has slots. Only then does every host read its memory and
release its answers. If a host or a process is lost on the way, the trial ends at once and
is void, and its record names what was lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

from bench.fleet.cluster import Fleet
from bench.fleet.host import FleetFault, HostStatus
from bench.fleet.plan import FleetPlan
from bench.fleet.records import FleetTrial, Moment
from bench.machine import memory
from bench.machine.memory import added
from bench.plan.workloads import PAGE_BYTES
from bench.sides.process import interruptible
from bench.study.runner import Lost

LOOK_EVERY_S: Final = 0.5
LOOK_REST: Final = 4
"""A pause lasts at least this many times as long as the look before it, to spare the servers."""
SETTLE_S: Final = 0.2
"""Wait between "all are held" and the reading, so that the last client can go to sleep."""


def measure(fleet: Fleet, plan: FleetPlan) -> FleetTrial:
    """One trial. Raises :class:`bench.study.runner.Lost` with what there is of it."""
    seen: dict[str, Any] = {"samples": [], "hosts": list(plan.hosts)}
    reason = None
    try:
        hold(fleet, plan, seen)
    except FleetFault as fault:
        reason = str(fault)
    finally:
        fleet.stop()
    trial = FleetTrial(
        backend=plan.backend,
        tls=plan.tls.words if plan.tls else None,
        connections=plan.connections,
        ramp_per_s=plan.ramp_per_s,
        share=max(share.connections for share in plan.shares),
        page_bytes=PAGE_BYTES,
        **seen,
    )
    if reason is not None:
        raise Lost(reason, void=True, part=trial)
    return trial


def hold(fleet: Fleet, plan: FleetPlan, seen: dict[str, Any]) -> None:
    """From the start to the reports. What it sees goes to ``seen``, by the names of the record.

    Raises :class:`FleetFault` if a host or process is lost, when the time is up, or if what a
    worker did does not count.
    """
    fleet.call("start", plan)
    began = time.monotonic()
    fleet.call("go")
    first: int | None = None
    for at_s, looks in looking(fleet, plan, began):
        held = seen["held"] = sum(look.held for look in looks)
        free = added(look.free_bytes for look in looks)
        first = free if first is None else first
        used = memory.gain(free, first)
        seen["samples"].append(Moment(at_s=at_s, connections=held, used_bytes=used))
        if held >= plan.connections:
            seen["opened_s"] = at_s
            break
    else:
        wanted = f"{plan.connections:,} connections after {plan.patience_s:.0f} s"
        raise FleetFault(f"only {held:,} of {wanted}")
    time.sleep(SETTLE_S)
    fleet.call("read")
    released = time.monotonic()
    fleet.call("release")
    for _, looks in looking(fleet, plan, released):
        done = sum(look.results for look in looks)
        if done == len(plan.shares):
            break
    else:
        raise FleetFault(f"only {done} of {len(plan.shares)} workers gave a result")
    seen["released_s"] = time.monotonic() - released
    seen["hosts"] = list(fleet.call("report").values())
    for reason in filter(None, (worker.void for host in seen["hosts"] for worker in host.workers)):
        raise FleetFault(reason)


def looking(
    fleet: Fleet, plan: FleetPlan, since: float
) -> Iterator[tuple[float, list[HostStatus]]]:
    """Seconds since then, and the status of every host, until patience is at an end."""
    while time.monotonic() - since <= plan.patience_s:
        looked = time.monotonic()
        looks = fleet.call("look")
        yield time.monotonic() - since, list(looks.values())
        took = time.monotonic() - looked
        with interruptible():
            time.sleep(max(LOOK_EVERY_S - took, LOOK_REST * took))
