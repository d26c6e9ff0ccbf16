"""A trial in which the workers of a fleet share one crawl, round by round.

Here a worker is the dask worker itself, which runs the backend in its own
process. In each round it fetches what it was handed, and answers with one
batch of finds for every worker; dask carries them. See :mod:`bench.fleet.partition`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.backends import Known
from bench.fleet import merge
from bench.fleet.cluster import START_S, Call, FleetFault, Hosts, addresses, name_of
from bench.fleet.host import Host, ServerOutcome
from bench.fleet.partition import Crawler, Find, PartOutcome, owner
from bench.fleet.plan import PlanError
from bench.fleet.progress import Progress
from bench.fleet.schema import FleetTrialRecord, LeftBehind, WorkerRecord
from bench.schema import Status
from bench.trial import now
from crawlers.job import CrawlReport, Job, PageResult

if TYPE_CHECKING:
    from distributed import Client

READ_S = 60.0
STOP_S = 30.0
TIMEOUT_S = 30.0  # of one exchange
SITE_START_S = 180.0  # a directory of HTML is crawled by its server first


@dataclass(frozen=True, slots=True)
class Setting:
    """One crawl: what, by whom, with how many slots for each worker."""

    backend: Known
    site: str
    delay: str
    workers: int
    slots: int
    deadline_s: float


@dataclass(slots=True)
class Found:
    """What a trial found, as far as it came."""

    status: Status = "ok"
    reason: str | None = None
    root: str = ""
    elapsed_s: float | None = None
    rounds: int = 0
    handed_over: int = 0
    expected: dict[str, tuple[int, int]] = field(default_factory=dict)
    parts: list[PartOutcome] = field(default_factory=list)
    server: ServerOutcome | None = None
    kernel: dict[str, int | None] = field(default_factory=dict)
    left_behind: list[LeftBehind] = field(default_factory=list)


def run(
    client: Client, setting: Setting, number: int, progress: Progress
) -> tuple[FleetTrialRecord, list[WorkerRecord]]:
    """Run one shared crawl; the records say what became of it.

    Raises :class:`bench.fleet.plan.PlanError` when the cluster has too few workers.
    """
    there = addresses(client)
    if len(there) < setting.workers:
        raise PlanError(f"{setting.workers} workers asked for; the cluster has {len(there)}")
    where = there[: setting.workers]
    began, started = time.monotonic(), now()
    found = Found()
    try:
        serving = Hosts(client, Host, where[:1])
        crawlers = Hosts(client, Crawler, where)
        try:
            measure(serving, crawlers, setting, found, progress)
        finally:
            progress.phase("stopping")
            found.left_behind = serving.farewell("stop", STOP_S)
    except FleetFault as fault:
        found.status, found.reason = "void", str(fault)
    names = [name_of(address) for address in where]
    workers = [
        worker_record(place, names[place], setting, number, found)
        for place in range(setting.workers)
    ]
    record = trial_record(setting, number, found, workers, started)
    return record.model_copy(update={"trial_s": time.monotonic() - began}), workers


def measure(
    serving: Hosts, crawlers: Hosts, setting: Setting, found: Found, progress: Progress
) -> None:
    """The trial itself; fills in ``found`` as it goes."""
    progress.phase("starting the server")
    calls: list[Call] = [(serving.names[0], "serve", (0, setting.site, setting.delay))]
    (prefix,) = serving.each(calls, SITE_START_S)
    found.root = f"{prefix}/"
    (found.expected,) = serving.all("expected", 0, deadline_s=READ_S)
    told: list[Call] = [
        (
            name,
            "begin",
            (setting.backend.name, found.root, place, setting.workers, setting.slots, TIMEOUT_S),
        )
        for place, name in enumerate(crawlers.names)
    ]
    list(crawlers.each(told, START_S))
    serving.all("arm", False, deadline_s=READ_S)
    began = time.monotonic()
    rounds(crawlers, setting, found, progress, began)
    found.elapsed_s = time.monotonic() - began
    found.parts = crawlers.all("outcome", deadline_s=READ_S)
    ((found.server),) = serving.all("server_outcome", 0, deadline_s=READ_S)
    (kernel,) = serving.all("kernel")
    found.kernel = kernel.counters


def rounds(
    crawlers: Hosts, setting: Setting, found: Found, progress: Progress, began: float
) -> None:
    """Round after round, until nobody hands anything over."""
    progress.phase("crawling", len(found.expected))
    waiting: list[list[Find]] = [[] for _ in crawlers.names]
    budget = Job((found.root,)).max_redirects
    waiting[owner(found.root, setting.workers)].append((found.root, budget))
    while any(waiting):
        left = setting.deadline_s - (time.monotonic() - began)
        if left <= 0:
            raise FleetFault(f"not done after {setting.deadline_s:g} s and {found.rounds} rounds")
        rounds: list[Call] = [
            (name, "round", (finds,)) for name, finds in zip(crawlers.names, waiting, strict=True)
        ]
        waiting = [[] for _ in crawlers.names]
        for sender, batches in enumerate(crawlers.each(rounds, left)):
            for receiver, batch in enumerate(batches):
                waiting[receiver] += batch
                found.handed_over += len(batch) if receiver != sender else 0
        found.rounds += 1
        progress.to(min(found.handed_over, len(found.expected)))


def report_of(rows: dict[str, PageResult], setting: Setting, found: Found) -> CrawlReport:
    """Rows as the report of a crawl, which knows how to count and to digest them."""
    prefix = found.root.removesuffix("/")
    return CrawlReport(
        backend=setting.backend.name,
        root=found.root,
        concurrency=setting.slots,
        elapsed_s=found.elapsed_s or 0.0,
        stopped=None,
        rows=rows,
        mechanism={},
        prefix=prefix,
    )


def expected_rows(setting: Setting, found: Found, place: int) -> dict[str, PageResult]:
    """What the site says that one worker has to find."""
    prefix = found.root.removesuffix("/")
    return {
        prefix + path: PageResult(status, 0, checksum)
        for path, (status, checksum) in found.expected.items()
        if owner(prefix + path, setting.workers) == place
    }


def worker_record(
    place: int, host: str, setting: Setting, number: int, found: Found
) -> WorkerRecord:
    """One worker's record: its part, held against the same part of the site."""
    values: dict[str, Any] = {
        "trial": number,
        "worker": place,
        "host": host,
        "server": found.root or None,
        "connections": setting.slots,
        "ledger": None,
    }
    if not found.parts:
        empty = ("pages", "bytes", "elapsed_s", "user_s", "system_s", "digest", "digest_expected")
        values |= dict.fromkeys((*empty, "service_time")) | {"statuses": {}, "errors": {}}
        return WorkerRecord(**values, status="failed", reason="no result")
    part = found.parts[place]
    report = report_of(part.rows, setting, found)
    expected = report_of(expected_rows(setting, found, place), setting, found).digest
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
    setting: Setting, found: Found, whole: CrawlReport, server: ServerOutcome
) -> str | None:
    """Why a shared crawl must not count, or None: every page once over the whole fleet."""
    fetched = sum(len(part.rows) for part in found.parts)
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
    most = setting.workers * setting.slots
    if ledger.peak_connections > most:
        return f"{ledger.peak_connections} connections at once with {most} slots"
    return None


def trial_record(
    setting: Setting, number: int, found: Found, workers: list[WorkerRecord], started: str
) -> FleetTrialRecord:
    """The whole crawl's record; also settles whether it counts."""
    values: dict[str, Any] = {}
    if found.parts and found.server is not None and found.elapsed_s:
        rows: dict[str, PageResult] = {}
        for part in found.parts:
            rows |= part.rows
        whole = report_of(rows, setting, found)
        bad = [worker for worker in workers if worker.status != "ok"]
        found.reason = void_reason(setting, found, whole, found.server)
        if found.reason is None and bad:
            found.reason = f"worker {bad[0].worker} on host {bad[0].host}: {bad[0].reason}"
        found.status = "ok" if found.reason is None else "void"
        values = {
            "elapsed_s": found.elapsed_s,
            "rounds": found.rounds,
            "handed_over": found.handed_over,
            "pages": whole.pages,
            "bytes": whole.bytes,
            "pages_per_s": whole.pages / found.elapsed_s,
            "digest": whole.digest,
            "digest_expected": found.server.digest,
            "ledger": found.server.ledger,
            "service_time": merge.latencies(worker.service_time for worker in workers),
            "user_s": sum(part.user_s for part in found.parts),
            "system_s": sum(part.system_s for part in found.parts),
            "server_share": (found.server.user_s + found.server.system_s) / found.elapsed_s,
            "kernel": found.kernel,
        }
    return FleetTrialRecord(
        trial=number,
        workload="crawl",
        backend=setting.backend.name,
        family=setting.backend.family,
        status=found.status,
        reason=found.reason,
        started=started,
        trial_s=0.0,
        workers=setting.workers,
        hosts=len({worker.host for worker in workers}),
        connections=setting.workers * setting.slots,
        params={"site": setting.site, "delay": setting.delay, "slots": setting.slots},
        left_behind=found.left_behind,
        **values,
    )
