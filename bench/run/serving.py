"""The harness turned round: a model as a server is measured, and a loader is its client.

The server has the place of a worker: its processor, its turns, its barrier. The loader
(:mod:`bench.sides.loader`) has the place of the fixture server and never sleeps, so no send of the
server has to wake a processor. Both ends compare what they saw (:func:`judge.served_reason`).
"""

from __future__ import annotations

import time
from contextlib import closing

from bench.machine import kernel, memory
from bench.plan.plan import Turn
from bench.plan.workloads import SITE_SEED, WORK_EVERY, Point
from bench.run.barrier import wait_until_held
from bench.run.state import Bench, Progress, Trial
from bench.sides.process import WorkerProcess, interruptible, threads
from bench.sides.protocol import Load
from bench.sides.servers import ModelServer

START_S = 60.0
"""A loader asks for every page of the site before it is ready."""

SETTLE_S = 0.5
"""After the last answer: a server looks at its deadlines and goes back to sleep."""

PLACES = 2
"""Of the memory that a loader shares: :class:`bench.sides.protocol.Load`."""


def start(bench: Bench, point: Point, turn: Turn) -> ModelServer:
    python = bench.pythons[turn.label.interpreter]
    work = () if point.work_ms is None else ("--work", f"{WORK_EVERY}:{point.work_ms:g}")
    return ModelServer(turn.label.name, point.site, SITE_SEED, point.tls, python, work)


def start_load(trial: Trial) -> WorkerProcess:
    """Start the load of a server; each gets processors of its own."""
    worker = WorkerProcess(f"the load of {trial.turn.label}", module="bench.sides.loader")
    pinning = trial.pinning
    for pid, cores in ((trial.server.pid, pinning.client), (worker.pid, pinning.server)):
        trial.unpinned = trial.unpinned or pinning.keep(pid, cores)
    return worker


def load(trial: Trial, shared: str) -> Load:
    cafile = trial.server.cafile
    return Load(
        prefix=trial.server.prefix,
        pages=trial.server.urls,
        connections=trial.point.slots,
        shared=shared,
        how=trial.point.load,
        rate=trial.point.rate or 0,
        seconds=trial.point.waits_s,
        seed=trial.schedule_seed,
        every=WORK_EVERY if trial.point.work_ms else 0,
        out=str(trial.times),
        awake=trial.server_polls,
        timeout_s=trial.deadline_s,
        cafile=None if cafile is None else str(cafile),
    )


def finish(trial: Trial, worker: WorkerProcess) -> None:
    """Wait until a load that was told to stop has all its answers; stop the server.

    Raises what :meth:`WorkerProcess.loaded` and :meth:`ModelServer.finish` raise.
    """
    server = trial.server
    assert isinstance(server, ModelServer)
    trial.loaded = worker.loaded(time.monotonic() + trial.deadline_s)
    trial.server_cpu = server.cpu()
    trial.page_faults = server.page_faults() - trial.page_faults
    trial.served = server.finish()


def listen(trial: Trial, worker: WorkerProcess) -> None:
    """A server alone: it holds connections, or answers on a schedule. Ask both ends what they saw.

    Raises what :func:`finish` raises.
    """
    server = trial.server
    assert isinstance(server, ModelServer)
    server.ready()
    with closing(Progress(PLACES)) as progress:
        worker.command(load(trial, progress.file))
        worker.ready(START_S)
        memory.wait_until_settled()
        trial.page_faults = server.page_faults()
        counters = kernel.counters()
        if trial.point.kind == "hold":
            hold(trial, server, worker, progress)
        else:
            worker.go()
            with interruptible():
                time.sleep(trial.point.waits_s / 2)
            trial.threads = threads(server.pid)
        finish(trial, worker)
        trial.kernel = kernel.delta(counters, kernel.counters())


def hold(trial: Trial, server: ModelServer, worker: WorkerProcess, progress: Progress) -> None:
    """Read the server's memory before the first connection, and with all of them there."""
    slots = trial.point.slots
    reader = memory.Reader(server.pid, worker.pid)
    before = reader.read()
    worker.go()
    deadline = time.monotonic() + trial.deadline_s
    wait_until_held(progress.told, slots, worker, deadline, SETTLE_S)
    trial.threads = threads(server.pid)
    full = reader.read()
    progress.stop()
    trial.memory = memory.memory(before, full, slots, memory.PORT)
