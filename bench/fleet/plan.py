"""How to divide a trial among the hosts, and what each machine needs for it.

A *share* is one worker process with its slots, and one server process that holds the other ends.
Both need a descriptor per connection, and the pair of addresses between them needs an ephemeral
port per connection. The tighter of the two limits the size of a share, and the number of
connections then decides how many shares there are. Whether a machine has room for its shares is
for its own doctor to say (:mod:`bench.machine.doctor`).
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import psutil

from bench.conditions.condition import Condition
from bench.conditions.held import HELD
from bench.conditions.ways import Way
from bench.fleet.records import HostFacts
from bench.machine import kernel, procfs
from bench.machine.doctor import (
    BYTES_PER_CONNECTION,
    SPARE_DESCRIPTORS,
    CheckResult,
    Needs,
    available_bytes,
    raise_descriptor_limit,
)
from bench.machine.procfs import UNLIMITED
from bench.plan.tls import SERVER_KIB, client_kib
from bench.sides.tls import Tls
from bench.study.record import StudyError
from bench.text import KIB, MIB

CONNECTION_KIB: Final = {"callbacks": (15, 64), "generators": (16, 68), "async_await": (24, 328)}
"""KiB of both ends, kernel and user, and what TLS adds to them, rounded up.

For other backends the doctor and :mod:`bench.plan.tls` have figures with more to spare.
"""

SHARE_BYTES: Final = 48 * MIB
"""Private memory of a worker and its server before their first connection."""

HOST_BYTES: Final = 256 * MIB
"""The warm-up server and what else runs on a host."""

PORTS_SHARE: Final = 0.4
"""The fraction of an address pair's ports that a share may use.

connect() first tries all ports of one parity, one after another
(__inet_hash_connect in net/ipv4/inet_hashtables.c). Once that half is nearly used
up, each further connection searches thousands of ports: with 16,667 connections
for 28,232 ports, the ramp stalled at 14,000 with all processors busy in the kernel.
"""

TASKS: Final = 3
"""Threads of a share that hold no connection: the worker's, and the server's two."""
RAMP_PER_S: Final = 5000
"""Connections that the whole fleet opens per second, by default."""
TLS_RAMP_PER_S: Final = 500
"""The same over TLS, where each connection takes a handshake at both ends."""
PATIENCE: Final = 3.0
"""A ramp or a release may take this many times its planned time, plus :data:`SPARE_S`."""
SPARE_S: Final = 60.0


def look(host: str) -> tuple[str, HostFacts]:
    """This machine's boot id and limits, read on it, as its machine's first host.

    Changes only this process's soft descriptor limit.
    """
    _, descriptors = raise_descriptor_limit()
    return procfs.read("proc/sys/kernel/random/boot_id") or host, HostFacts(
        host=host,
        machine=0,
        cores=psutil.cpu_count() or 1,
        descriptors=descriptors,
        ports=kernel.ephemeral_ports() or UNLIMITED,
        memory_available_bytes=available_bytes(),
    )


def numbered(found: Sequence[tuple[str, HostFacts]]) -> list[HostFacts]:
    """Hosts with one boot id get one machine: they share a kernel, its memory and its tables."""
    boots = list(dict.fromkeys(boot for boot, _ in found))
    return [fact.model_copy(update={"machine": boots.index(boot)}) for boot, fact in found]


@dataclass(frozen=True, slots=True)
class Share:
    number: int
    connections: int
    host: str


@dataclass(frozen=True)
class FleetPlan:
    """Connections divided evenly among hosts.

    ``threads`` means that the backend starts one thread per connection; ``largest`` is the most
    connections per process.
    """

    connections: int
    backend: str
    hosts: Sequence[HostFacts]
    largest: int
    ramp_per_s: float
    threads: bool = False
    tls: Tls | None = None

    @cached_property
    def shares(self) -> tuple[Share, ...]:
        """As far as possible, every host gets the same number of shares."""
        hosts, total = self.hosts, self.connections
        count = max(-(-total // self.largest), min(len(hosts), total))
        return tuple(
            Share(
                number, total // count + (number < total % count), hosts[number % len(hosts)].host
            )
            for number in range(count)
        )

    @cached_property
    def machines(self) -> dict[str, list[Share]]:
        """The shares of each machine, by the first of its hosts."""
        machine_of = {host.host: host.machine for host in self.hosts}
        first = {host.machine: host.host for host in reversed(self.hosts)}
        found: dict[str, list[Share]] = {host: [] for host in first.values()}
        for share in self.shares:
            found[first[machine_of[share.host]]].append(share)
        return found

    @cached_property
    def needs(self) -> dict[str, Needs]:
        """What each machine needs, by the first of its hosts."""
        return {host: self._needs(shares) for host, shares in self.machines.items()}

    def _needs(self, shares: Sequence[Share]) -> Needs:
        connections = sum(share.connections for share in shares)
        return Needs(
            connections=connections,
            threads=connections * self.threads + len(shares) * TASKS,
            shares=max(len(shares), 1),
            connection_bytes=self.connection_bytes,
            process_bytes=len(shares) * SHARE_BYTES
            + HOST_BYTES * len({one.host for one in shares}),
        )

    @property
    def under(self) -> tuple[Condition, ...]:
        return (HELD, *([Way(tls=self.tls)] if self.tls else []))

    @property
    def ramp_s(self) -> float:
        return self.connections / self.ramp_per_s

    @property
    def patience_s(self) -> float:
        return PATIENCE * self.ramp_s + SPARE_S

    @property
    def program(self) -> str:
        """As the record names it: ``callbacks/tls 1000000``."""
        return f"{self.backend}{'/tls' if self.tls else ''} {self.connections}"

    @property
    def words(self) -> str:
        """``1,000,000 connections of callbacks over TLS``."""
        over = " over TLS" if self.tls else ""
        return f"{self.connections:,} connections of {self.backend}{over}"

    @property
    def connection_bytes(self) -> int:
        """What a connection may take at both ends, rounded up, without its thread."""
        usual = BYTES_PER_CONNECTION // KIB, client_kib(self.backend) + SERVER_KIB
        plain, encrypted = CONNECTION_KIB.get(self.backend, usual)
        return KIB * (plain + (encrypted if self.tls else 0))


def make(
    connections: int,
    backend: str,
    hosts: Sequence[HostFacts],
    *,
    threads: bool = False,
    share: int | None = None,
    ramp_per_s: float | None = None,
    tls: Tls | None = None,
) -> FleetPlan:
    """Plan with the largest share that the limits of a process allow, unless it is given.

    Raises :class:`StudyError` without hosts, or if a process cannot hold any connection.
    """
    if not hosts:
        raise StudyError("the cluster has no worker; start one with: dask worker SCHEDULER")
    largest = share or min(
        min(host.descriptors - SPARE_DESCRIPTORS, int(host.ports * PORTS_SHARE)) for host in hosts
    )
    if largest < 1:
        raise StudyError("a process cannot hold a single connection here: ulimit -n is too low")
    pace = ramp_per_s or (TLS_RAMP_PER_S if tls else RAMP_PER_S)
    return FleetPlan(connections, backend, hosts, largest, pace, threads, tls)


DoctorsSay = Mapping[str, Sequence[CheckResult]]
"""What the doctors of hosts say, by the names of the hosts."""


def check(
    made: FleetPlan, ask: Callable[[Mapping[str, Needs]], DoctorsSay]
) -> tuple[DoctorsSay, int]:
    """What the doctors say of a plan, and how many of its connections fit."""

    def refused(connections: int) -> bool:
        found = ask(replace(made, connections=connections).needs)
        return any(one.level == "refusal" for each in found.values() for one in each)

    most = made.connections
    if refused(most):
        most = bisect(range(1, most), False, key=refused)
    return ask(made.needs), most


def refusal(made: FleetPlan, found: DoctorsSay, most: int) -> str | None:
    """Why a plan does not fit, and how many connections would; None if it does."""
    why = "; ".join(
        f"{one.check} on {host}: {one.found} ({one.fix})"
        for host, results in found.items()
        for one in results
        if one.level == "refusal"
    )
    return f"{made.words} do not fit: {why}; at most {most:,} do" if why else None
