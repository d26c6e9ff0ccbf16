"""Counts crawls and servers: each backend, workload and instrument, at N and at 2 N pages.

What start, first pages, connections and end need is in both counts, so it cancels.
A program is one backend under one instrument, and a round of it has a hash seed of its own.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from bench import controls
from bench.conditions.ways import NEW
from bench.costs.accounts import Counted, Crawled
from bench.launch import OWN_PYTHON
from bench.machine.instruments import Counts, Instrument
from bench.plan import backends, workloads
from bench.plan.participants import MAIN_VARIANTS, Participants, only
from bench.plan.profiles import SERVING
from bench.plan.workloads import SERVED, SITE_SEED, WARMUP_SITE, Point
from bench.run import judge
from bench.sides.process import ProcessError, WorkerProcess, kill
from bench.sides.protocol import Command, Load
from bench.sides.servers import ModelServer, Server, ServerError
from bench.sides.settled import SWITCH_INTERVAL
from bench.sides.sides import PLACES, Progress
from bench.study.runner import Lost, Program, losing
from crawlers.backend import Backend
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
"""What is crawled, by the names of the charts."""

SERVE: Final = "serve"
COUNTED: Final = (*WORKLOADS, SERVE)
"""And the models as servers."""
SERVED_SITE: Final = f"list:{SERVED}:2048"

FLOOR = "bare"
"""The control that is counted, on lists only: see :mod:`bench.controls`."""

REQUESTS: Final = 10
"""A server is asked for so many times the pages of a crawl, which needs a server of its own."""

OPENING = (*MODELS, *MAIN_VARIANTS)
"""Who is counted with a connection for each page."""


def takes_part(name: str, workload: str) -> bool:
    if workload == OPENED:
        return name in OPENING
    return workload == "fetch" or name != FLOOR


# --- one backend under an instrument, checked like any trial -----------------------------------

READY_S = 20.0
"""How long a worker may take to start and warm up where no instrument slows it."""

CRAWL_S = 20.0
"""How long a crawl may take, by the same standard: a hundred times what it should."""

ENDING_S = 60.0
"""An instrument writes its counts when the worker ends."""

ANSWER_S: Final = 20.0
"""How long a load may take to begin, and then to end, by the same standard."""


class Crawler:
    """One backend with one hash seed under one instrument.

    Each crawl runs in a fork of one process (:mod:`bench.costs.forking`).
    """

    def __init__(self, backend: str, instrument: Instrument, seed: int, lane: Lane) -> None:
        self._backend, self._instrument, self._seed = backend, instrument, seed
        self._lane = lane
        self._worker: WorkerProcess | None = None

    def pair(self, workload: str, pages: int) -> Crawled:
        """What a crawl of so many pages took, and one of twice as many. Raises :class:`Lost`."""
        make, slots, who = WORKLOADS[workload], self._lane.slots, only(MODELS, 1)
        small, large = (self.count(make(slots, urls, who)) for urls in (pages, 2 * pages))
        # A control goes through its job several times.
        times = controls.REPEATS if self._backend in controls.CONTROLS else 1
        return both(pages * times, small, large)

    def count(self, point: Point) -> Counts:
        """What one crawl took.

        Raises :class:`Lost` when the crawl failed, or was not correct. The process is then gone,
        and the next crawl starts another.
        """
        instrument, scratch, started = self._instrument, self._lane.scratch, self._worker
        server = self._lane.server(point.site)
        worker = self._worker = started or self._start()
        try:
            with losing(worker):
                command = self._command(point, server)
                if started is None:
                    worker.command(command)
                    worker.ready(READY_S * instrument.slowness)
                others = instrument.files(scratch)
                worker.command(command)
                self._crawl(worker, point, server)
                worker.ready(ENDING_S * instrument.slowness)
                return instrument.results(scratch, others)
        except Lost:
            self.close()
            raise

    def _start(self) -> WorkerProcess:
        instrument, scratch = self._instrument, self._lane.scratch
        instrument.clear(scratch)
        return WorkerProcess(
            f"the worker under {instrument.tool}",
            python=[*instrument.wrap(scratch), *OWN_PYTHON],
            extra_environment={"PYTHONHASHSEED": str(self._seed)},
            module="bench.costs.forking",
        )

    def _command(self, point: Point, server: Server) -> Command:
        return Command(
            backend=self._backend,
            prefix=server.prefix,
            warmup_prefix=self._lane.server(WARMUP_SITE).prefix,
            urls=point.urls,
            slots=point.slots,
            timeout_s=CRAWL_S * self._instrument.slowness,
            switch_interval_s=switch_interval_s(self._instrument),
            out=str(self._lane.scratch / "times"),
            keep_alive=all(one.keep_alive for one in point.conditions),
        )

    def _crawl(self, worker: WorkerProcess, point: Point, server: Server) -> None:
        slowness = self._instrument.slowness
        worker.ready(READY_S * slowness)
        server.reset()
        worker.go()
        result = worker.result(time.monotonic() + CRAWL_S * slowness)
        control = self._backend if self._backend in controls.CONTROLS else None
        ledger = server.ledger()
        reason = judge.void_reason(
            point.conditions,
            result,
            ledger,
            point.slots,
            server.digest,
            urls=point.urls,
            control=control,
        )
        if reason:
            raise Lost(reason, void=True)

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()
            kill(worker.pid)  # a fork that hangs
            worker.close(0.0)


def both(pages: int, small: Counts, large: Counts) -> Crawled:
    counts = {cost: (small.get(cost, 0), large.get(cost, 0)) for cost in {**small, **large}}
    return Crawled(pages=pages, counts=counts)


def switch_interval_s(instrument: Instrument) -> float:
    """How long a thread waits for the interpreter's lock before it asks for it.

    The usual 5 ms are a time, which a tool does not slow. A hundred threads that wait for one that
    is 40 times slower would ask 40 times as often for each page.
    """
    return sys.getswitchinterval() * instrument.slowness


def served(
    name: str, tool: Instrument, seed: int, slots: int, scratch: Path, requests: int
) -> tuple[int, Counts]:
    """How many requests there were, which is about ``requests``, and what all of them took.

    One server with one hash seed under one instrument, from its start to its end, under a load that
    stops by itself. Raises :class:`Lost` when it failed, or did not serve what was asked for.
    """
    tool.clear(scratch)
    environment = {
        "PYTHONHASHSEED": str(seed),
        SWITCH_INTERVAL: str(switch_interval_s(tool)),
    }
    python = [*tool.wrap(scratch), *OWN_PYTHON]
    patience = ANSWER_S * tool.slowness
    try:
        with (
            ModelServer(name, SERVED_SITE, SITE_SEED, python, environment=environment) as server,
            closing(Progress(PLACES)) as progress,
            WorkerProcess("the load", module="bench.sides.loader") as load,
        ):
            server.ready()
            load.command(
                Command(
                    backend=name,
                    prefix=server.prefix,
                    urls=server.urls,
                    slots=slots,
                    timeout_s=patience,
                    progress=progress.file,
                    load=Load(how="press", awake=False, answers=requests),
                )
            )
            load.ready(patience)
            load.go()
            result = load.result(time.monotonic() + patience)
            served = server.finish(by_signal=False)
        counts = tool.results(scratch)
    except (TimeoutError, ProcessError, ServerError, ValueError) as error:
        raise Lost(f"{SERVE}: {error}") from None
    if reason := judge.served_reason(name, result, served, server.digest):
        raise Lost(f"{SERVE}: {reason}", void=True)
    return result.pages, counts


# --- what counts share -----------------------------------------------------------------------


class Lane:
    """What counts are made with: servers, which run until the end, and a folder."""

    def __init__(self, pages: int, slots: int, stack: ExitStack) -> None:
        self.pages, self.slots, self._stack = pages, slots, stack
        self.scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="c10k-")))
        self._running: dict[str, Server] = {}

    def server(self, site: str) -> Server:
        """Raises :class:`bench.sides.servers.ServerError`."""
        if site not in self._running:
            server = Server(site, seed=SITE_SEED, cores=[])
            self._running[site] = self._stack.enter_context(server)
        return self._running[site]

    def crawl(self, name: str, tool: Instrument, names: Sequence[str], repeat: int) -> Counted:
        """One program in one round, whose crawls share a process. Raises :class:`Lost`."""
        with closing(Crawler(name, tool, repeat + 1, self)) as crawler:
            counted, lost = Counted(), None
            for workload in names:
                try:
                    counted.crawls[workload] = crawler.pair(workload, self.pages)
                except Lost as error:
                    why, void = f"{workload}: {error}", error.status == "void"
                    lost = lost or Lost(why, void=void, part=counted)
            if lost:
                raise lost
        return counted

    def serve(self, name: str, tool: Instrument, repeat: int) -> Counted:
        count = partial(served, name, tool, repeat + 1, self.slots, self.scratch)
        few, small = count(self.pages * REQUESTS)
        many, large = count(2 * self.pages * REQUESTS)
        return Counted(crawls={SERVE: both(many - few, small, large)})


# --- what is to be counted -------------------------------------------------------------------


def programs(
    lane: Lane, wanted: Sequence[str] | None, names: Sequence[str], tools: Sequence[Instrument]
) -> Iterator[Program[Counted]]:
    """Those backends, or all, on these workloads under each instrument.

    What cannot run here is refused. Raises :class:`bench.errors.BenchError` for a backend that
    does not exist.
    """
    crawled = [name for name in names if name != SERVE]
    ours = {*controls.CONTROLS, *backends.ONLY_SERVERS}
    others = None if wanted is None else [name for name in wanted if name not in ours]
    known: list[Backend] = []
    if crawled and others != []:
        known = backends.look_up() if others is None else backends.choose(others)
    chosen = [backend.name for backend in known if not backend.missing]
    floor = [FLOOR] if crawled and (wanted is None or FLOOR in wanted) else []
    served = (FLOOR, *SERVING) if SERVE in names else ()
    for tool in tools:
        if tool.missing is not None:
            yield Program(tool.name, partial(lane.serve, "", tool), refused=tool.missing)
            continue
        for name in (*floor, *chosen):
            mine = [workload for workload in crawled if takes_part(name, workload)]
            if mine:
                yield Program(f"{name}/{tool.name}", partial(lane.crawl, name, tool, mine))
        for name in served:
            if wanted is None or name in wanted:
                yield Program(f"{name}/{SERVE}/{tool.name}", partial(lane.serve, name, tool))
    for each in known:
        if each.missing is not None:
            yield Program(each.name, lambda _: Counted(), refused=each.missing)
