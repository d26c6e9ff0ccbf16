"""Counts everything: each backend, workload, instrument and hash seed, at N and at 2 N pages.

A :class:`Task` is one backend with one hash seed under one instrument. Several run at a time
(:class:`Lanes`), each with servers (:class:`Sites`) and a folder of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final, Self

from bench import controls
from bench.conditions.ways import NEW
from bench.costs import record
from bench.costs.record import Costs, CostsError, CrawlError, Header, Key, Sample
from bench.costs.serving import SERVE, CountedServer
from bench.launch import OWN_PYTHON, ROOT
from bench.machine import environment, instruments
from bench.machine.instruments import Counts, Instrument
from bench.plan import backends, workloads
from bench.plan.participants import MAIN_VARIANTS, Participants
from bench.plan.profiles import SERVING
from bench.plan.workloads import SITE_SEED, WARMUP_SITE, Point
from bench.run import judge
from bench.run.runner import own_command
from bench.sides.process import ProcessError, WorkerError, WorkerProcess, kill
from bench.sides.protocol import Command
from bench.sides.servers import Server, ServerError
from bench.text import now
from crawlers.registry import MODELS

# --- what is crawled -------------------------------------------------------------------------

OPENED: Final = "churn"
"""The list of ``fetch`` with a connection for each page."""


def opened(slots: int, urls: int, who: Participants) -> Point:
    return replace(workloads.fetch(slots, urls, who), workload=OPENED, conditions=(NEW,))


WORKLOADS: dict[str, Callable[[int, int, Participants], Point]] = {
    "fetch": workloads.fetch,
    "crawl": workloads.throughput,
    OPENED: opened,
}
"""What is crawled, by the names of DESIGN and of the charts."""

COUNTED: Final = (*WORKLOADS, SERVE)
"""And the models as servers."""


@dataclass(frozen=True, slots=True)
class Site:
    point: Point
    server: Server


class Sites:
    """Servers that are started when they are first needed, and run until the end.

    Each lane has its own: the ledger of a server is of one crawl.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._running: dict[str, Server] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def server(self, site: str) -> Server:
        """Raises :class:`bench.sides.servers.ServerError`."""
        if site not in self._running:
            server = Server(site, seed=SITE_SEED, cores=[])
            self._running[site] = self._stack.enter_context(server)
        return self._running[site]

    def pair(self, workload: str, pages: int) -> tuple[Site, Site]:
        """A workload with so many pages, and with twice as many."""
        make = WORKLOADS[workload]
        one, other = (make(self._slots, n, Participants(1)) for n in (pages, 2 * pages))
        return Site(one, self.server(one.site)), Site(other, self.server(other.site))


# --- one crawl under an instrument, checked like any trial ----------------------------------------

READY_S = 20.0
"""How long a worker may take to start and warm up where no instrument slows it."""

CRAWL_S = 20.0
"""How long a crawl may take, by the same standard: a hundred times what it should."""

ENDING_S = 60.0
"""An instrument writes its counts when the worker ends."""


class Counted:
    """One backend with one hash seed under one instrument.

    Each crawl runs in a fork of one process (:mod:`bench.costs.forking`).
    """

    def __init__(
        self, backend: str, instrument: Instrument, seed: int, sites: Sites, scratch: Path
    ) -> None:
        self._backend, self._instrument, self._seed = backend, instrument, seed
        self._sites, self._scratch = sites, scratch
        self._worker: WorkerProcess | None = None
        self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def stop(self) -> None:
        """Kill what runs, which is one group of processes; for another thread."""
        self._stopped = True
        if self._worker is not None:
            kill(self._worker.pid)

    def count(self, site: Site) -> Counts:
        """What one crawl took.

        Raises :class:`CrawlError` when the crawl failed, or was not correct. The process is then
        gone, and the next crawl starts another.
        """
        try:
            return self._counted(site)
        except TimeoutError:
            if self._worker is not None:
                self._worker.abort()
            self._close()
            raise CrawlError("no result in time; the worker was ended") from None
        except (ProcessError, WorkerError, ServerError, ValueError) as error:
            last = self._last_words()
            self._close()
            raise CrawlError(": ".join([str(error), *last])) from None
        except CrawlError:
            self._close()
            raise

    def _counted(self, site: Site) -> Counts:
        command = self._command(site)
        if self._worker is None:
            self._worker = self._start()
            self._worker.command(command)
            self._worker.ready(READY_S * self._instrument.slowness)
        others = self._instrument.files(self._scratch)
        self._worker.command(command)
        self._crawl(site)
        self._worker.ready(ENDING_S * self._instrument.slowness)
        return self._instrument.results(self._scratch, others)

    def _start(self) -> WorkerProcess:
        if self._stopped:
            raise CrawlError("stopped")
        for left in self._instrument.files(self._scratch):
            left.unlink()
        return WorkerProcess(
            f"the worker under {self._instrument.tool}",
            python=[*self._instrument.wrap(self._scratch), *OWN_PYTHON],
            hash_seed=self._seed,
            module="bench.costs.forking",
        )

    def _command(self, site: Site) -> Command:
        return Command(
            backend=self._backend,
            prefix=site.server.prefix,
            warmup_prefix=self._sites.server(WARMUP_SITE).prefix,
            urls=site.point.urls,
            slots=site.point.slots,
            timeout_s=CRAWL_S * self._instrument.slowness,
            schedule=None,
            switch_interval_s=switch_interval_s(self._instrument),
            recorder="times",
            out=str(self._scratch / "times"),
            keep_alive=all(one.keep_alive for one in site.point.conditions),
        )

    def _crawl(self, site: Site) -> None:
        worker, instrument = self._worker, self._instrument
        assert worker is not None, "nothing was started"
        worker.ready(READY_S * instrument.slowness)
        site.server.reset()
        worker.go()
        result = worker.result(time.monotonic() + CRAWL_S * instrument.slowness)
        control = self._backend if self._backend in controls.CONTROLS else None
        ledger = site.server.ledger()
        reason = judge.void_reason(
            site.point.conditions,
            result,
            ledger,
            site.point.slots,
            site.server.digest,
            urls=site.point.urls,
            control=control,
        )
        if reason:
            raise CrawlError(reason, void=True)

    def _last_words(self) -> list[str]:
        if self._worker is None:
            return []
        self._worker.end(0.5)
        return (self._worker.stderr_tail() or "").splitlines()[-1:]

    def _close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()
            kill(worker.pid)  # a fork that hangs
            worker.close(0.0)


def switch_interval_s(instrument: Instrument) -> float:
    """How long a thread waits for the interpreter's lock before it asks for it.

    The usual 5 ms are a time, which a tool does not slow. A hundred threads that wait for one that
    is 40 times slower would ask 40 times as often for each page.
    """
    return sys.getswitchinterval() * instrument.slowness


# --- what is to be counted -------------------------------------------------------------------

FLOOR = "bare"
"""The control that is counted, on lists only: see :mod:`bench.controls`."""

REQUESTS: Final = 10
"""A server is asked for so many times the pages of a crawl, which needs a server of its own."""

OPENING = (*MODELS, *MAIN_VARIANTS)
"""Who is counted with a connection for each page."""


@dataclass(frozen=True, slots=True)
class Task:
    """One backend with one hash seed under one instrument, on some workloads."""

    backend: str
    instrument: Instrument
    seed: int
    pages: int  # N
    workloads: tuple[str, ...]

    @property
    def repeats(self) -> int:
        """How often each page is fetched: a control goes through its job several times."""
        return controls.REPEATS if self.backend in controls.CONTROLS else 1

    def key(self, workload: str) -> Key:
        return self.backend, workload, self.instrument.name, self.seed


def plan(
    names: Sequence[str],
    usable: Sequence[Instrument],
    seeds: Sequence[int],
    workloads: Sequence[str],
    pages: int,
) -> list[Task]:
    """Every task: all of the first hash seed, then of the next, so that a part is of use."""
    return [
        Task(name, instrument, seed, pages, crawled)
        for seed in seeds
        for name in names
        if (crawled := tuple(w for w in workloads if takes_part(name, w)))
        for instrument in usable
    ]


def plan_serving(
    names: Sequence[str], usable: Sequence[Instrument], seeds: Sequence[int], pages: int
) -> list[Task]:
    """The same for servers."""
    return [
        Task(name, instrument, seed, pages * REQUESTS, (SERVE,))
        for seed in seeds
        for name in names
        for instrument in usable
    ]


def takes_part(name: str, workload: str) -> bool:
    if workload == OPENED:
        return name in OPENING
    return workload == "fetch" or name != FLOOR


def without(tasks: Iterable[Task], done: Collection[Key]) -> list[Task]:
    left = [
        replace(task, workloads=tuple(w for w in task.workloads if task.key(w) not in done))
        for task in tasks
    ]
    return [task for task in left if task.workloads]


def in_order(tasks: Iterable[Task], workloads: Sequence[str], names: Sequence[str]) -> list[Key]:
    keys = [task.key(workload) for task in tasks for workload in task.workloads]
    return sorted(keys, key=lambda key: (workloads.index(key[1]), names.index(key[0])))


# --- how it is counted -----------------------------------------------------------------------


class Lanes:
    """Counts tasks, several at a time: each thread has servers and a folder of its own."""

    def __init__(self, slots: int, jobs: int) -> None:
        self._slots, self._stopped = slots, False
        self._pool, self._own = ThreadPoolExecutor(jobs), threading.local()
        self._stack = ExitStack()
        self._futures: list[Future[list[Sample]]] = []
        self._counted: list[Counted | CountedServer] = []

    def count(self, tasks: Iterable[Task]) -> Iterator[list[Sample]]:
        """The samples of each task, as it is done.

        Raises :class:`CostsError` without the fixture server.
        """
        self._futures = [self._pool.submit(self._count, task) for task in tasks]
        for future in as_completed(self._futures):
            try:
                yield future.result()
            except ServerError as error:
                raise CostsError(str(error)) from None

    def _count(self, task: Task) -> list[Sample]:
        own = self._own
        if not hasattr(own, "sites"):
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="c10k-"))
            own.sites = self._stack.enter_context(Sites(self._slots))
            own.scratch = Path(folder)
        if SERVE in task.workloads:
            name, tool = task.backend, task.instrument
            with CountedServer(name, tool, task.seed, self._slots, own.scratch) as server:
                self._counted.append(server)
                return [] if self._stopped else [serve(task, server)]
        with Counted(task.backend, task.instrument, task.seed, own.sites, own.scratch) as counted:
            self._counted.append(counted)
            if self._stopped:
                return []
            return [take(task, workload, counted, own.sites) for workload in task.workloads]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End what runs; what is being counted is lost."""
        self._stopped = True
        for future in self._futures:
            future.cancel()
        for counted in self._counted:
            counted.stop()
        with suppress(KeyboardInterrupt):  # a second one ends the wait
            wait(self._futures)
            self._stack.close()  # the servers end with the threads that started them
            self._pool.shutdown()


def take(task: Task, workload: str, counted: Counted, sites: Sites) -> Sample:
    try:
        small, large = map(counted.count, sites.pair(workload, task.pages))
    except CrawlError as error:
        return lost(task, workload, error)
    return sample(task, workload, task.pages * task.repeats, small, large)


def serve(task: Task, server: CountedServer) -> Sample:
    try:
        few, small = server.count(task.pages)
        many, large = server.count(2 * task.pages)
    except CrawlError as error:
        return lost(task, SERVE, error)
    return sample(task, SERVE, many - few, small, large)


def lost(task: Task, workload: str, error: CrawlError) -> Sample:
    made = sample(task, workload, task.pages, {}, {})
    status = "void" if error.void else "failed"
    return made.model_copy(update={"status": status, "reason": str(error)})


def sample(task: Task, workload: str, pages: int, small: Counts, large: Counts) -> Sample:
    costs = {cost: (small.get(cost, 0), large.get(cost, 0)) for cost in {**small, **large}}
    return Sample(
        backend=task.backend,
        workload=workload,
        instrument=task.instrument.name,
        seed=task.seed,
        pages=pages,
        status="ok",
        counts=costs,
    )


def processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class CostsOptions:
    backends: Sequence[str] | None = None
    workloads: Sequence[str] = COUNTED
    instruments: Sequence[str] = instruments.NAMES
    pages: int = 500
    slots: int = 100
    seeds: Sequence[int] = (1, 2, 3)
    jobs: int = 1


Report = Callable[[Sample, int, int], None]
"""Called with a sample as it comes, how many there are, and how many are planned."""


def run(
    options: CostsOptions,
    report: Report,
    *,
    folder: Path | None = None,
    resume: bool = False,
) -> Costs:
    """Count, and report each sample as it comes.

    With a ``folder`` each sample is appended there and synced, so nothing that was counted is
    lost; ``resume`` goes on with what is there. An interrupted run returns what it has, and
    the unfinished record stays.
    Raises :class:`bench.errors.BenchError` for a backend that cannot be used, when nothing can
    be counted here, or without the fixture server.
    """
    wanted = None if options.backends is None else list(options.backends)
    crawled = [workload for workload in options.workloads if workload != SERVE]
    floor = [FLOOR] if crawled and (wanted is None or FLOOR in wanted) else []
    serving = [
        name
        for name in (FLOOR, *SERVING)
        if SERVE in options.workloads and (wanted is None or name in wanted)
    ]
    if wanted is not None:
        others = {*controls.CONTROLS, *backends.ONLY_SERVERS}
        wanted = [name for name in wanted if name not in others]
    known = backends.look_up(wanted) if crawled and wanted != [] else []
    names = [*floor, *(backends.choose(known, wanted) if known else [])]
    found = instruments.find(options.instruments)
    usable = [each for each in found if each.missing is None]
    if not usable:
        raise CostsError("; ".join(each.missing or "" for each in found))
    header = Header(
        created=now(),
        command=own_command(sys.argv),
        environment=environment.collect(ROOT),
        pages=options.pages,
        slots=options.slots,
        seeds=list(options.seeds),
        tools={each.name: each.tool for each in usable},
        missing={each.name: each.missing for each in found if each.missing},
        absent={each.name: each.missing for each in known if each.missing},
    )
    planned = [
        *plan(names, usable, options.seeds, crawled, options.pages),
        *plan_serving(serving, usable, options.seeds, options.pages),
    ]
    order = in_order(planned, options.workloads, list(dict.fromkeys([*names, *serving])))
    done: dict[Key, Sample] = {}
    log = None
    if folder is not None:
        log, found_before = record.begin(folder, header, resume=resume)
        header = found_before.header.model_copy(update={"seeds": header.seeds})
        done = {s.key: s for s in found_before.samples if s.status == "ok" and s.key in set(order)}
    lanes = Lanes(options.slots, options.jobs)
    with log or nullcontext(), suppress(KeyboardInterrupt), lanes:
        for sample in chain.from_iterable(lanes.count(without(planned, done))):
            done[sample.key] = sample
            if log is not None:
                log.append(sample)
            report(sample, len(done), len(order))
    costs = Costs(header, tuple(done[key] for key in order if key in done))
    if log is not None and folder is not None and len(done) == len(order):
        record.save(costs, folder)
        log.path.unlink()
    return costs
