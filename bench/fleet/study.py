"""What one trial of the fleet saw, a sample of ``fleet.jsonl``; how it is planned, and shown.

A plan divides the connections among the hosts. A *share* is one worker process with its slots, and
one server process that holds the other ends. Both need a descriptor for each connection, and the
pair of addresses between them an ephemeral port. The tighter of the two limits the size of a share.
Whether a machine has room for its shares, its own doctor says (:mod:`bench.machine.doctor`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Final, NamedTuple

from pydantic import Field

from bench.analysis.stats import Spread
from bench.machine.doctor import BYTES_PER_CONNECTION, SPARE_DESCRIPTORS, CheckResult, Needs
from bench.machine.memory import added
from bench.plan.participants import only
from bench.plan.workloads import Point, c10k
from bench.run.preflight import SERVER_KIB, THREADED, client_kib
from bench.schema import Amount, Count, Ledger, Positive, Record, Whole
from bench.show.figures import Axis, Figure, LinePoint, Lines, Plot
from bench.show.table import CellMakers, Column, Row, Table, name, tabled
from bench.study import Report, Run, Study, StudyError, drawn
from bench.text import GIB, KIB, MIB, count, listing, number, plural
from crawlers.catalogue import OURS

# --- what a machine and a process have and need ------------------------------------------------

CONNECTION_KIB: Final = {"callbacks": (15, 64), "generators": (16, 68), "async_await": (24, 328)}
"""KiB of both ends, and what TLS adds; doctor and preflight have more to spare, for others."""
SHARE_BYTES: Final = 48 * MIB
"""Private memory of a worker and its server before their first connection."""
HOST_BYTES: Final = 256 * MIB
"""The warm-up server and what else runs on a host."""
PORTS_SHARE: Final = 0.4
"""The fraction of an address pair's ports that a share may use.

connect() first tries all ports of one parity (__inet_hash_connect in net/ipv4/inet_hashtables.c).
Once that half is nearly used up, it searches thousands of ports: with 16,667 connections for 28,232
ports, the ramp stalled at 14,000 with all processors busy in the kernel.
"""
RAMP_PER_S: Final = 5000
"""Connections that the whole fleet opens per second, by default."""
TLS_RAMP_PER_S: Final = 500
"""The same over TLS, where each connection takes a handshake at both ends."""
PATIENCE: Final = 3.0
"""A ramp or a release may take this many times its planned time, plus :data:`SPARE_S`."""
SPARE_S: Final = 60.0


class Share(NamedTuple):
    number: int
    connections: int
    host: str


# --- the record ----------------------------------------------------------------------------


class Worker(Record):
    """One worker with its server."""

    worker: Count
    connections: Count  # slots
    pages: Count
    bytes: Count
    statuses: dict[str, Count]
    errors: dict[str, Count]
    elapsed_s: Amount
    user_s: Amount
    system_s: Amount
    digest: str | None
    digest_expected: str | None
    ledger: Ledger
    mechanism: dict[str, str | Whole]
    void: str | None = None  # why what it did does not count


class HostRecord(Record):
    """One host: its name, the limits of a process there, and what its workers did and gained."""

    host: str  # "10.0.0.2:4321", the dask worker's address
    boot: str | None = None  # tells machines apart
    cores: Count
    descriptors: Count
    ports: Count
    memory_available_bytes: Count
    workers: list[Worker] = Field(default_factory=list)
    # Bytes that they gained between "all ready" and "all held", by owner; None if unknown.
    growth: dict[str, Whole | None] = Field(default_factory=dict)
    reasons: dict[str, str] = Field(default_factory=dict)  # why a part is unknown
    kernel: dict[str, Whole | None] = Field(default_factory=dict)  # what its counters rose by


class Moment(Record):
    """The fleet at one moment of the ramp."""

    at_s: Amount
    connections: Count  # held, counted by the servers
    used_bytes: Whole | None  # of memory, in addition to that before the first connection


class FleetTrial(Record):
    """One trial of the whole fleet: as planned, and with everything that its hosts reported."""

    backend: str
    tls: str | None  # "TLS 1.3, ecdsa, tickets"; None: plain HTTP
    connections: Positive  # planned: slots of all workers together
    ramp_per_s: Annotated[Amount, Field(gt=0)]
    hosts: list[HostRecord]
    opened_s: Amount | None = None  # from the start to the barrier
    released_s: Amount | None = None  # from the release to the last worker's result
    samples: list[Moment] = Field(default_factory=list)

    @property
    def label(self) -> str:
        """``callbacks``, and ``callbacks/tls`` over TLS."""
        return f"{self.backend}/tls" if self.tls else self.backend

    @property
    def words(self) -> str:
        return words_of(self.label)

    # --- the plan ---

    @property
    def shares(self) -> list[Share]:
        """As large as the limits of a process allow; every host gets as many, if possible.

        Raises :class:`StudyError` if a process cannot hold any connection.
        """
        hosts, total = self.hosts, self.connections
        most = (min(h.descriptors - SPARE_DESCRIPTORS, int(h.ports * PORTS_SHARE)) for h in hosts)
        if (largest := min(most)) < 1:
            raise StudyError("a process cannot hold a single connection here: ulimit -n is too low")
        count = max(-(-total // largest), min(len(hosts), total))
        return [
            Share(n, total // count + (n < total % count), hosts[n % len(hosts)].host)
            for n in range(count)
        ]

    def shares_of(self, host: str) -> list[Share]:
        return [share for share in self.shares if share.host == host]

    def point(self, share: Share) -> Point:
        """What the worker of a share does, as a campaign plans it."""
        per_s = self.ramp_per_s * share.connections / self.connections
        point = c10k(share.connections, only((self.backend,), 1), tls=bool(self.tls), per_s=per_s)
        return replace(point, deadline_s=2 * self.patience_s)

    def needs(self, host: str) -> Needs:
        """What a host needs for its shares."""
        shares, family = self.shares_of(host), getattr(OURS.get(self.backend), "family", "")
        connections = sum(share.connections for share in shares)
        usual = BYTES_PER_CONNECTION // KIB, client_kib(self.backend) + SERVER_KIB
        plain, encrypted = CONNECTION_KIB.get(self.backend, usual)
        return Needs(
            connections=connections,
            threads=connections if family == THREADED else 0,
            shares=max(len(shares), 1),
            connection_bytes=KIB * (plain + (encrypted if self.tls else 0)),
            process_bytes=len(shares) * SHARE_BYTES + HOST_BYTES,
        )

    @property
    def patience_s(self) -> float:
        return PATIENCE * self.connections / self.ramp_per_s + SPARE_S

    def refusal(self, examined: Mapping[str, Sequence[CheckResult]]) -> str | None:
        """Why it does not fit, by what the doctors of hosts say; None if it does."""
        limits = "; ".join(
            f"{result.check} on {host}: {result.found} ({result.fix})"
            for host, results in examined.items()
            for result in results
            if result.level == "refusal"
        )
        named = f"{self.connections:,} connections of {self.words}"
        return f"{named} do not fit: {limits}" if limits else None

    # --- what was seen ---

    @property
    def workers(self) -> list[Worker]:
        return [worker for host in self.hosts for worker in host.workers]

    def per_connection(self, parts: Sequence[str]) -> float | None:
        """Bytes of some parts per connection; None if one of them was not measured."""
        total = added(host.growth.get(part) for host in self.hosts for part in parts)
        return None if total is None else total / self.connections


STUDY: Final[Study[FleetTrial]] = Study("fleet", "connections held at one barrier", FleetTrial)

BUDGET: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("client, user", ("user_bytes",)),
    ("client, page tables", ("page_table_bytes",)),
    ("client, kernel stacks", ("kernel_stack_bytes",)),
    ("client, send buffers of threads", ("send_buffer_bytes",)),
    ("client, kernel: sockets", ("kernel_socket_bytes",)),
    ("client, kernel: files, epoll, ports", ("kernel_other_bytes",)),
    ("server, user", ("server_user_bytes", "server_page_table_bytes")),
    ("server, kernel", ("server_kernel_bytes",)),
)
"""Who holds the memory of a connection: words for the table, and parts of a record."""
WHOLE = tuple(part for _, parts in BUDGET for part in parts)


def words_of(label: str) -> str:
    return label.replace("/tls", " over TLS")


def held(run: Run[FleetTrial]) -> list[FleetTrial]:
    """Those that count, in the order of the record."""
    parts = [sample.part for sample in run.samples if sample.status == "ok" and sample.part]
    if any(None in (part.opened_s, part.released_s) for part in parts):
        raise StudyError("a trial of this fleet counts, but has no times: restore its record")
    return parts


def largest(run: Run[FleetTrial]) -> list[FleetTrial]:
    """By label, the first that held the most connections: plain HTTP and TLS apart."""
    largest: dict[str, FleetTrial] = {}
    for trial in held(run):
        if trial.connections > largest.setdefault(trial.label, trial).connections:
            largest[trial.label] = trial
    return list(largest.values())


def sentence(trial: FleetTrial) -> str:
    total, workers = trial.per_connection(WHOLE), plural(len(trial.workers), "worker")
    each = f", {total / KIB:.1f} KiB each with both ends" if total is not None else ""
    return (
        f"{trial.words}, {trial.connections:,} connections, {workers}: "
        f"all held after {trial.opened_s:.1f} s, released in {trial.released_s:.1f} s{each}"
    )


# --- what is shown ---------------------------------------------------------------------------

RAMP: Final = "fleet-ramp"
COUNTERS: Final = ("ListenOverflows", "TCPTimeouts", "RetransSegs")
CLIENT: Final = [part for name, parts in BUDGET if name.startswith("client") for part in parts]
"""The parts of the client's side, including its half of the kernel memory."""


def ramp(run: Run[FleetTrial]) -> Figure | str:
    """Connections and memory against time, of a trial per label that held the most."""
    most = max((trial.connections for trial in held(run)), default=0)
    trials = {trial.label: trial for trial in held(run) if trial.connections == most}
    if not trials:
        return "no valid trial that held connections"
    panels: Mapping[str, Callable[[Moment], float | None]] = {
        "connections held, counted by the servers": lambda moment: moment.connections,
        "additional memory of the machines, GiB": lambda moment: (
            None if moment.used_bytes is None else max(moment.used_bytes, 0) / GIB
        ),
    }
    x = Axis("time since the start", words=lambda value: f"{number(value)} s")
    plots = []
    for panel, value in panels.items():
        curves = {label: curve(trial, value) for label, trial in trials.items()}
        lines = {label: line for label, line in curves.items() if line}
        marks = {label: line[-1] for label, line in lines.items()}
        plots += [Plot(lines, x, Axis(""), panel, marks=marks)] if lines else []
    workers = [
        f"{plural(len(t.workers), 'worker')} of {words_of(t.label)}" for t in trials.values()
    ]
    label, first = next(iter(trials.items()))
    figure = Figure(
        name=RAMP,
        title="Connections and memory against time, up to the summit",
        headline=f"{count(most)} connections of {words_of(label)} open at once, "
        f"after {first.opened_s:.0f} s",
        subtitle=f"Held by {listing(workers)}",
        data=Lines(plots),
        notes=("Memory of both ends: clients, servers and the kernel.",),
    )
    return drawn(figure, f"fleet {run.head.run}", run.head)


def curve(trial: FleetTrial, value: Callable[[Moment], float | None]) -> list[LinePoint]:
    points = ((moment.at_s, value(moment)) for moment in trial.samples)
    # Of all that one trial saw: a line leads to no single trial.
    seen = len(trial.samples)
    return [LinePoint(at, Spread(y, y, y, seen)) for at, y in points if y is not None]


def risen(counter: str, trial: FleetTrial) -> str:
    """By how much a counter of the kernel rose, added over hosts."""
    rise = added(host.kernel.get(counter) for host in trial.hosts)
    return "not known" if rise is None else f"{rise:,}"


def kib(parts: Sequence[str], trial: FleetTrial) -> str:
    """Of one connection."""
    value = trial.per_connection(parts)
    return "not measured" if value is None else f"{value / KIB:.2f}"


HELD: Final[CellMakers[FleetTrial]] = [
    (name("backend"), lambda trial: trial.words),
    (Column("connections"), lambda trial: f"{trial.connections:,}"),
    (Column("workers", drop=1), lambda trial: f"{len(trial.workers):,}"),
    (Column("opened in s"), lambda trial: f"{trial.opened_s:.1f}"),
    (Column("released in s"), lambda trial: f"{trial.released_s:.1f}"),
    (Column("client, KiB each"), partial(kib, CLIENT)),
    *((Column(counter, drop=n), partial(risen, counter)) for n, counter in enumerate(COUNTERS, 2)),
]


def budget_table(trials: Sequence[FleetTrial]) -> Table:
    both = ("sum, both ends", WHOLE), ("second method: free memory", ("machine_drop_bytes",))
    rows: list[Row] = [
        [owner, *(kib(parts, trial) for trial in trials)] for owner, parts in (*BUDGET, *both)
    ]
    heads = [Column(f"{trial.words}, {trial.connections:,}") for trial in trials]
    hosts = (host for trial in trials for host in trial.hosts)
    reasons = {why for host in hosts for why in host.reasons.values()}
    notes = [f"Not measured: {'; '.join(sorted(reasons))}."] if reasons else []
    caption = "Memory of one connection, in KiB"
    return Table(caption, [name("owner"), *heads], rows if trials else [], notes=notes)


def report(run: Run[FleetTrial]) -> Report:
    machine = run.head.environment
    hosts = max((len(trial.hosts) for trial in held(run)), default=0)
    return Report(
        title="Connections held by a fleet",
        about=f"Fleet {run.head.run}: {machine.cpu_count} processors "
        f"({machine.cpu_model or 'model unknown'}), "
        f"{machine.memory_total_bytes / GIB:.0f} GiB, {machine.kernel}, {machine.python}, "
        f"{machine.limits.get('nofile_hard')} descriptors per process, {hosts} host(s).",
        tables=[tabled("Held at one barrier", HELD, held(run)), budget_table(largest(run))],
        designs=[ramp(run)],
        backends=backends(run),
        notes=run.faults(),
    )


def backends(run: Run[FleetTrial]) -> list[str]:
    """In the order that decides on the colours of the charts."""
    return list(dict.fromkeys(each.part.backend for each in run.samples if each.part))
