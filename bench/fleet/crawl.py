"""A trial in which the workers of a fleet share one crawl, round by round.

Here a worker is the dask worker itself, which runs the backend in its own process.
In each round it fetches the URLs it was given, and returns one batch of state URLs
for each worker, carried by dask. See :mod:`bench.fleet.partition`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.fleet import merge
from bench.fleet.cluster import START_S, FleetFault, HostCall, Hosts, addresses, name_of
from bench.fleet.host import Host
from bench.fleet.messages import ServerReport
from bench.fleet.partition import Crawler, Find, PartResult, owner
from bench.fleet.plan import FleetPlanError
from bench.fleet.progress import Progress
from bench.fleet.schema import FleetTrialRecord, LeftBehind, WorkerRecord
from bench.schema import Status
from bench.text import now
from crawlers.backend import Backend
from crawlers.job import CrawlReport, Job, PageResult

if TYPE_CHECKING:
    from distributed import Client

READ_S = 60.0
STOP_S = 30.0
TIMEOUT_S = 30.0  # of one exchange
SITE_START_S = 180.0  # the server first crawls a directory of HTML itself


@dataclass(frozen=True, slots=True)
class SharedCrawl:
    """One crawl to share: ``slots`` per worker."""

    backend: Backend
    site: str
    delay: str
    workers: int
    slots: int
    deadline_s: float


@dataclass(slots=True)
class CrawlState:
    """What a trial has state so far."""

    status: Status = "ok"
    reason: str | None = None
    root: str = ""
    elapsed_s: float | None = None
    rounds: int = 0
    handed_over: int = 0
    expected: dict[str, tuple[int, int]] = field(default_factory=dict)
    parts: list[PartResult] = field(default_factory=list)
    server: ServerReport | None = None
    kernel: dict[str, int | None] = field(default_factory=dict)
    left_behind: list[LeftBehind] = field(default_factory=list)


def run(
    client: Client, crawl: SharedCrawl, number: int, progress: Progress
) -> tuple[FleetTrialRecord, list[WorkerRecord]]:
    """Run one shared crawl; returns its records, whatever happens.

    Raises :class:`bench.fleet.plan.FleetPlanError` if the cluster has too few workers.
    """
    there = addresses(client)
    if len(there) < crawl.workers:
        raise FleetPlanError(f"{crawl.workers} workers asked for; the cluster has {len(there)}")
    where = there[: crawl.workers]
    began, started = time.monotonic(), now()
    state = CrawlState()
    try:
        serving = Hosts(client, Host, where[:1])
        crawlers = Hosts(client, Crawler, where)
        try:
            measure(serving, crawlers, crawl, state, progress)
        finally:
            progress.phase("stopping")
            state.left_behind = serving.remaining("stop", STOP_S)
    except FleetFault as fault:
        state.status, state.reason = "void", str(fault)
    names = [name_of(address) for address in where]
    workers = [
        worker_record(place, names[place], crawl, number, state) for place in range(crawl.workers)
    ]
    record = trial_record(crawl, number, state, workers, started)
    return record.model_copy(update={"trial_s": time.monotonic() - began}), workers


def measure(
    serving: Hosts, crawlers: Hosts, crawl: SharedCrawl, state: CrawlState, progress: Progress
) -> None:
    """The trial itself; fills in ``state`` as it goes."""
    progress.phase("starting the server")
    calls: list[HostCall] = [(serving.names[0], "serve", (0, crawl.site, crawl.delay))]
    (served,) = serving.each(calls, SITE_START_S)
    state.root = f"{served.prefix}/"
    (state.expected,) = serving.all("expected", 0, deadline_s=READ_S)
    begin: list[HostCall] = [
        (
            name,
            "begin",
            (crawl.backend.name, state.root, place, crawl.workers, crawl.slots, TIMEOUT_S),
        )
        for place, name in enumerate(crawlers.names)
    ]
    list(crawlers.each(begin, START_S))
    serving.all("arm", False, deadline_s=READ_S)
    began = time.monotonic()
    rounds(crawlers, crawl, state, progress, began)
    state.elapsed_s = time.monotonic() - began
    state.parts = crawlers.all("result", deadline_s=READ_S)
    ((state.server),) = serving.all("server_report", 0, deadline_s=READ_S)
    (kernel,) = serving.all("kernel")
    state.kernel = kernel.counters


def rounds(
    crawlers: Hosts, crawl: SharedCrawl, state: CrawlState, progress: Progress, began: float
) -> None:
    """Run rounds until no worker hands over any more URLs."""
    progress.phase("crawling", len(state.expected))
    waiting: list[list[Find]] = [[] for _ in crawlers.names]
    budget = Job((state.root,)).max_redirects
    waiting[owner(state.root, crawl.workers)].append((state.root, budget))
    while any(waiting):
        left = crawl.deadline_s - (time.monotonic() - began)
        if left <= 0:
            raise FleetFault(f"not finished after {crawl.deadline_s:g} s and {state.rounds} rounds")
        rounds: list[HostCall] = [
            (name, "round", (finds,)) for name, finds in zip(crawlers.names, waiting, strict=True)
        ]
        waiting = [[] for _ in crawlers.names]
        for sender, batches in enumerate(crawlers.each(rounds, left)):
            for receiver, batch in enumerate(batches):
                waiting[receiver] += batch
                state.handed_over += len(batch) if receiver != sender else 0
        state.rounds += 1
        progress.to(min(state.handed_over, len(state.expected)))


def report_of(rows: dict[str, PageResult], crawl: SharedCrawl, state: CrawlState) -> CrawlReport:
    """A crawl report made from rows, to count and digest them."""
    prefix = state.root.removesuffix("/")
    return CrawlReport(
        backend=crawl.backend.name,
        root=state.root,
        concurrency=crawl.slots,
        elapsed_s=state.elapsed_s or 0.0,
        stopped=None,
        rows=rows,
        mechanism={},
        prefix=prefix,
    )


def expected_rows(crawl: SharedCrawl, state: CrawlState, place: int) -> dict[str, PageResult]:
    """The rows that one worker should find, according to the site."""
    prefix = state.root.removesuffix("/")
    return {
        prefix + path: PageResult(status, 0, checksum)
        for path, (status, checksum) in state.expected.items()
        if owner(prefix + path, crawl.workers) == place
    }


def worker_record(
    place: int, host: str, crawl: SharedCrawl, number: int, state: CrawlState
) -> WorkerRecord:
    """One worker's record: its rows, checked against its part of the site."""
    values: dict[str, Any] = {
        "trial": number,
        "worker": place,
        "host": host,
        "server": state.root or None,
        "connections": crawl.slots,
    }
    if not state.parts:
        return WorkerRecord(**values, status="failed", reason="no result")
    part = state.parts[place]
    report = report_of(part.rows, crawl, state)
    expected = report_of(expected_rows(crawl, state, place), crawl, state).digest
    wrong = report.digest != expected
    return WorkerRecord(
        **values,
        status="void" if wrong else "ok",
        reason=f"wrong digest of {len(part.rows)} URLs" if wrong else None,
        pages=report.pages,
        bytes=report.bytes,
        statuses={str(status): count for status, count in report.statuses.items()},
        errors=report.errors,
        elapsed_s=part.busy_s,
        user_s=part.user_s,
        system_s=part.system_s,
        digest=report.digest,
        digest_expected=expected,
        service_time=part.service_time,
        mechanism=part.mechanism,
    )


def void_reason(
    crawl: SharedCrawl, state: CrawlState, whole: CrawlReport, server: ServerReport
) -> str | None:
    """Why a shared crawl does not count, or None: the fleet must fetch every page exactly once."""
    fetched = sum(len(part.rows) for part in state.parts)
    if fetched != len(whole.rows):
        return f"{fetched - len(whole.rows)} URLs were fetched by more than one worker"
    if whole.digest != server.digest:
        return f"wrong digest of {len(whole.rows)} URLs"
    ledger = server.ledger
    if ledger.repeated or ledger.requests != fetched or ledger.distinct != fetched:
        return (
            f"{fetched} URLs fetched, but the server saw {ledger.requests} requests for "
            f"{ledger.distinct} URLs, {ledger.repeated} of them repeated"
        )
    most = crawl.workers * crawl.slots
    if ledger.peak_connections > most:
        return f"{ledger.peak_connections} connections at once with {most} slots"
    return None


def trial_record(
    crawl: SharedCrawl, number: int, state: CrawlState, workers: list[WorkerRecord], started: str
) -> FleetTrialRecord:
    """The record of the whole crawl; also decides whether it counts."""
    values: dict[str, Any] = {}
    if state.parts and state.server is not None and state.elapsed_s:
        rows: dict[str, PageResult] = {}
        for part in state.parts:
            rows |= part.rows
        whole = report_of(rows, crawl, state)
        bad = [worker for worker in workers if worker.status != "ok"]
        state.reason = void_reason(crawl, state, whole, state.server)
        if state.reason is None and bad:
            state.reason = f"worker {bad[0].worker} on host {bad[0].host}: {bad[0].reason}"
        state.status = "ok" if state.reason is None else "void"
        values = {
            "elapsed_s": state.elapsed_s,
            "rounds": state.rounds,
            "handed_over": state.handed_over,
            "pages": whole.pages,
            "bytes": whole.bytes,
            "pages_per_s": whole.pages / state.elapsed_s,
            "digest": whole.digest,
            "digest_expected": state.server.digest,
            "ledger": state.server.ledger,
            "service_time": merge.latencies(worker.service_time for worker in workers),
            "user_s": sum(part.user_s for part in state.parts),
            "system_s": sum(part.system_s for part in state.parts),
            "server_share": (state.server.user_s + state.server.system_s) / state.elapsed_s,
            "kernel": state.kernel,
        }
    return FleetTrialRecord(
        trial=number,
        workload="crawl",
        backend=crawl.backend.name,
        family=crawl.backend.family,
        status=state.status,
        reason=state.reason,
        started=started,
        trial_s=0.0,
        workers=crawl.workers,
        hosts=len({worker.host for worker in workers}),
        connections=crawl.workers * crawl.slots,
        params={"site": crawl.site, "delay": crawl.delay, "slots": crawl.slots},
        left_behind=state.left_behind,
        **values,
    )
