"""The harness turned round: a model as a server is measured, and a loader is its client.

The server has the place of a worker: its processor, its turns, its barrier. The loader
(:mod:`bench.sides.loader`) has the place of the fixture server and never sleeps, so no send of the
server has to wake a processor. Both ends compare what they saw.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

from bench.conditions.condition import Fields
from bench.machine.objects import PORT
from bench.plan.workloads import SITE_SEED
from bench.run.judge import BUSY
from bench.run.trial import Trial
from bench.schema import Shares
from bench.sides.process import WorkerProcess
from bench.sides.progress import PLACES, Progress
from bench.sides.protocol import Result
from bench.sides.servers import ModelServer, Served, Server


class Serving(Trial):
    server: ModelServer
    progress: Progress
    theirs = PORT
    start_s = 60.0  # a load asks for every page of the site before it is ready
    settle_s = 0.5  # a server looks at its deadlines and goes back to sleep
    _served: Served | None = None
    _faults = 0

    def start(self, stack: ExitStack, server: Server | None) -> None:
        """Each of both gets processors of its own."""
        label, pinning = self.turn.label, self.pinning
        options = [option for condition in self.conditions for option in condition.server()]
        python = self.bench.pythons[label.interpreter]
        self.server = ModelServer(label.name, self.point.site, SITE_SEED, python, options)
        stack.enter_context(self.server)
        self.worker = WorkerProcess(f"the load of {label}", module="bench.sides.loader")
        stack.enter_context(self.worker)
        self.tested, self.other = self.server.child, self.worker
        self.pin(self.tested.pid, pinning.client)
        self.pin(self.other.pid, pinning.server)
        self.progress = Progress(PLACES)

    def tell(self) -> None:
        # It is what is under test, and may fail as such.
        self.server.ready()
        super().tell()

    def begin(self) -> None:
        self._faults = self.server.page_faults()

    def rest(self) -> None:
        self.progress.stop()

    def collect(self) -> None:
        self.server_cpu = self.server.cpu()
        self._faults = self.server.page_faults() - self._faults
        self._served = self.server.finish()

    def why_void(self, result: Result, parts: Fields) -> str | None:
        assert self._served is not None
        return served_reason(self.turn.label.name, result, self._served, self.server.digest)

    def strain(self, result: Result, fields: Fields) -> Fields:
        turns = self.turns
        # A server that waits for its processor is not idle: other programs are running there.
        used_s = turns.cpu_s + self.waited_s if turns else 0.0
        share = used_s / turns.wall_s if turns and turns.wall_s else None
        limited = None if share is None else "server" if share >= BUSY else "client"
        return {
            "shares": Shares(server_share=share),
            "page_faults": self._faults,
            "limiter": limited,
            "switches": None,
        }

    @property
    def mechanism(self) -> Mapping[str, str | int]:
        return self.server.facts

    def count(self) -> int:
        return self.progress.answers()

    def hold(self) -> None:
        """A load holds its connections by itself."""

    def held(self) -> int:
        return self.progress.answers()

    def release(self) -> None:
        self.progress.stop()


UNCOUNTED: Final = ("bare",)
"""Servers that count nothing: their answers are compared at the load alone."""


def served_reason(name: str, result: Result, served: Served, expected: str | None) -> str | None:
    """Why the trial of a server under load does not count, or None when it does.

    It counts when the load got the pages of the site, each answer the same as the first, and when
    the server has served as many requests, and the same bytes in sum.
    """
    loaded = result.loaded
    if loaded is None:
        return "the load did not say what it got"
    if result.digest != expected:
        return f"wrong digest of the pages that {name} served"
    got, sent = (result.pages, loaded.checksum), (served.requests, served.checksum)
    if name not in UNCOUNTED and got != sent:
        return (
            f"the load got {result.pages} answers with a checksum of {loaded.checksum}, but the "
            f"server has sent {served.requests} with {served.checksum}"
        )
    if name not in UNCOUNTED and loaded.worked != served.worked:
        return f"{loaded.worked} requests needed work, but {served.worked} were worked on"
    if served.connections not in (0, loaded.connections):
        return f"{loaded.connections} connections opened, but {served.connections} accepted"
    return None
