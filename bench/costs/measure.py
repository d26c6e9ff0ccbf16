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

STEP_S: Final = 20.0
"""How long a step may take where no instrument slows it: to start and warm up, to crawl (a hundred
times what that should take), to answer a load."""

ENDING_S = 60.0
"""An instrument writes its counts when the worker ends."""


class Crawler:
    """One backend with one hash seed under one instrument.

    Each crawl runs in a fork of one process (:mod:`bench.costs.forking`).
    """

    def __init__(self, backend: str, instrument: Instrument, seed: int, lane: Lane) -> None:
        self._backend, self._instrument, self._seed = backend, instrument, seed
        self._lane = lane
        self._control = backend if backend in controls.CONTROLS else None
        self._step_s = STEP_S * instrument.slowness
        self._worker: WorkerProcess | None = None

    def pair(self, workload: str, pages: int) -> Crawled:
        """What a crawl of so many pages took, and one of twice as many. Raises :class:`Lost`."""
        make, slots, who = WORKLOADS[workload], self._lane.slots, only(MODELS, 1)
        small, large = (self.count(make(slots, urls, who)) for urls in (pages, 2 * pages))
        # A control goes through its job several times.
        return both(pages * (controls.REPEATS if self._control else 1), small, large)

    def count(self, point: Point) -> Counts:
        """What one crawl took.

        Raises :class:`Lost` when the crawl failed, or was not correct. The process is then gone,
        and the next crawl starts another.
        """
        instrument, scratch, conditions = self._instrument, self._lane.scratch, point.conditions
        server = self._lane.server(point.site)
        command = Command(
            backend=self._backend,
            prefix=server.prefix,
            warmup_prefix=self._lane.server(WARMUP_SITE).prefix,
            urls=point.urls,
            slots=point.slots,
            timeout_s=self._step_s,
            switch_interval_s=switch_interval_s(instrument),
            out=str(scratch / "times"),
            keep_alive=all(condition.keep_alive for condition in conditions),
        )
        started = self._worker
        worker = self._worker = started or self._start()
        try:
            with losing(worker):
                if started is None:
                    worker.command(command)
                    worker.ready(self._step_s)
                others = instrument.files(scratch)
                worker.command(command)
                worker.ready(self._step_s)
                server.reset()
                worker.go()
                result = worker.result(time.monotonic() + self._step_s)
                reason = judge.void_reason(
                    conditions,
                    result,
                    server.ledger(),
                    point.slots,
                    server.digest,
                    urls=point.urls,
                    control=self._control,
                )
                if reason:
                    raise Lost(reason, void=True)
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
    patience = STEP_S * tool.slowness
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
            if fit := [workload for workload in crawled if takes_part(name, workload)]:
                yield Program(f"{name}/{tool.name}", partial(lane.crawl, name, tool, fit))
        for name in served:
            if wanted is None or name in wanted:
                yield Program(f"{name}/{SERVE}/{tool.name}", partial(lane.serve, name, tool))
    for backend in known:
        if backend.missing is not None:
            yield Program(backend.name, lambda _: Counted(), refused=backend.missing)
