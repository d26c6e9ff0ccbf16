"""The records of ``trials.jsonl``: what one line may say, and in which unit.

A campaign is one append-only file of JSON lines. The first line is a
:class:`CampaignRecord`; every later line is a :class:`TrialRecord`, a
:class:`CeilingRecord`, a :class:`ResumeRecord` or an :class:`EndRecord`, told
apart by ``kind``. Charts, tables and the report are built from these lines
alone, so whatever a reader needs to distrust a number must be in here.

Units are in the field names: ``_s`` seconds, ``_ms`` milliseconds, ``_bytes``
bytes. A measurement that could not be made is ``None`` and its reason stands
under the same name in the record's ``reasons``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

SCHEMA_VERSION = 1

Status = Literal["ok", "void", "failed", "refused"]
Limiter = Literal["client", "server", "schedule", "unclear"]


class Record(BaseModel):
    """Base of all records: immutable, and unknown fields are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Environment(Record):
    """What the numbers were taken on. No host name, user name or path."""

    python: str  # "CPython 3.11.7"
    python_build: dict[str, str | bool | None]  # compiler, pgo, lto, debug, gil, configure flags
    implementation: str
    packages: dict[str, str]  # distribution -> version
    commit: str | None
    dirty: bool | None
    os: str  # "Debian GNU/Linux 12"
    kernel: str
    machine: str  # "x86_64"
    cpu_model: str | None
    cpu_count: int
    cpu_quota: float | None  # cgroup quota in processors, None when unlimited
    memory_total_bytes: int
    limits: dict[str, int | str | None]  # nofile, nproc, somaxconn, port range ...
    reasons: dict[str, str] = Field(default_factory=dict)


class Interpreter(Record):
    """An interpreter that workers of a campaign were started with. No path."""

    name: str  # "3.13.5", "3.13.5t": what stands behind the @ of a backend
    build: dict[str, str | bool | None]  # as Environment.python_build


class PointPlan(Record):
    """What a campaign meant to measure at one workload point."""

    point: str  # "throughput-100"
    workload: str
    blocks: int  # how many blocks of the campaign this point takes part in
    labels: list[str]  # whose trials one block of it holds
    params: dict[str, int | float | str | None]
    fewer: dict[str, int] = Field(default_factory=dict)  # labels that are in so many blocks only

    @property
    def trials(self) -> int:
        """How many trials were planned here."""
        return sum(min(self.blocks, self.fewer.get(label, self.blocks)) for label in self.labels)


class Rung(Record):
    """A backend's place on the ladder, as the registry described it."""

    name: str
    family: str  # "stack" for a whole HTTP stack
    rung: int  # -1 where it could not be loaded
    summary: str
    changes: str  # "against callbacks: the system call"
    against: str | None  # the backend that it changes one thing of
    most: int | None  # connections that it can hold at once, None without a bound
    missing: str | None  # why it did not run


class CampaignRecord(Record):
    """First line of a campaign: what was planned and where it runs."""

    kind: Literal["campaign"] = "campaign"
    schema_version: int = SCHEMA_VERSION
    campaign: str  # "20261121-051200-1a2b3c"
    created: str  # ISO 8601, UTC
    profile: str
    seed: int  # orders the blocks; recorded so that the order can be rebuilt
    blocks: int
    backends: list[str]
    base: str  # the backend that ratios are taken against
    twin: str | None  # the backend that runs twice in every block, as "<twin>#2"
    points: list[str]  # ids of workload points, "throughput-100"
    command: list[str]
    environment: Environment
    plan: list[PointPlan] = Field(default_factory=list)
    interpreters: list[Interpreter] = Field(default_factory=list)  # oldest first; none: its own
    interpreters_missing: dict[str, str] = Field(default_factory=dict)  # name -> reason
    rungs: list[Rung] = Field(default_factory=list)  # all backends that were looked at


class Latency(Record):
    """A latency distribution, in milliseconds.

    ``hdr`` is the HdrHistogram V2 compressed encoding, base64, of integer
    microseconds; the percentiles are read from it. ``p99_9_ms`` is None with
    fewer than 10,000 samples, because fewer than ten lie beyond it.
    """

    count: int
    min_ms: float
    mean_ms: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    p99_9_ms: float | None
    max_ms: float
    hdr: str


class Cpu(Record):
    """Processor seconds over the timed part of the trial."""

    client_user_s: float
    client_system_s: float
    server_user_s: float | None
    server_system_s: float | None


class Ledger(Record):
    """What the server saw of the trial."""

    requests: int
    distinct: int
    repeated: int
    connections_opened: int
    peak_connections: int
    peak_in_flight: int
    requests_per_connection_max: int


class MemoryParts(Record):
    """Memory by owner, in bytes; None where no source exists (see ``reasons``)."""

    user_bytes: int | None  # private anonymous, Pss_Anon of the worker
    rss_bytes: int | None
    page_table_bytes: int | None
    kernel_stack_bytes: int | None
    kernel_socket_bytes: int | None  # the client's side of the sockets
    send_buffer_bytes: int | None  # what each thread that has sent keeps; reckoned
    kernel_other_bytes: int | None  # dentries, inodes, files, epoll items, task structs
    server_socket_bytes: int | None  # the server's side, never charged to the client
    threads: int
    descriptors: int | None


class Memory(Record):
    """Memory at the barrier: connections held open, and nothing else going on."""

    connections: int
    before: MemoryParts  # started, warmed up, no connection yet
    held: MemoryParts  # all connections open, answers withheld
    machine_drop_bytes: int | None  # second method, whole machine
    sources: dict[str, str]  # part -> "smaps_rollup Pss_Anon", "slabinfo", "cgroup v1 kmem" ...
    reasons: dict[str, str] = Field(default_factory=dict)


class Ramp(Record):
    """Connections and memory while the barrier fills and opens; columns of equal length."""

    at_ms: list[int]  # since the worker was told to go
    connections: list[int]  # open at the server
    own_kib: list[int | None]  # the worker's user memory, page tables and kernel stacks
    opened_ms: int | None  # when the barrier was opened, None when it never was


class HostNoise(Record):
    """The host around the trial: a fixed loop before and after it, steal, load."""

    probe_before_s: float
    probe_after_s: float
    steal_s: float | None
    load1: float | None
    mhz: float | None


class Fairness(Record):
    """How evenly the slots got on, from the start until the work ran out.

    The time is cut into windows of equal length. ``completions`` holds, for
    the end of each window, how many exchanges a slot had completed by then:
    the quantiles over slots named in ``quantiles``, from the least to the most.
    """

    slots: int
    quantiles: list[float]
    ends_s: list[float]
    completions: list[list[float]]
    silent: list[int]  # per window: slots that completed nothing in it
    longest_gap_s: list[float]  # the same quantiles of each slot's longest time without any
    jain: float  # Jain's index of completions at the end: 1 all equal, 1/slots one has all


class TrialRecord(Record):
    """One backend on one workload point in one fresh process: the sample."""

    kind: Literal["trial"] = "trial"
    trial: int  # running number in the campaign
    block: int
    position: int  # place within the block, 0 first
    workload: str  # "throughput"
    point: str  # "throughput-100"
    params: dict[str, int | float | str | None]  # slots, delay, site, connections, rate ...
    backend: str  # "callbacks"
    label: str  # the backend, or "<backend>#2" for the A/A twin
    family: str
    rung: int
    status: Status
    reason: str | None
    started: str  # ISO 8601, UTC
    trial_s: float  # wall time of the trial with all its overhead
    elapsed_s: float | None  # the timed part
    pages: int | None
    bytes: int | None
    pages_per_s: float | None
    offered_per_s: float | None = None
    achieved_per_s: float | None = None
    late_starts: int | None = None
    statuses: dict[str, int]
    errors: dict[str, int]
    redirects: int | None
    digest: str | None
    digest_expected: str | None
    cpu: Cpu | None
    service_time: Latency | None
    response_time: Latency | None = None
    memory: Memory | None = None
    ramp: Ramp | None = None  # barrier trials; campaigns before it was kept have none
    fairness: Fairness | None = None  # of the workload that is about it
    ledger: Ledger | None
    limiter: Limiter | None = None
    mechanism: dict[str, str | int]  # threads_peak, loop, selector, parser, gc_collections ...
    kernel: dict[str, int | None]  # deltas: ListenOverflows, TCPTimeouts, RetransSegs ...
    host: HostNoise | None
    pinning: dict[str, list[int] | str | None]  # client, server; "reason" when not pinned
    seeds: dict[str, int]
    extra: dict[str, float | int | str | list[float] | None] = Field(default_factory=dict)
    stderr: str | None = None  # last lines, for a failed trial


class CeilingRecord(Record):
    """What the fixture server can do at most, measured in the same campaign."""

    kind: Literal["ceiling"] = "ceiling"
    block: int
    tool: str  # "wrk 4.1.0" or "built-in"
    site: str
    connections: int
    requests_per_s: float
    server_cpu_share: float | None  # of one processor
    client_cpu_share: float | None
    errors: int
    started: str


class ResumeRecord(Record):
    """The campaign was broken off and taken up again here."""

    kind: Literal["resume"] = "resume"
    resumed: str
    done: int


class EndRecord(Record):
    """Last line of a campaign that ran to its end or was stopped in good order."""

    kind: Literal["end"] = "end"
    ended: str
    complete: bool
    reason: str | None
    wall_s: float
    trial_wall_s: float


AnyRecord = Annotated[
    CampaignRecord | TrialRecord | CeilingRecord | ResumeRecord | EndRecord,
    Field(discriminator="kind"),
]
RECORD: TypeAdapter[AnyRecord] = TypeAdapter(AnyRecord)
