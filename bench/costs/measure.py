"""Counts crawls and servers: each backend, workload and instrument, at N and at 2 N pages.

What start, first pages, connections and end need is in both counts, so it cancels.
A program is one backend under one instrument, and a round of it has a hash seed of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from bench import controls, filesystem
from bench.conditions import Condition
from bench.conditions.ways import NEW
from bench.costs.report import FLOOR, SERVE, Counted, Crawled
from bench.launch import OWN_PYTHON, output
from bench.machine import cpu
from bench.machine.instruments import Counts, Instrument
from bench.plan import backends, workloads
from bench.plan.backends import as_server
from bench.plan.participants import CITED, Label, Participants, only
from bench.plan.plan import PlannedTrial
from bench.plan.profiles import SERVING
from bench.plan.workloads import SITE_SEED, Point
from bench.run.trial import Bench, made
from bench.sides.protocol import Command
from bench.sides.servers import Server
from bench.sides.settled import SWITCH_INTERVAL
from bench.sides.sides import Sides
from bench.study.runner import Lost, Program, losing
from crawlers.backend import Backend
from crawlers.registry import MODELS

# --- what is crawled -------------------------------------------------------------------------

OPENED: Final = "churn"
"""The list of ``fetch`` with a connection for each page."""

REQUESTS: Final = 10
"""A server is asked for so many times the pages of a crawl, which needs a server of its own."""


@dataclass(frozen=True, kw_only=True)
class Enough(Condition):
    """A load stops by itself."""

    answers: int

    def command(self, command: Command, sides: Sides) -> Command:
        return replace(command, load=command.load and replace(command.load, answers=self.answers))


def opened(slots: int, urls: int, who: Participants) -> Point:
    return replace(workloads.fetch(slots, urls, who), workload=OPENED, conditions=(NEW,))


def served(slots: int, pages: int, who: Participants) -> Point:
    point = workloads.serve(slots, 0, who)
    return replace(point, conditions=(*point.conditions, Enough(answers=REQUESTS * pages)))


WORKLOADS: dict[str, Callable[[int, int, Participants], Point]] = {
    "fetch": workloads.fetch,
    "crawl": workloads.throughput,
    OPENED: opened,
    SERVE: served,
}
"""What is counted, by the names of the charts."""


def takes_part(name: str, workload: str) -> bool:
    if workload == OPENED:
        return name in CITED
    return workload == "fetch" or name != FLOOR


# --- one crawl under an instrument, checked like any trial --------------------------------------

STEP_S: Final = 20.0
"""How long a step may take where no instrument slows it: to start and warm up, to crawl (a hundred
times what that should take), to answer a load."""

ENDING_S = 60.0
"""An instrument writes its counts when the worker ends."""


@dataclass(frozen=True, kw_only=True)
class Slowed(Condition):
    """Under an instrument, which does not slow a time.

    A thread waits 5 ms for the interpreter's lock before it asks for it. A hundred threads that
    wait for one that is 40 times slower would ask 40 times as often for each page.
    """

    slowness: float

    @property
    def interval_s(self) -> float:
        return sys.getswitchinterval() * self.slowness

    def environment(self, scratch: Path, hash_seed: int) -> dict[str, str]:
        return {SWITCH_INTERVAL: str(self.interval_s)}  # for a server

    def command(self, command: Command, sides: Sides) -> Command:
        return replace(command, switch_interval_s=self.interval_s)


class Lane:
    """What counts are made with: servers, which run until the end, and a folder."""

    def __init__(self, pages: int, slots: int, stack: ExitStack) -> None:
        self.pages, self.slots, self._stack = pages, slots, stack
        self.bench = Bench(
            backends={},
            seed=0,  # a round has the same seeds on every machine
            pinning=cpu.Pinning([], [], "counts are the same on every processor"),
            scratch=stack.enter_context(filesystem.scratch()),
            ends=stack,
        )
        # Or the first worker that is counted would compile it. Of backends, a look has done so.
        output([*OWN_PYTHON, "-c", "import bench.sides.worker, bench.controls.programs"], STEP_S)
        self._running: dict[str, Server] = {}

    def server(self, site: str) -> Server:
        """Raises :class:`bench.sides.servers.ServerError`."""
        if site not in self._running:
            server = Server(site, seed=SITE_SEED, cores=[])
            self._running[site] = self._stack.enter_context(server)
        return self._running[site]

    def count(
        self, backend: Backend, tool: Instrument, names: Sequence[str], repeat: int
    ) -> Counted:
        """One program in one round. Raises :class:`Lost`."""
        counted, lost = Counted(), None
        for workload in names:
            make, sizes = WORKLOADS[workload], (self.pages, 2 * self.pages)
            try:
                (few, small), (many, large) = (
                    self._taken(backend, tool, repeat, make(self.slots, n, only(MODELS, 1)))
                    for n in sizes
                )
            except Lost as error:
                why, void = f"{workload}: {error}", error.status == "void"
                lost = lost or Lost(why, void=void, part=counted)
            else:
                costs = {**small, **large}
                counts = {cost: (small.get(cost, 0), large.get(cost, 0)) for cost in costs}
                counted.crawls[workload] = Crawled(pages=many - few, counts=counts)
        if lost:
            raise lost
        return counted

    def _taken(
        self, backend: Backend, tool: Instrument, repeat: int, point: Point
    ) -> tuple[int, Counts]:
        """How many pages there were, and what one process took from its start to its end.

        Raises :class:`Lost`.
        """
        patience, scratch = STEP_S * tool.slowness, self.bench.scratch
        wrapped, known = {"": [*tool.wrap(scratch), *OWN_PYTHON]}, {backend.name: backend}
        bench = replace(self.bench, backends=known, deadline_s=patience, pythons=wrapped)
        conditions = (*point.conditions, Slowed(slowness=tool.slowness))
        point = replace(point, interleaved=False, conditions=conditions)
        trial = made(bench, point, PlannedTrial(repeat, point.id, 0, Label(backend.name)), 0)
        tool.clear(scratch)
        with ExitStack() as stack:
            trial.start(stack, None if point.load else self.server(point.site))
            stack.callback(trial.end)
            with losing(trial.tested):
                trial.tell()
                trial.worker.ready(patience)
                trial.warm()
                trial.worker.go()
                trial.result = trial.worker.result(time.monotonic() + patience)
                trial.collect()
                if reason := trial.why_void(trial.result):
                    raise Lost(reason, void=True)
                trial.tested.end(ENDING_S * tool.slowness)
                # A control goes through its list several times, but serves what it is asked for.
                again = backend.family == controls.FAMILY and not point.load
                pages = trial.result.pages * (controls.REPEATS if again else 1)
                return pages, tool.results(scratch)


# --- what is to be counted -------------------------------------------------------------------


def programs(
    lane: Lane, wanted: Sequence[str] | None, names: Sequence[str], tools: Sequence[Instrument]
) -> Iterator[Program[Counted]]:
    """Those backends, or all, on these workloads under each instrument.

    What cannot run here is refused. Raises :class:`bench.BenchError` for a backend that
    does not exist.
    """
    crawls = [name for name in names if name != SERVE]
    ours = {*controls.CONTROLS, *backends.ONLY_SERVERS}
    others = None if wanted is None else [name for name in wanted if name not in ours]
    known: list[Backend] = []
    if crawls and others != []:
        known = backends.look_up() if others is None else backends.choose(others)
    chosen = [backend for backend in known if not backend.missing]
    if wanted is None or FLOOR in wanted:
        chosen.insert(0, controls.CONTROLS[FLOOR])
    servers = (FLOOR, *SERVING) if SERVE in names else ()
    for tool in tools:
        if tool.missing is not None:
            yield Program(tool.name, lambda _: Counted(), refused=tool.missing)
            continue
        for each in chosen:
            if fit := [workload for workload in crawls if takes_part(each.name, workload)]:
                yield Program(f"{each.name}/{tool.name}", partial(lane.count, each, tool, fit))
        for name in servers:
            if wanted is None or name in wanted:
                count = partial(lane.count, as_server(name), tool, [SERVE])
                yield Program(f"{name}/{SERVE}/{tool.name}", count)
    for backend in known:
        if backend.missing is not None:
            yield Program(backend.name, lambda _: Counted(), refused=backend.missing)
