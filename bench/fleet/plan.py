"""How to divide a trial among the hosts, and which limits are too low: arithmetic only.

A *share* is one worker process with its slots, and one server process that holds
the other ends. Both need a descriptor per connection, and the pair of addresses
between them needs an ephemeral port per connection. The tighter of the two limits
the size of a share, and the number of connections then decides how many shares
there are. Everything else is counted per machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.errors import BenchError
from bench.fleet.limits import UNKNOWN, Limits
from bench.machine.doctor.limits import MAX_MAP_COUNT, SPARE_DESCRIPTORS, SPARE_TASKS
from bench.machine.doctor.memory import BYTES_PER_CONNECTION, BYTES_PER_THREAD
from bench.plan.tls import SERVER_KIB, Tls, client_kib
from bench.text import KIB, MIB, size_words

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

WATCHES = 2  # epoll registrations of a connection, one for each end
FILES = 2
TASKS = 3  # threads of a share: the worker's, and the server's two
RAMP_PER_S = 5000
"""Connections that the whole fleet opens per second, by default."""
TLS_RAMP_PER_S = 500
"""The same over TLS, where each connection takes a handshake at both ends."""


class FleetPlanError(BenchError):
    """The fleet cannot do this; the message has the numbers and how to raise the limit."""


@dataclass(frozen=True, slots=True)
class Share:
    """One worker process: its connections, its host, and the host of its server."""

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
        """Whether the limit is too low for the plan."""
        return self.needed > self.there

    def __str__(self) -> str:
        return (
            f"{self.what} on {self.where}: {amount(self.needed, self.unit)} needed, "
            f"{amount(self.there, self.unit)} there ({self.fix})"
        )


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """All shares, and every limit that they were checked against."""

    connections: int
    backend: str
    ramp_per_s: float
    shares: tuple[Share, ...]
    requirements: tuple[Requirement, ...]
    tls: Tls | None = None

    @property
    def unmet(self) -> list[Requirement]:
        """The limits that are too low; empty if the plan is possible."""
        return [requirement for requirement in self.requirements if requirement.unmet]

    @property
    def ramp_s(self) -> float:
        """Seconds until the last connection is due."""
        return self.connections / self.ramp_per_s


def amount(number: int, unit: str) -> str:
    """A number with its unit, for display."""
    if number >= UNKNOWN:
        return "no limit"
    return size_words(number) if unit == "bytes" else f"{number:,} {unit}".strip()


def largest_share(hosts: Sequence[Limits]) -> int:
    """Connections that one process can hold on any of these hosts."""
    return min(
        min(host.descriptors - SPARE_DESCRIPTORS, int(host.ports * PORTS_SHARE)) for host in hosts
    )


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
    """Divide ``connections`` evenly among ``hosts``, and check their limits.

    ``threads`` means that the backend starts one thread per connection; ``share``
    is the most connections per process. The server of each share runs on the next
    host, so that connections cross the network if there are several hosts. Raises
    :class:`FleetPlanError` without hosts, or if a process cannot hold any connection.
    """
    if not hosts:
        raise FleetPlanError("the cluster has no worker; start one with: dask worker SCHEDULER")
    most = largest_share(hosts) if share is None else share
    if most < 1:
        raise FleetPlanError("a process cannot hold a single connection here: ulimit -n is too low")
    # As far as possible, every host gets the same number of shares.
    count = max(-(-connections // most), min(len(hosts), connections))
    shares = tuple(
        Share(
            number=number,
            connections=connections // count + (number < connections % count),
            host=hosts[number % len(hosts)].host,
            server_host=hosts[(number + 1) % len(hosts)].host,
        )
        for number in range(count)
    )
    requirements = tuple(requirements_of(shares, hosts, backend, threads, tls))
    pace = ramp_per_s or (TLS_RAMP_PER_S if tls else RAMP_PER_S)
    return FleetPlan(connections, backend, pace, shares, requirements, tls)


def connection_bytes(backend: str, tls: Tls | None) -> int:
    """What a connection may take at both ends, rounded up, without its thread."""
    plain = CONNECTION_BYTES.get(backend, BYTES_PER_CONNECTION)
    if tls is None:
        return plain
    return plain + TLS_BYTES.get(backend, (client_kib(backend) + SERVER_KIB) * KIB)


def requirements_of(
    shares: Sequence[Share],
    hosts: Sequence[Limits],
    backend: str,
    threads: bool,
    tls: Tls | None,
) -> Iterator[Requirement]:
    """All limits, first per host and then per machine."""
    largest = max(share.connections for share in shares)
    for host in hosts:
        needed = largest + SPARE_DESCRIPTORS
        yield Requirement(
            "descriptors per process", host.host, needed, host.descriptors, "",
            f"ulimit -Hn {needed}, or a smaller --share",
        )  # fmt: skip
        yield Requirement(
            "ephemeral ports per address pair", host.host, largest, host.ports, "",
            'sysctl net.ipv4.ip_local_port_range="1024 65535", or a smaller --share',
        )  # fmt: skip
        for limit in host.tasks:
            if threads and limit.name == MAX_MAP_COUNT:
                fix = limit.fix.format(maps=4 * largest)
                yield Requirement(
                    f"threads by {MAX_MAP_COUNT}", host.host, largest, limit.left, "", fix
                )
    for machine in dict.fromkeys(host.machine for host in hosts):
        group = [host for host in hosts if host.machine == machine]
        yield from machine_requirements(shares, group, backend, threads, tls)


def machine_requirements(
    shares: Sequence[Share],
    group: Sequence[Limits],
    backend: str,
    threads: bool,
    tls: Tls | None,
) -> Iterator[Requirement]:
    """What the hosts of one machine need together; each end counts on its own machine."""
    names = {host.host for host in group}
    where = " + ".join(host.host for host in group)
    workers = [share for share in shares if share.host in names]
    servers = [share for share in shares if share.server_host in names]
    ends = sum(share.connections for share in (*workers, *servers))
    connections = sum(share.connections for share in workers)
    first = group[0]
    per_end = connection_bytes(backend, tls) // 2
    memory = (
        ends * per_end
        + (len(workers) + len(servers)) * SHARE_BYTES // 2
        + len(group) * HOST_BYTES
        + (connections * BYTES_PER_THREAD if threads else 0)
    )
    yield Requirement(
        "memory", where, memory, first.memory_bytes, "bytes",
        "more memory, more machines, or fewer connections",
    )  # fmt: skip
    files = ends * FILES // 2 + len(shares) * SPARE_DESCRIPTORS
    yield Requirement(
        "file table", where, files, first.files_left, "",
        f"sysctl fs.file-max={first.files_max + files}",
    )  # fmt: skip
    yield Requirement(
        "epoll watches", where, ends * WATCHES // 2, first.watches, "",
        f"sysctl fs.epoll.max_user_watches={2 * ends}",
    )  # fmt: skip
    tasks = (connections if threads else 0) + len(shares) * TASKS + SPARE_TASKS
    for limit in first.tasks:
        if limit.name != MAX_MAP_COUNT:
            fix = limit.fix.format(2 * tasks)
            yield Requirement(f"tasks by {limit.name}", where, tasks, limit.left, "", fix)


def most(
    connections: int,
    backend: str,
    hosts: Sequence[Limits],
    *,
    threads: bool = False,
    share: int | None = None,
    tls: Tls | None = None,
) -> int:
    """How many of ``connections`` fit, by bisection: every requirement grows with them."""
    low, high = 0, connections
    while low < high:
        middle = (low + high + 1) // 2
        if make(middle, backend, hosts, threads=threads, share=share, tls=tls).unmet:
            high = middle - 1
        else:
            low = middle
    return low


def refusal(plan: FleetPlan, possible: int) -> str:
    """Why a plan is impossible, in one line."""
    why = "; ".join(map(str, plan.unmet))
    over = " over TLS" if plan.tls else ""
    what = f"{plan.connections:,} connections of {plan.backend}{over}"
    return f"{what} do not fit: {why}; at most {possible:,} do"
