"""The records of ``trials.jsonl``: their fields and units.

A campaign is one append-only file of JSON lines. The first line is a :class:`CampaignRecord`.
Every later line is a :class:`TrialRecord`, a :class:`CeilingRecord`, a :class:`ResumeRecord` or
an :class:`EndRecord`; ``kind`` says which. Charts, tables and the report are made from these
lines alone, so everything that helps a reader to question a number is in here.

Field names end in their unit: ``_s`` seconds, ``_ms`` milliseconds, ``_bytes`` bytes. A ``Count``
or an ``Amount`` is a number that cannot be negative, as a ``Whole`` and a ``Change`` can. A value
that could not be measured is ``None``, and the record's ``reasons`` gives the reason under the same
name.

What a reader may rely on is said here, and checked when a line is read: readers check nothing.
"""

from __future__ import annotations

import base64
import struct
import zlib
from datetime import datetime
from math import isclose
from typing import Annotated, Any, Final, Literal, Required, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetPydanticSchema,
    TypeAdapter,
    model_validator,
)
from pydantic_core import core_schema
from typing_extensions import TypedDict

SCHEMA_VERSION = 2

Status = Literal["ok", "void", "failed", "refused"]
Limiter = Literal["client", "server", "schedule", "unclear"]
SpreadOver = Literal["apart", "shared"]
"""How a client gets every processor: all but the server's, or all, the server's included."""


def _current(version: int) -> int:
    if version != SCHEMA_VERSION:
        raise ValueError(
            f"schema version {version}, but this program reads {SCHEMA_VERSION}; use the commit "
            "that the campaign was made with"
        )
    return version


def reasoned(status: Status, reason: str | None) -> None:
    """Raises ValueError where what counts has a reason, or what does not has none."""
    if (reason is None) != (status == "ok"):
        raise ValueError(f"{status}, but its reason is {reason!r}")


def _instant(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("a time without its zone")
    return text


HDR_MAX_US: Final = 3_600_000_000  # one hour
HDR_DIGITS: Final = 3
INNER: Final = struct.Struct(">IIIIQQd")


def hdr(words: bytes) -> bytes:
    """The header of HdrHistogram's encoding, and the counts after it."""
    return INNER.pack(0x1C849313, len(words), 0, HDR_DIGITS, 1, HDR_MAX_US, 1.0) + words


def hdr_counts(text: str) -> bytes:
    """The counts in an encoded histogram, still in words. Raises ValueError for any other text."""
    try:
        data = zlib.decompress(base64.b64decode(text)[8:])
    except zlib.error:
        raise ValueError("not a whole histogram") from None
    if data != hdr(words := data[INNER.size :]):
        raise ValueError(f"a histogram of another kind: {text[:24]}…")
    return words


def _histogram(text: str) -> str:
    hdr_counts(text)
    return text


Version = Annotated[int, AfterValidator(_current)]
Instant = Annotated[str, AfterValidator(_instant)]
Hdr = Annotated[str, AfterValidator(_histogram)]
Whole = Annotated[int, Field(ge=-1 << 63, lt=1 << 63)]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Positive = Annotated[int, Field(ge=1, lt=1 << 63)]
Change = Annotated[float, Field(gt=-1e12, lt=1e12)]
Amount = Annotated[float, Field(ge=0, lt=1e12)]


class Record(BaseModel):
    """Base of all records: immutable, without unknown fields, NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Columnar(Record):
    """A record whose lists are columns of equal length; empty ones that it may lack are none."""

    @model_validator(mode="after")
    def _equal(self) -> Self:
        fields = type(self).model_fields
        columns = [column for name, column in self if column or fields[name].is_required()]
        if len({len(column) for column in columns if isinstance(column, list)}) > 1:
            raise ValueError("columns of unequal length")
        return self


class Environment(Record):
    """The machine and software that the numbers come from. No host name, user name or path."""

    python: str  # "CPython 3.11.7"
    python_build: dict[str, str | bool | None]  # compiler, pgo, lto, debug, gil, configure flags
    implementation: str  # "cpython"
    packages: dict[str, str]  # distribution -> version
    commit: str | None  # of the suite; None outside a clone
    dirty: bool | None  # whether there were uncommitted changes
    os: str  # "Debian GNU/Linux 12"
    kernel: str  # "Linux 6.18.44"
    machine: str  # "x86_64"
    cpu_model: str | None  # "AMD EPYC, family 26 model 2"
    cpu_count: Positive  # that the campaign could use
    cpu_quota: Amount | None  # cgroup quota in processors, None when unlimited
    memory_total_bytes: Count
    limits: dict[str, Whole | str | None]  # nofile, nproc, somaxconn, port range ...
    boot: str | None = None  # a hash of the kernel's random id of this boot; None if not recorded
    virtual: str | None = None  # "a container in a virtual machine"; None if neither, or not known
    openssl: str | None = None  # "OpenSSL 3.0.19 27 Jan 2026"; None: not recorded
    reasons: dict[str, str] = {}  # field -> why it is None


class Interpreter(Record):
    """An interpreter that ran workers of a campaign. No path."""

    name: str  # "3.13.5", "3.13.5t": the part after the @ of a backend
    build: dict[str, str | bool | None]  # as Environment.python_build


_MS: Final = r"\d{1,7}(\.\d+)?"


class KnownParams(TypedDict, total=False):
    """The parameters that numbers and sentences follow from; a point may have others."""

    __pydantic_config__ = ConfigDict(extra="allow", allow_inf_nan=False)  # type: ignore[misc]
    slots: Required[Positive]
    delay: Required[
        Annotated[str, Field(pattern=rf"^(none|fixed:{_MS}|lognormal:{_MS}(:{_MS})?)$")]
    ]
    urls: Annotated[int, Field(ge=1, le=10_000_000)] | None
    rate: Annotated[Positive | Amount, Field(gt=0)] | None
    work_ms: Annotated[Positive | Amount, Field(gt=0)]
    recorder: Literal["times", "windows", "slots", "null"]
    processors: Literal["all", "shared", "apart"]


PointParams = Annotated[
    dict[str, Count | Amount | str | None],
    GetPydanticSchema(lambda any_, make: core_schema.chain_schema([make(any_), make(KnownParams)])),
]


class PointPlan(Record):
    """What a campaign plans to measure at one workload point."""

    point: str  # "throughput-100"
    workload: str
    blocks: Count  # in how many blocks of the campaign this point is measured
    labels: list[str]  # one trial of each of these per block
    params: PointParams  # as in TrialRecord
    fewer: dict[str, Count] = {}  # labels measured in only so many blocks

    def blocks_of(self, label: str) -> int:
        """In how many blocks this label takes part."""
        return min(self.blocks, self.fewer.get(label, self.blocks))

    @property
    def trials(self) -> int:
        """The number of trials planned at this point."""
        return sum(map(self.blocks_of, self.labels))


class Rung(Record):
    """A backend's place on the ladder, as the registry described it."""

    name: str
    family: str  # "stack" for a whole HTTP stack
    rung: Whole  # -1 where it is not known
    summary: str  # what it is
    changes: str  # "against callbacks: the system call"
    against: str | None  # the backend it differs from in one thing
    most: Count | None  # connections it can hold at once, None for no limit
    missing: str | None  # why it did not run


class CampaignRecord(Record):
    """First line of a campaign: its plan and its environment."""

    kind: Literal["campaign"] = "campaign"
    schema_version: Version = SCHEMA_VERSION
    campaign: str  # "20261121-051200-1a2b3c"
    created: Instant  # ISO 8601, UTC
    profile: str  # "quick", or "quick+full" where --only took points of both
    seed: Whole  # decides the order of trials, which can be rebuilt from it
    blocks: Count  # the most of any point; see plan
    backends: list[str]  # in the order of tables
    base: str  # the backend that ratios are relative to
    twin: str | None  # the backend that runs twice in every block, as "<twin>#2"
    points: list[str]  # ids of workload points, "throughput-100"
    command: list[str]  # without a path
    environment: Environment
    plan: list[PointPlan] = []
    interpreters: list[Interpreter] = []  # oldest first; empty: our own
    interpreters_missing: dict[str, str] = {}  # name -> reason
    budget: dict[str, Any] | None = None  # what was cut to save time; in older campaigns only
    rungs: list[Rung] = []  # every backend that was considered

    @property
    def free_threaded(self) -> list[str]:
        """The interpreters without a lock, by name; "" is the harness's own."""
        builds = {"": self.environment.python_build}
        builds |= {interpreter.name: interpreter.build for interpreter in self.interpreters}
        return [name for name, build in builds.items() if build.get("gil") is False]


class Cpu(Record):
    """Processor seconds over the timed part of the trial."""

    client_user_s: Amount
    client_system_s: Amount
    server_user_s: Amount | None
    server_system_s: Amount | None


class Handshakes(Record):
    """TLS handshakes that the server has seen."""

    full: Count
    resumed: Count
    failed: Count


class Ledger(Record):
    """The server's own counts for the trial."""

    requests: Count  # of all URLs
    distinct: Count  # URLs that were requested
    repeated: Count  # URLs that were requested more than once
    connections_opened: Count
    peak_connections: Count  # most that were open at once
    peak_in_flight: Count  # most requests that waited for their answer at once
    requests_per_connection_max: Count
    pipelined: Count | None = None  # sent before the answer to the one before; None: older
    handshakes: Handshakes | None = None  # None: plain HTTP


class HostNoise(Record):
    """Noise on the host: the time of a fixed loop before and after the trial, steal, load."""

    probe_before_s: Amount
    probe_after_s: Amount
    steal_s: Change | None  # time that the host gave to other guests
    load1: Amount | None  # load average of a minute
    mhz: Amount | None  # clock frequency of the processor


class Fairness(Columnar):
    """How evenly the slots progressed, from the start until there was no more work.

    ``completions`` are the exchanges of a slot, and ``longest_gap_s`` the longest times between
    two of them: the values of these ``quantiles`` over all slots, in ascending order.
    """

    slots: Count
    until_s: Amount  # from the start until there was no more work
    quantiles: list[Amount]
    completions: list[Amount]
    longest_gap_s: list[Amount]
    silent: Count  # slots that completed nothing
    jain: Amount  # Jain's index: 1 if all are equal, 1/slots if one has all


class Windows(Columnar):
    """A crawl in windows of some hundred exchanges. Two threads may end theirs in wrong order."""

    exchanges: list[Count]  # in the window
    cpu_us: list[Count]  # of the client, all threads
    voluntary: list[Count]  # context switches
    involuntary: list[Count]


class Switches(Record):
    """Context switches of the client during the crawl, those of its ended children included.

    Voluntary: a thread had to wait. Involuntary: it lost the processor. In a trial that takes
    turns, each stop adds switches of its own.
    """

    voluntary: Count
    involuntary: Count
    windows: Windows | None = None  # of workloads that look at them along the crawl


class Turns(Record):
    """How a trial ran that took turns with the other labels of its block.

    Only counted turns are in the sums. In their round every slot of every label had work, and in
    a crawl they lie in the part that counts of all (:class:`TurnsRecord`). Throughput and processor
    time of the trial come from them.
    """

    turn_s: Amount  # the intended length of a turn
    warm_s: Amount | None = None  # how long the label ran before each that counts; None: not at all
    taken: Count  # number of turns
    counted: Count  # all sums here are of these turns
    exchanges: Count  # completed in counted turns
    wall_s: Amount  # of counted turns
    cpu_s: Amount  # the worker's in them, its child processes included
    server_cpu_s: Amount  # the server's process, polling included
    steal_s: Change | None  # of wall_s, the host gave so much to other guests; in ticks of 10 ms
    beside: list[str]  # all labels that were alive together
    spanned: Count | None  # exchanges with a stop inside: not in the service times
    aside_s: Change = 0.0  # processor time of resuming and stopping many threads: not in cpu_s

    @model_validator(mode="after")
    def _worked(self) -> Self:
        if self.exchanges and not (self.wall_s and self.cpu_s):
            raise ValueError("exchanges that took no time")
        return self

    @property
    def own_s(self) -> float:
        """``wall_s`` without what the host gave to other guests, and no less than ``cpu_s``.

        A worker that ran was not robbed; :meth:`TurnsRecord.stolen_us` knows it of each turn.
        """
        stolen_s = max(self.steal_s or 0.0, 0.0)  # a guest that moves may have less than before
        return max(self.wall_s - stolen_s, min(self.cpu_s, self.wall_s))

    @property
    def robbed(self) -> float:
        """How many times as long the turns were as the time that they had: a rate's correction."""
        return self.wall_s / self.own_s if self.own_s else 1.0


class Latency(Record):
    """A latency distribution, in milliseconds.

    ``hdr`` is a histogram of integer microseconds, as base64 of HdrHistogram's V2 compressed
    encoding. The percentiles come from it. ``p99_9_ms`` is None below 10,000 samples, because
    fewer than ten would lie beyond it.
    """

    count: Count
    min_ms: Amount
    mean_ms: Amount
    p50_ms: Amount
    p90_ms: Amount
    p99_ms: Amount
    p99_9_ms: Amount | None  # None below 10,000 samples
    max_ms: Amount
    hdr: Hdr


class Work(Record):
    """The pages of a trial that needed processor time of the client, and all the others.

    Nobody waits for a page alone: the times of the others show what the work did to them.
    Both kinds are response times, from the due time; a page that needed work was answered
    when that was done.
    """

    every: Positive  # one page in so many
    seed: Whole  # decides which
    work_ms: Amount  # what it should take alone
    round_us: Annotated[float, Field(gt=0, lt=1e12)]  # of a round alone, before the trial
    round_after_us: Amount | None = None  # and after it; None: only before
    rounds: Count  # for each page
    pages: Count  # worked on
    expected: Count  # pages that needed work
    check: Whole  # what the work came to
    check_expected: Whole
    cpu_ms: Amount  # processor time for each page that needed work
    wall_ms: Amount  # the same by the clock: longer where the thread had no processor
    threads: Count  # in how many threads of all processes it was done
    others: Latency | None  # of the pages that needed none
    worked: Latency | None  # of those that needed work


class MemoryParts(Record):
    """Memory by owner, in bytes; None where no source exists (see ``reasons``)."""

    user_bytes: Count | None  # anonymous: Pss_Anon and Pss_Shmem of the worker
    rss_bytes: Count | None  # shared pages included; in no total
    page_table_bytes: Count | None  # VmPTE of the worker
    kernel_stack_bytes: Count | None  # threads × the size of a stack in the kernel
    kernel_socket_bytes: Whole | None  # the client's side of the sockets
    send_buffer_bytes: Count | None  # kept by each thread that has sent; calculated
    kernel_other_bytes: Whole | None  # dentries, inodes, files, epoll items, task structs
    server_socket_bytes: Whole | None  # the server's side, never counted as the client's
    threads: Count
    descriptors: Count | None


class Memory(Record):
    """Memory at the barrier, while connections are held open and nothing else happens."""

    connections: Count  # that were held
    before: MemoryParts  # started, warmed up, no connection yet
    held: MemoryParts  # all connections open, answers withheld
    machine_drop_bytes: Whole | None  # by the second method, for the whole machine
    sources: dict[str, str]  # part -> "smaps_rollup Pss_Anon", "slabinfo", "cgroup v1 kmem" ...
    reasons: dict[str, str] = {}  # part -> why it is None


class Shares(Record):
    """What a trial used of what it could have: the limiter follows from it.

    Both sides in processors; polling is no work. Rates as shares of the highest that was possible;
    None where there is no such bound, or in older records.
    """

    client_share: Amount | None = None  # None: a load, which never sleeps
    processors: Positive = 1  # that the client can keep busy
    waited_share: Amount | None = None  # of the time: a client of one thread had no processor
    server_share: Amount | None  # of one processor, without polling
    ceiling_share: Amount | None = None  # of the server's ceiling
    offered_share: Amount | None = None  # of the schedule
    slots_share: Amount | None = None  # of what so many slots can do behind a delay


class Quantiles(Record):
    """Response times of a part of the requests."""

    p50_ms: Amount
    p90_ms: Amount


class LoadReport(Record):
    """What the load of a server under test saw, apart from the answers."""

    connections_opened: Count | None
    working: Quantiles | None = None  # requests that needed work
    alone: Quantiles | None = None  # requests before the slow readers came


class Cancelled(Record):
    """A crawl that was interrupted with an exchange of every slot in flight.

    The server held all answers. The harness sent SIGINT, as Ctrl-C does. Times count from the
    moment when the crawl noticed it, which it does once per tick.
    """

    in_flight: Count  # exchanges at the barrier
    noticed_s: Amount  # from the signal until then
    returned_s: Amount  # until the call of the crawl returned
    first_closed_s: Amount  # until the server had seen the first connection end
    closed_s: Amount  # until it had seen the last one end
    client_cpu_s: Amount  # the client's processor time until the call returned
    server_work_s: Amount  # the server's, from the signal until it had seen the last end
    switch_interval_s: Amount  # Python's own, whatever filled the barrier
    left: dict[str, Count]  # in the client's process afterwards, more than before, by kind
    open_at_server: Count  # connections that never ended


Kind = Literal["trial", "control", "companion"]
"""A control has no backend (:mod:`bench.controls`).

A companion is a further trial against a server that sleeps. Labels whose server had to sleep are
compared with it, because waking the server is part of each send.
"""


class TrialRecord(Record):
    """One backend on one workload point in one fresh process: the sample."""

    kind: Kind = "trial"  # "control": no backend; "companion": against a server that sleeps
    trial: Count  # running number in the campaign
    block: Count
    position: Count  # within the block, from 0
    workload: str  # "throughput"
    point: str  # "throughput-100"
    params: PointParams  # slots, delay, site, connections, rate ...
    backend: str  # "callbacks"
    label: str  # the backend; "#2" for the A/A twin, "@3.13.5t" for an interpreter
    family: str  # "threads", "callbacks", "generators", "async", "stack" or "control"
    rung: Whole  # its place on the ladder; -1: none
    status: Status  # "ok", "void", "failed" or "refused"; only "ok" counts
    reason: str | None = None  # why it is not "ok"
    started: str  # ISO 8601, UTC
    trial_s: Amount  # wall time, overhead included; in turns an equal share of the block's
    elapsed_s: Amount | None = None  # in turns of all exchanges, at the rate of counted turns
    pages: Count | None = None  # answers with status 200
    bytes: Count | None = None  # of their bodies
    pages_per_s: Amount | None = None  # pages / elapsed_s
    offered_per_s: Amount | None = None  # of an open loop
    achieved_per_s: Amount | None = None  # of an open loop
    late_starts: Count | None = None  # requests sent more than 1 ms after they were due
    statuses: dict[str, Count] = {}  # HTTP status -> how many
    errors: dict[str, Count] = {}  # kind of error -> how many fetches
    redirects: Count | None = None  # that were followed
    digest: str | None = None  # of all URLs, statuses and checksums of bodies
    digest_expected: str | None = None  # of the site; another one makes the trial void
    cpu: Cpu | None = None  # of the whole crawl, also in turns
    service_time: Latency | None = None  # in turns of the exchanges without a stop inside
    response_time: Latency | None = None  # of an open loop
    work: Work | None = None  # of the workload where some pages need work
    memory: Memory | None = None  # of the workloads that hold connections
    cancelled: Cancelled | None = None  # of the workload that interrupts crawls
    fairness: Fairness | None = None  # of the workload that measures it
    switches: Switches | None = None  # None: of a server
    turns: Turns | None = None  # None: a whole trial, run alone
    ledger: Ledger | None = None  # None: of a server under test
    limiter: Limiter | None = None  # "client", "server", "schedule" or "unclear"
    mechanism: dict[str, str | Whole] = {}  # threads_sampled, loop, selector, parser, gc ...
    kernel: dict[str, Whole | None] = {}  # deltas: ListenOverflows, RetransSegs, throttled_us ...
    host: HostNoise | None = None
    pinning: dict[str, list[Count] | str | None] = {}  # client, server; "reason" when not pinned
    seeds: dict[str, Whole] = {}  # hash, site, campaign, and schedule of an open loop
    ready_s: Amount | None = None  # in older records only
    shares: Shares | None = None  # from which the limiter follows
    page_faults: Count | None = None  # of what is under test; none of them needed a disk
    server_polls: bool | None = None  # of a fixture server: it never slept
    loaded: LoadReport | None = None  # of a server under test
    stderr: str | None = None  # last lines, for a failed trial

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        reasoned(self.status, self.reason)
        if self.status == "ok" and (self.pages or 0) != self.statuses.get("200", 0):
            raise ValueError(f"{self.pages} pages, but not so many answers with status 200")
        pages = (self.pages_per_s or 0.0) * (self.elapsed_s or 0.0)
        if pages and not isclose(pages, self.pages or 0, rel_tol=1e-6):
            raise ValueError("pages_per_s is not pages / elapsed_s")
        return self


class TurnsRecord(Columnar):
    """Every turn of one block at one point, as columns of equal length.

    Kept in a file of their own, beside the trials, so that other ways to pair and to
    weigh turns can be tried on the same data.
    """

    kind: Literal["turns"] = "turns"
    block: Count
    point: str
    labels: tuple[str, ...]  # all that were alive
    label: list[Whole]  # index into labels
    round: list[Whole]  # running number
    counted: list[bool]  # whether it counts
    began_us: list[Whole]  # since the first turn
    wall_us: list[Whole]
    cpu_us: list[Whole]
    server_cpu_us: list[Whole]
    exchanges: list[Whole]  # completed in the turn
    steal_ms: list[Whole | None]  # what the host gave to other guests; None: not known
    wait_us: list[Whole | None] = []  # for a processor; empty: not recorded
    aside_us: list[Whole] = []  # of resuming and stopping, not in cpu_us
    reached: list[Amount] = []  # share of the crawl done at a turn's end
    since: Amount | None = None  # turns count from this share of each crawl; None: see reasons
    until: Amount | None = None  # and up to this one
    warning: str | None = None  # too few counted rounds
    reasons: dict[str, str] = {}

    def stolen_us(self, label: str) -> list[Whole | None]:
        """What the host took from each counted turn of a label; None where that is not known.

        No more than the time in which the worker did not run: a tick of 10 ms may belong to the
        time before a turn. Raises ValueError for another label.
        """
        own_place = self.labels.index(label)
        columns = (self.label, self.counted, self.wall_us, self.cpu_us, self.steal_ms)
        return [
            None if steal_ms is None else max(min(1000 * steal_ms, wall_us - cpu_us), 0)
            for place, counts, wall_us, cpu_us, steal_ms in zip(*columns, strict=True)
            if counts and place == own_place
        ]


class CeilingRecord(Record):
    """The most that the fixture server can do, measured in the same campaign."""

    kind: Literal["ceiling"] = "ceiling"
    block: Count
    tool: str  # "wrk 4.1.0"
    site: str
    connections: Count  # that it had open
    requests_per_s: Amount | None = None  # the ceiling
    server_cpu_share: Amount | None = None  # of one processor
    client_cpu_share: Amount | None = None  # of the tool
    errors: Count = 0
    started: str
    reason: str | None = None  # why there is no ceiling


class ResumeRecord(Record):
    """An interrupted campaign was resumed here."""

    kind: Literal["resume"] = "resume"
    resumed: str  # ISO 8601, UTC
    done: Count  # trials that were there


class EndRecord(Record):
    """Last line of a campaign that ran to its end or was stopped cleanly."""

    kind: Literal["end"] = "end"
    ended: str  # ISO 8601, UTC
    complete: bool  # False: interrupted
    reason: str | None  # why it was interrupted
    wall_s: Amount  # of this run of the campaign
    trial_wall_s: Amount  # the trials' part of it


AnyRecord = Annotated[
    CampaignRecord | TrialRecord | CeilingRecord | ResumeRecord | EndRecord,
    Field(discriminator="kind"),
]
RECORD: TypeAdapter[AnyRecord] = TypeAdapter(AnyRecord)
