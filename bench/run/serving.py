"""The harness turned round: a model as a server is measured, and a loader is its client.

The server has the place of a worker: its processor, its turns, its barrier. The loader
(:mod:`bench.sides.loader`) has the place of the fixture server and never sleeps, so no send of the
server has to wake a processor. Both ends compare what they saw.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Final

from bench.conditions.condition import Fields
from bench.machine import memory
from bench.plan.workloads import SITE_SEED
from bench.run.judge import BUSY
from bench.run.trial import Trial
from bench.schema import Shares
from bench.sides.process import ProcessError, WorkerProcess
from bench.sides.progress import PLACES, Progress
from bench.sides.protocol import Command, Result
from bench.sides.servers import ModelServer, Served, ServerError, authorities
from bench.sides.sides import Sides


class Serving(Sides):
    def __init__(self, trial: Trial, stack: ExitStack) -> None:
        """Start both, neither of them is waited for; each gets processors of its own."""
        point, label, pinning = trial.point, trial.turn.label, trial.pinning
        options = [option for one in trial.conditions for option in one.server()]
        python = trial.bench.pythons[label.interpreter]
        self._model = ModelServer(label.name, point.site, SITE_SEED, python, options)
        stack.enter_context(self._model)
        load = WorkerProcess(f"the load of {label}", module="bench.sides.loader")
        stack.enter_context(load)
        for pid, cores in ((self._model.pid, pinning.client), (load.pid, pinning.server)):
            trial.unpinned = trial.unpinned or pinning.keep(pid, cores)
        self._memory = stack.enter_context(closing(Progress(PLACES)))
        self._trial, self._faults = trial, 0
        self._served: Served | None = None
        super().__init__(
            self._model,
            load,
            self._model.child,
            load,
            slots=point.slots,
            out=trial.times,
            seed=trial.schedule_seed,
            theirs=memory.PORT,
            start_s=60.0,  # a load asks for every page of the site before it is ready
            settle_s=0.5,  # a server looks at its deadlines and goes back to sleep
            progress=self._memory,
            count=self._memory.told,
        )

    def ready(self) -> None:
        """It is what is under test, and may fail as such."""

    def tell(self) -> None:
        trial, model = self._trial, self._model
        try:
            model.ready()
        except ServerError as error:
            raise ProcessError(str(error)) from None
        command = Command(
            backend=trial.turn.label.name,
            prefix=model.prefix,
            urls=model.urls,
            slots=trial.point.slots,
            timeout_s=trial.deadline_s,
            out=str(trial.times),
            progress=self._memory.file,
            cafile=authorities(trial.times.with_suffix(".pem"), model),
        )
        for one in trial.conditions:
            command = one.command(command, self)
        assert command.load is not None, "a condition says how to ask"
        load = replace(command.load, awake=trial.server_polls)
        self.command = replace(command, load=load)
        self.worker.command(self.command)

    def warm(self) -> None:
        """The load has asked for every page."""

    def begin(self) -> None:
        self._faults = self._model.page_faults()

    def rest(self) -> None:
        self._memory.stop()

    def collect(self) -> None:
        self.server_cpu = self._model.cpu()
        self._faults = self._model.page_faults() - self._faults
        self._served = self._model.finish()

    def reason(self, result: Result, parts: Fields) -> str | None:
        """Why the trial does not count, or None when it does."""
        assert self._served is not None
        name = self._trial.turn.label.name
        return served_reason(name, result, self._served, self.server.digest)

    def strain(self, result: Result, rate: float, fields: Fields) -> Fields:
        """How busy the server was, and whether that limited the trial."""
        turns = self._trial.turns
        # A server that waits for its processor is not idle: other programs are running there.
        used_s = turns.cpu_s + self._trial.waited_s if turns else 0.0
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
        return self._model.facts

    def hold(self) -> None:
        """A load holds its connections by itself."""

    def held(self) -> int:
        return self._memory.told()

    def release(self) -> None:
        self._memory.stop()


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
