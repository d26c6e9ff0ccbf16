"""How a trial is shared out over the fleet, and what stops it: arithmetic on limits.

A *share* is one worker process with its slots, and one server process of its
own that holds the other end of each. Both need a descriptor for each
connection, and the pair of addresses between them an ephemeral port; so the
tighter of the two decides how large a share can be, and the number of
connections how many shares there are. Everything else is counted per machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.doctor import BYTES_PER_CONNECTION, BYTES_PER_THREAD, SPARE_DESCRIPTORS, SPARE_TASKS
from bench.errors import BenchError
from bench.fleet.limits import MAPS, UNKNOWN, Limits

CONNECTION_BYTES = {
    "callbacks": 15 * 1024,
    "generators": 16 * 1024,
    "async_await": 24 * 1024,
}
"""Both ends of a connection, kernel and user memory, rounded up; others: the doctor's figure."""

SHARE_BYTES = 48 << 20
"""A worker and its server before their first connection: private memory of two interpreters."""

HOST_BYTES = 256 << 20
"""The dask worker, the warm-up server and whatever else a host needs."""

PORTS_SHARE = 0.4
"""Of the ports of an address pair, that a share may use.

connect() tries the ports of one parity first, one after another
(__inet_hash_connect in net/ipv4/inet_hashtables.c). When that half is nearly
taken, every further connection looks at thousands of ports: with 16,667 of
28,232 the ramp came to a standstill at 14,000, all processors busy in the kernel.
"""

WATCHES = 2  # epoll registrations of a connection, one for each end
FILES = 2
TASKS = 3  # threads of a share: the worker's, and the server's two
RAMP_PER_S = 5000
"""Connections opened per second by the whole fleet, unless asked otherwise."""


class PlanError(BenchError):
    """The fleet cannot do this; the message has the numbers and what lifts the limit."""


@dataclass(frozen=True, slots=True)
class Share:
    """One worker process: how many connections, on which host, and where its server is."""

    number: int
    connections: int
    host: str
    server_host: str


@dataclass(frozen=True, slots=True)
class Need:
    """One limit: what is needed of it and what is there."""

    what: str
    where: str
    needed: int
    there: int
    unit: str
    mend: str

    @property
    def stops(self) -> bool:
        """Whether the plan fails on this."""
        return self.needed > self.there

    def __str__(self) -> str:
        return (
            f"{self.what} on {self.where}: {amount(self.needed, self.unit)} needed, "
            f"{amount(self.there, self.unit)} there ({self.mend})"
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Who holds how much, and every limit it was held against."""

    connections: int
    backend: str
    ramp_per_s: float
    shares: tuple[Share, ...]
    needs: tuple[Need, ...]

    @property
    def stops(self) -> list[Need]:
        """What makes this impossible; empty when it can be done."""
        return [need for need in self.needs if need.stops]

    @property
    def ramp_s(self) -> float:
        """Seconds until the last connection is due."""
        return self.connections / self.ramp_per_s


def amount(number: int, unit: str) -> str:
    """A number with its unit as people read it."""
    if number >= UNKNOWN:
        return "no limit"
    return f"{number / (1 << 30):.1f} GiB" if unit == "bytes" else f"{number:,} {unit}".strip()


def largest_share(hosts: Sequence[Limits]) -> int:
    """Connections that one process on the least of these hosts can hold."""
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
    ramp_per_s: float = RAMP_PER_S,
) -> Plan:
    """Share ``connections`` out over ``hosts``, evenly, and hold that against their limits.

    ``threads`` says that the backend starts one for each connection, ``share``
    how many connections a process is to hold at most. The server of each share
    is on the next host, so that with several the connections cross the network.
    Raises :class:`PlanError` when there is no host, or no share of at least one connection.
    """
    if not hosts:
        raise PlanError("the cluster has no worker; start one with: dask worker SCHEDULER")
    most = largest_share(hosts) if share is None else share
    if most < 1:
        raise PlanError("a process cannot hold a single connection here: ulimit -n is too low")
    # Every host the same number of shares, as far as it goes.
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
    needs = tuple(needs_of(shares, hosts, backend, threads))
    return Plan(connections, backend, ramp_per_s, shares, needs)


def needs_of(
    shares: Sequence[Share], hosts: Sequence[Limits], backend: str, threads: bool
) -> Iterator[Need]:
    """Every limit, host by host and then machine by machine."""
    largest = max(share.connections for share in shares)
    for host in hosts:
        needed = largest + SPARE_DESCRIPTORS
        yield Need(
            "descriptors per process", host.host, needed, host.descriptors, "",
            f"ulimit -Hn {needed}, or a smaller --share",
        )  # fmt: skip
        yield Need(
            "ephemeral ports per address pair", host.host, largest, host.ports, "",
            'sysctl net.ipv4.ip_local_port_range="1024 65535", or a smaller --share',
        )  # fmt: skip
        for limit in host.tasks:
            if threads and limit.name == MAPS:
                mend = limit.mend.format(maps=4 * largest)
                yield Need(f"threads by {MAPS}", host.host, largest, limit.left, "", mend)
    for machine in dict.fromkeys(host.machine for host in hosts):
        group = [host for host in hosts if host.machine == machine]
        yield from machine_needs(shares, group, backend, threads)


def machine_needs(
    shares: Sequence[Share], group: Sequence[Limits], backend: str, threads: bool
) -> Iterator[Need]:
    """What the hosts of one machine need together, each end counted where it is."""
    names = {host.host for host in group}
    where = " + ".join(host.host for host in group)
    workers = [share for share in shares if share.host in names]
    servers = [share for share in shares if share.server_host in names]
    ends = sum(share.connections for share in (*workers, *servers))
    connections = sum(share.connections for share in workers)
    first = group[0]
    per_end = CONNECTION_BYTES.get(backend, BYTES_PER_CONNECTION) // 2
    memory = (
        ends * per_end
        + (len(workers) + len(servers)) * SHARE_BYTES // 2
        + len(group) * HOST_BYTES
        + (connections * BYTES_PER_THREAD if threads else 0)
    )
    yield Need(
        "memory", where, memory, first.memory_bytes, "bytes",
        "more memory, more machines, or fewer connections",
    )  # fmt: skip
    files = ends * FILES // 2 + len(shares) * SPARE_DESCRIPTORS
    yield Need(
        "file table", where, files, first.files_left, "",
        f"sysctl fs.file-max={first.files_max + files}",
    )  # fmt: skip
    yield Need(
        "epoll watches", where, ends * WATCHES // 2, first.watches, "",
        f"sysctl fs.epoll.max_user_watches={2 * ends}",
    )  # fmt: skip
    tasks = (connections if threads else 0) + len(shares) * TASKS + SPARE_TASKS
    for limit in first.tasks:
        if limit.name != MAPS:
            mend = limit.mend.format(2 * tasks)
            yield Need(f"tasks by {limit.name}", where, tasks, limit.left, "", mend)


def most(
    connections: int,
    backend: str,
    hosts: Sequence[Limits],
    *,
    threads: bool = False,
    share: int | None = None,
) -> int:
    """How many of ``connections`` can be held; found by halving, as every need grows with them."""
    low, high = 0, connections
    while low < high:
        middle = (low + high + 1) // 2
        if make(middle, backend, hosts, threads=threads, share=share).stops:
            high = middle - 1
        else:
            low = middle
    return low


def refusal(plan: Plan, possible: int) -> str:
    """Why a plan cannot be done, in one line."""
    why = "; ".join(map(str, plan.stops))
    what = f"{plan.connections:,} connections of {plan.backend}"
    return f"{what} do not fit: {why}; at most {possible:,} do"
