"""How to divide a trial among the hosts, and which of their limits are too low.

A *share* is one worker process with its slots, and one server process that holds the other ends.
Both need a descriptor per connection, and the pair of addresses between them needs an ephemeral
port per connection. The tighter of the two limits the size of a share, and the number of
connections then decides how many shares there are. Everything else is counted per machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import psutil

from bench.errors import BenchError
from bench.machine import kernel, procfs
from bench.machine.doctor import (
    BYTES_PER_CONNECTION,
    BYTES_PER_THREAD,
    MAX_MAP_COUNT,
    SPARE_DESCRIPTORS,
    SPARE_TASKS,
    ThreadLimit,
    available_bytes,
    raise_descriptor_limit,
    thread_limits,
)
from bench.plan.tls import SERVER_KIB, Tls, client_kib
from bench.text import KIB, MIB, size_words

UNKNOWN = 2**62
"""Stands for a limit that is not set, or that this platform does not show."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one host allows.

    Hosts with the same ``machine`` (the kernel's boot id) share a kernel, and with
    it memory, the file table and the process table. Limits per process or per
    network namespace belong to each host.
    """

    host: str
    machine: str
    cores: int
    memory_bytes: int
    descriptors: int  # per process, hard limit
    files_left: int
    files_max: int
    ports: int  # per pair of addresses
    watches: int  # epoll registrations of one user
    tasks: tuple[ThreadLimit, ...]


def limits(host: str) -> Limits:
    """This machine's limits, read on it; changes only this process's soft descriptor limit."""
    _, descriptors = raise_descriptor_limit()
    files_used, files_max = kernel.files()
    return Limits(
        host=host,
        machine=(procfs.read("proc/sys/kernel/random/boot_id") or host).strip(),
        cores=psutil.cpu_count() or 1,
        memory_bytes=available_bytes(),
        descriptors=descriptors,
        files_left=UNKNOWN if files_max is None else files_max - (files_used or 0),
        files_max=files_max or UNKNOWN,
        ports=kernel.ephemeral_ports() or UNKNOWN,
        watches=procfs.read_int("proc/sys/fs/epoll/max_user_watches") or UNKNOWN,
        tasks=tuple(thread_limits()),
    )


CONNECTION_BYTES = {
    "callbacks": 15 * KIB,
    "generators": 16 * KIB,
    "async_await": 24 * KIB,
}
"""Kernel and user memory of both ends, rounded up. The doctor has a figure for other backends."""

TLS_BYTES = {
    "callbacks": 64 * KIB,
    "generators": 68 * KIB,
    "async_await": 328 * KIB,
}
"""What TLS adds at both ends, rounded up. :mod:`bench.plan.tls` has figures for other backends."""

SHARE_BYTES = 48 * MIB
"""Private memory of a worker and its server before their first connection."""

HOST_BYTES = 256 * MIB
"""The dask worker, the warm-up server and other processes of a host."""

PORTS_SHARE = 0.4
"""The fraction of an address pair's ports that a share may use.

connect() first tries all ports of one parity, one after another
(__inet_hash_connect in net/ipv4/inet_hashtables.c). Once that half is nearly used
up, each further connection searches thousands of ports: with 16,667 connections
for 28,232 ports, the ramp stalled at 14,000 with all processors busy in the kernel.
"""

Row = tuple[str, str, int, int, str, str]
"""The fields of a :class:`Requirement`. Each end of a connection has a file and an epoll watch."""
TASKS = 3  # threads of a share: the worker's, and the server's two
RAMP_PER_S = 5000
"""Connections that the whole fleet opens per second, by default."""
TLS_RAMP_PER_S = 500
"""The same over TLS, where each connection takes a handshake at both ends."""


class FleetPlanError(BenchError):
    """The fleet cannot do this; the message has the numbers and how to raise the limit."""


@dataclass(frozen=True, slots=True)
class Share:
    number: int
    connections: int
    host: str
    server_host: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """One limit: what the plan needs and what there is."""

    what: str
    where: str
    needed: int
    there: int
    unit: str
    fix: str

    @property
    def unmet(self) -> bool:
        return self.needed > self.there

    def __str__(self) -> str:
        return (
            f"{self.what} on {self.where}: {amount(self.needed, self.unit)} needed, "
            f"{amount(self.there, self.unit)} there ({self.fix})"
        )


def amount(number: int, unit: str) -> str:
    if number >= UNKNOWN:
        return "no limit"
    return size_words(number) if unit == "bytes" else f"{number:,} {unit}".strip()


@dataclass(frozen=True)
class FleetPlan:
    """Connections divided evenly among hosts, and every limit that this was checked against.

    ``threads`` means that the backend starts one thread per connection; ``largest`` is the most
    connections per process. The server of each share runs on the next host, so that connections
    cross the network if there are several hosts.
    """

    connections: int
    backend: str
    hosts: Sequence[Limits]
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
                number=number,
                connections=total // count + (number < total % count),
                host=hosts[number % len(hosts)].host,
                server_host=hosts[(number + 1) % len(hosts)].host,
            )
            for number in range(count)
        )

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """All limits, first per host and then per machine."""
        machines = dict.fromkeys(host.machine for host in self.hosts)
        rows = [
            *(row for host in self.hosts for row in self._of_host(host)),
            *(row for machine in machines for row in self._of_machine(machine)),
        ]
        return tuple(Requirement(*row) for row in rows)

    @property
    def unmet(self) -> list[Requirement]:
        return [requirement for requirement in self.requirements if requirement.unmet]

    @cached_property
    def most(self) -> int:
        """How many of the connections fit, by bisection: every requirement grows with them."""
        low, high = 0 if self.unmet else self.connections, self.connections
        while low < high:
            middle = (low + high + 1) // 2
            if replace(self, connections=middle).unmet:
                high = middle - 1
            else:
                low = middle
        return low

    @property
    def ramp_s(self) -> float:
        return self.connections / self.ramp_per_s

    @property
    def words(self) -> str:
        """``1,000,000 connections of callbacks over TLS``."""
        over = " over TLS" if self.tls else ""
        return f"{self.connections:,} connections of {self.backend}{over}"

    @property
    def refusal(self) -> str:
        why = "; ".join(map(str, self.unmet))
        return f"{self.words} do not fit: {why}; at most {self.most:,} do"

    @property
    def connection_bytes(self) -> int:
        """What a connection may take at both ends, rounded up, without its thread."""
        plain = CONNECTION_BYTES.get(self.backend, BYTES_PER_CONNECTION)
        if self.tls is None:
            return plain
        return plain + TLS_BYTES.get(self.backend, (client_kib(self.backend) + SERVER_KIB) * KIB)

    def _of_host(self, host: Limits) -> Iterator[Row]:
        largest, where = max(share.connections for share in self.shares), host.host
        needed = largest + SPARE_DESCRIPTORS
        fix = f"ulimit -Hn {needed}, or a smaller --share"
        yield "descriptors per process", where, needed, host.descriptors, "", fix
        fix = 'sysctl net.ipv4.ip_local_port_range="1024 65535", or a smaller --share'
        yield "ephemeral ports per address pair", where, largest, host.ports, "", fix
        for limit in host.tasks if self.threads else ():
            if limit.name == MAX_MAP_COUNT:
                fix = limit.fix.format(maps=4 * largest)
                yield f"threads by {MAX_MAP_COUNT}", where, largest, limit.left, "", fix

    def _of_machine(self, machine: str) -> Iterator[Row]:
        """What the hosts of one machine need together; each end counts on its own machine."""
        group = [host for host in self.hosts if host.machine == machine]
        names, first = {host.host for host in group}, group[0]
        where = " + ".join(host.host for host in group)
        workers = [share for share in self.shares if share.host in names]
        servers = [share for share in self.shares if share.server_host in names]
        ends = sum(share.connections for share in (*workers, *servers))
        threads = sum(share.connections for share in workers) if self.threads else 0
        memory = (
            ends * (self.connection_bytes // 2)
            + (len(workers) + len(servers)) * SHARE_BYTES // 2
            + len(group) * HOST_BYTES
            + threads * BYTES_PER_THREAD
        )
        fix = "more memory, more machines, or fewer connections"
        yield "memory", where, memory, first.memory_bytes, "bytes", fix
        files = ends + len(self.shares) * SPARE_DESCRIPTORS
        fix = f"sysctl fs.file-max={first.files_max + files}"
        yield "file table", where, files, first.files_left, "", fix
        fix = f"sysctl fs.epoll.max_user_watches={2 * ends}"
        yield "epoll watches", where, ends, first.watches, "", fix
        tasks = threads + len(self.shares) * TASKS + SPARE_TASKS
        for limit in first.tasks:
            if limit.name != MAX_MAP_COUNT:
                fix = limit.fix.format(2 * tasks)
                yield f"tasks by {limit.name}", where, tasks, limit.left, "", fix


def make(
    connections: int,
    backend: str,
    hosts: Sequence[Limits],
    *,
    threads: bool = False,
    share: int | None = None,
    ramp_per_s: float | None = None,
    tls: Tls | None = None,
) -> FleetPlan:
    """Plan with the largest share that the limits of a process allow, unless it is given.

    Raises :class:`FleetPlanError` without hosts, or if a process cannot hold any connection.
    """
    if not hosts:
        raise FleetPlanError("the cluster has no worker; start one with: dask worker SCHEDULER")
    largest = share or min(
        min(host.descriptors - SPARE_DESCRIPTORS, int(host.ports * PORTS_SHARE)) for host in hosts
    )
    if largest < 1:
        raise FleetPlanError("a process cannot hold a single connection here: ulimit -n is too low")
    pace = ramp_per_s or (TLS_RAMP_PER_S if tls else RAMP_PER_S)
    return FleetPlan(connections, backend, hosts, largest, pace, threads, tls)
