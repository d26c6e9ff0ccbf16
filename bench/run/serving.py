"""The harness turned round: a model as a server is measured, and a loader is its client.

The server has the place of a worker: its processor, its turns, its barrier. The loader
(:mod:`bench.sides.loader`) has the place of the fixture server and never sleeps, so no send of the
server has to wake a processor. Both ends compare what they saw.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final

from bench.machine import memory
from bench.plan.workloads import SITE_SEED, WORK_EVERY
from bench.run.judge import BUSY
from bench.run.record import cpu_of, latency
from bench.run.sides import Sides
from bench.run.trial import Trial
from bench.sides.process import ProcessError, WorkerProcess
from bench.sides.progress import PLACES, Progress
from bench.sides.protocol import Command, Load, Result
from bench.sides.servers import ModelServer, Served, ServerError


class Serving(Sides):
    """A server under test, and a load."""

    start_s = 60.0  # a loader asks for every page of the site before it is ready
    theirs = memory.PORT
    settle_s = 0.5  # after the last answer: a server looks at its deadlines and goes back to sleep

    def __init__(self, trial: Trial, stack: ExitStack) -> None:
        """Start both, neither of them is waited for; each gets processors of its own."""
        point, label, pinning = trial.point, trial.turn.label, trial.pinning
        work = () if point.work_ms is None else ("--work", f"{WORK_EVERY}:{point.work_ms:g}")
        python = trial.bench.pythons[label.interpreter]
        self._model = ModelServer(label.name, point.site, SITE_SEED, point.tls, python, work)
        stack.enter_context(self._model)
        load = WorkerProcess(f"the load of {label}", module="bench.sides.loader")
        stack.enter_context(load)
        for pid, cores in ((self._model.pid, pinning.client), (load.pid, pinning.server)):
            trial.unpinned = trial.unpinned or pinning.keep(pid, cores)
        super().__init__(trial, self._model, load, self._model.child, load)
        self._memory = stack.enter_context(Progress(PLACES))
        self.progress, self.count = self._memory, self._memory.told
        self._served: Served | None = None
        self._faults = 0

    def ready(self) -> None:
        """It is what is under test, and may fail as such."""

    def tell(self) -> None:
        trial, point, model = self.trial, self.trial.point, self._model
        try:
            model.ready()
        except ServerError as error:
            raise ProcessError(str(error)) from None
        cafile = model.cafile
        self.worker.command(
            Command(
                backend=trial.turn.label.name,
                prefix=model.prefix,
                urls=model.urls,
                slots=point.slots,
                timeout_s=trial.deadline_s,
                out=str(trial.times),
                progress=self._memory.file,
                cafile=None if cafile is None else str(cafile),
                load=Load(
                    how=point.load,
                    awake=trial.server_polls,
                    rate=point.rate or 0,
                    seconds=point.waits_s,
                    seed=trial.schedule_seed,
                    every=WORK_EVERY if point.work_ms else 0,
                ),
            )
        )

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

    def reason(self) -> str | None:
        assert self.trial.result is not None
        assert self._served is not None
        name = self.trial.turn.label.name
        return served_reason(name, self.trial.result, self._served, self.server.digest)

    def fields(self) -> dict[str, Any]:
        trial, turns, result = self.trial, self.trial.turns, self.trial.result
        assert result is not None
        assert result.loaded is not None
        rate = turns.exchanges / turns.wall_s if turns and turns.wall_s else None
        # A server that waits for its processor is not idle: other programs are running there.
        share = (turns.cpu_s + trial.waited_s) / turns.wall_s if turns and turns.wall_s else None
        trial.extra |= {
            "server_share": share,
            "page_faults": self._faults,
            "connections_opened": result.loaded.connections,
        }
        for name in ("working", "alone"):
            if times := latency(trial.times, name, result.kept.get(name, 0)):
                trial.extra |= {f"{name}_p50_ms": times.p50_ms, f"{name}_p90_ms": times.p90_ms}
        on_time = {}
        if others := latency(trial.times, "others", result.kept.get("others", 0)):
            on_time = {
                "response_time": others,
                "offered_per_s": trial.point.rate,
                "late_starts": result.late,
            }
        return {
            **on_time,
            "elapsed_s": result.pages / rate if rate else result.elapsed_s,
            "pages_per_s": rate,
            "mechanism": {**self._model.facts, "threads_sampled": trial.threads},
            "ledger": None,
            "cpu": cpu_of(result, self.server_cpu),
            "service_time": None,
            "limiter": None if share is None else "server" if share >= BUSY else "client",
        }

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
