"""One trial: start a worker, pin it, warm it up, time its crawl, verify, record.

Only the worker's crawl is timed. The harness sleeps through it, except that it
looks at the worker's number of threads now and then; in a c10k trial it reads
the memory at the barrier.
"""

from __future__ import annotations

import time
from typing import Final

from bench.machine import kernel
from bench.plan.plan import Turn
from bench.plan.workloads import WORK_EVERY, Point
from bench.run import record, serving
from bench.run.barrier import barrier_of
from bench.run.state import Bench, Trial, recorder
from bench.run.working import measure as calibrate
from bench.schema import TrialRecord
from bench.sides.process import ProcessError, WorkerError, WorkerProcess, threads
from bench.sides.protocol import Command, Schedule, Working
from bench.sides.servers import ModelServer, Server, ServerError

START_S = 30.0
LAST_WORDS_S = 0.5
SAMPLE_S: Final = 0.25
"""Between looks at the number of threads."""

FAILURES: Final = (ProcessError, WorkerError, ServerError)


def start_worker(trial: Trial) -> WorkerProcess:
    """Start the other end of a trial's server: a worker, or the load of a model."""
    if isinstance(trial.server, ModelServer):
        return serving.start_load(trial)
    python = trial.bench.pythons[trial.turn.label.interpreter]
    worker = WorkerProcess(
        python=python, hash_seed=trial.hash_seed, extra_environment=trial.environment
    )
    trial.unpinned = trial.pinning.keep(worker.pid, trial.pinning.client)
    return worker


def run(bench: Bench, point: Point, turn: Turn, server: Server, number: int) -> TrialRecord:
    """Run one trial and return its record, however it ends.

    A worker that fails or hangs, or a server that dies, gives a record that says so.
    """
    trial = Trial(bench, point, turn, server, number)
    with start_worker(trial) as worker:
        try:
            if isinstance(server, ModelServer):
                serving.listen(trial, worker)
            else:
                measure(trial, worker)
        except TimeoutError:
            worker.abort()
            fail(trial, worker, f"no result in {trial.deadline_s:g} s; the worker was ended")
        except FAILURES as error:
            fail(trial, worker, str(error))
    record.drain()
    return record.finish(trial)


def fail(trial: Trial, worker: WorkerProcess, reason: str) -> None:
    """Note why a trial failed, and the last words of what was under test."""
    trial.status, trial.reason = "failed", reason
    worker.end(LAST_WORDS_S)
    tested = trial.server if isinstance(trial.server, ModelServer) else worker
    trial.stderr = tested.stderr_tail()


def command(
    trial: Trial, *, progress: str | None = None, timeout_s: float | None = None
) -> Command:
    """The command for the worker.

    ``progress`` is the memory in which it counts its exchanges, if it takes turns, and
    ``timeout_s`` how long one exchange may take, unless it is the trial's deadline.
    """
    point = trial.point
    schedule = None
    if point.rate is not None:
        schedule = Schedule(kind="poisson", rate=point.rate, seed=trial.schedule_seed)
    elif point.opening is not None:
        schedule = Schedule(
            kind="ramp",
            rate=point.opening.per_s,
            slots=point.slots,
            delay_s=point.opening.delay_s,
            lead_s=point.opening.lead_s,
        )
    elif point.ramp_per_s is not None:
        schedule = Schedule(kind="constant", rate=point.ramp_per_s)
    cafile = trial.cafile
    return Command(
        backend=trial.turn.label.name,
        prefix=trial.server.prefix,
        warmup_prefix=trial.warmup.prefix,
        urls=point.urls,
        slots=point.slots,
        timeout_s=timeout_s or trial.deadline_s,
        schedule=schedule,
        switch_interval_s=point.switch_interval_s,
        recorder=recorder(point, trial.turn),
        out=str(trial.times),
        progress=progress,
        cafile=None if cafile is None else str(cafile),
        keep_alive=trial.way.keep_alive,
        cancel=point.kind == "cancel",
        work=working(trial),
        flip=trial.flip,
    )


def working(trial: Trial) -> Working | None:
    rounds = trial.rounds
    return Working(rounds=rounds, every=WORK_EVERY, seed=trial.schedule_seed) if rounds else None


def measure(trial: Trial, worker: WorkerProcess) -> None:
    """From the warm-up to the server's ledger; fills in ``trial`` on the way.

    Raises what :meth:`WorkerProcess.result` and the server raise.
    """
    server, pinning = trial.server, trial.pinning
    if trial.point.spread:  # the trials of a block share a server, and place it differently
        trial.unpinned = trial.unpinned or pinning.keep(server.pid, pinning.server)
    if trial.point.work_ms is not None:
        trial.round_us = calibrate(server, trial.bench.pinning.client)
    began = time.monotonic()
    worker.command(command(trial))
    worker.ready(START_S)
    trial.extra["ready_s"] = time.monotonic() - began
    if trial.rounds:
        trial.work_expected = trial.bench.work.check(
            trial.point, server, trial.rounds, trial.schedule_seed
        )
    server.reset()
    with barrier_of(trial, worker) as barrier:
        counters = kernel.counters()
        user, system = server.cpu()
        work_s = server.work_s()
        if trial.server_polls:
            server.poll(True)
        deadline = time.monotonic() + trial.deadline_s
        worker.go()
        barrier.fill(deadline)

        def sample() -> None:
            trial.threads = max(trial.threads, threads(worker.pid))

        trial.result = worker.result(deadline, SAMPLE_S, sample)
        sample()
        barrier.ends(trial.result)
    if trial.server_polls:
        server.poll(False)
    user_after, system_after = server.cpu()
    trial.server_cpu = (user_after - user, system_after - system)
    if (used_s := sum(trial.server_cpu)) > 0:
        trial.server_working = (server.work_s() - work_s) / used_s
    trial.kernel = kernel.delta(counters, kernel.counters())
    trial.ledger = server.ledger()
