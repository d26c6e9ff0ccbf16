"""A trial that holds connections: all workers of the fleet meet at one barrier.

Every server withholds its answers. The barrier is reached when all servers together
hold as many requests as the fleet has slots. Only then does every host read its memory and
release its answers. If a host or a process is lost on the way, the trial ends at once and
is void, and its record names what was lost.

The hosts are this machine alone, or each worker of a dask cluster. Every wait for a host of a
cluster has a time limit. One that does not answer in time is lost, whatever the network reports:
an unplugged cable reports nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from bench.fleet.host import FleetFault, Host, HostStatus
from bench.fleet.plan import FleetPlan
from bench.fleet.records import FleetTrial, HostRecord, Moment
from bench.launch import install
from bench.machine.memory import added, gain
from bench.sides.process import interruptible
from bench.sides.servers import Tls
from bench.study.record import StudyError
from bench.study.runner import Lost

HERE: Final = "this machine"
CONNECT_S: Final = 5.0
ANSWER_S: Final = 30.0
"""After this time without an answer, a host is lost.

With a hundred busy servers on two processors, an answer takes seconds.
"""
PATIENCE: Final = {"start": 10, "report": 10, "release": 2, "stop": 2}
"""How many times as long these methods of :class:`Host` may take."""
LOOK_EVERY_S: Final = 0.5
LOOK_REST: Final = 4
"""A pause lasts at least this many times as long as the look before it, to spare the servers."""
SETTLE_S: Final = 0.2
"""Wait between "all are held" and the reading, so that the last client can go to sleep."""

# --- the hosts ---------------------------------------------------------------------------


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
        yield Fleet({HERE: Host(HERE)})
        return
    try:
        import dask
        import distributed
    except ImportError:
        raise StudyError(f"a cluster needs dask.distributed: {install('fleet')}") from None
    # The fleet reports lost hosts itself.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    timeout = f"{CONNECT_S:g}s"
    with dask.config.set({"distributed.comm.timeouts.connect": timeout}):
        try:
            client = distributed.Client(scheduler, timeout=timeout)
        except (OSError, ValueError) as error:
            raise StudyError(
                f"no dask scheduler at {scheduler}: {error}; start one with: dask scheduler"
            ) from None
        with client:
            workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
            # An actor lives as long as its future exists.
            futures = {
                name: client.submit(Host, name, workers=[worker], actor=True, pure=False)
                for worker in workers
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


def measure(fleet: Fleet, plan: FleetPlan) -> FleetTrial:
    """One trial. Raises :class:`bench.study.runner.Lost` with what there is of it."""
    trial = FleetTrial(
        backend=plan.backend.name,
        tls=Tls().words if plan.over_tls else None,
        connections=plan.connections,
        ramp_per_s=plan.ramp_per_s,
        hosts=list(plan.hosts),
    )
    seen: dict[str, Any] = {}
    try:
        hold(fleet, plan, seen)
    except FleetFault as fault:
        raise Lost(str(fault), void=True, part=trial.model_copy(update=seen)) from None
    finally:
        fleet.stop()
    return trial.model_copy(update=seen)


def hold(fleet: Fleet, plan: FleetPlan, seen: dict[str, Any]) -> None:
    """From the start to the reports. What it sees goes to ``seen``, by the names of the record.

    Raises :class:`FleetFault` if a host or process is lost, when the time is up, or if what a
    worker did does not count.
    """
    fleet.call("start", plan)
    began, first, samples = time.monotonic(), None, seen.setdefault("samples", [])
    fleet.call("go")
    for at_s, looks in looking(fleet, plan, began):
        held, free = sum(look.held for look in looks), added(look.free_bytes for look in looks)
        first = free if first is None else first
        samples.append(Moment(at_s=at_s, connections=held, used_bytes=gain(free, first)))
        if held >= plan.connections:
            seen["opened_s"] = at_s
            break
    else:
        wanted = f"{plan.connections:,} connections after {plan.patience_s:.0f} s"
        raise FleetFault(f"only {held:,} of {wanted}")
    time.sleep(SETTLE_S)
    released = time.monotonic()
    fleet.call("release", plan.ramp_per_s / len(plan.shares))
    for _, looks in looking(fleet, plan, released):
        done = sum(look.results for look in looks)
        if done == len(plan.shares):
            break
    else:
        raise FleetFault(f"only {done} of {len(plan.shares)} workers gave a result")
    seen["released_s"] = time.monotonic() - released
    seen["hosts"] = list(fleet.call("report").values())
    for host in seen["hosts"]:
        for worker in host.workers:
            if worker.void:
                raise FleetFault(f"worker {worker.worker} on host {host.host}: {worker.void}")


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
