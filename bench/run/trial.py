"""One trial: start a worker, pin it, warm it up, time its crawl, verify, record.

Only the worker's crawl is timed. The harness sleeps through it, except that it
looks at the worker's number of threads now and then; in a c10k trial it reads
the memory at the barrier.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext

from bench.machine import kernel
from bench.plan.plan import Turn
from bench.plan.workloads import WORK_EVERY, Point
from bench.run import record
from bench.run.barrier import Barrier, Interruption
from bench.run.process import ProcessError, WorkerError, WorkerProcess, threads
from bench.run.protocol import Command, Schedule, Working
from bench.run.servers import DistantServer, Server, ServerError
from bench.run.state import Bench, Trial, recorder
from bench.schema import TrialRecord

START_S = 30.0
SAMPLE_S = 0.25
RELEASE_SAMPLE_S = 0.05
"""Between looks while a barrier empties, which takes event loops about a second."""


def run(bench: Bench, point: Point, turn: Turn, server: Server, number: int) -> TrialRecord:
    """Run one trial and return its record, however it ends.

    A worker that fails or hangs, or a server that dies, gives a record that says so.
    """
    trial = Trial(bench, point, turn, server, number)
    python = bench.pythons[turn.label.interpreter]
    start = WorkerProcess(
        python=python, hash_seed=trial.hash_seed, extra_environment=trial.environment
    )
    with start as worker:
        try:
            measure(trial, worker)
        except TimeoutError:
            worker.abort()
            trial.status = "failed"
            trial.reason = f"no result in {trial.deadline_s:g} s; the worker was ended"
        except (ProcessError, WorkerError, ServerError) as error:
            trial.status, trial.reason = "failed", str(error)
        if trial.status == "failed":
            worker.end(0.5)
            trial.stderr = worker.stderr_tail()
    return record.finish(trial, record.drained())


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
        collect=not point.garbage,
        work=working(trial),
        flip=trial.flip,
    )


def working(trial: Trial) -> Working | None:
    rounds = trial.rounds
    return Working(rounds=rounds, every=WORK_EVERY, seed=trial.schedule_seed) if rounds else None


def barrier_of(
    trial: Trial, worker: WorkerProcess
) -> AbstractContextManager[Barrier | Interruption | None]:
    """What holds the server's answers in this trial; None where they leave at once."""
    match trial.point.kind:
        case "hold":
            return Barrier(trial, worker)
        case "cancel":
            return Interruption(trial, worker)
        case _:
            return nullcontext()


def measure(trial: Trial, worker: WorkerProcess) -> None:
    """From pinning to the server's ledger; fills in ``trial`` on the way.

    Raises what :meth:`WorkerProcess.result` and the server raise.
    """
    server, pinning = trial.server, trial.pinning
    trial.unpinned = pinning.keep(worker.pid, pinning.client)
    if trial.point.spread:  # the trials of a block share a server, and place it differently
        trial.unpinned = trial.unpinned or pinning.keep(server.pid, pinning.server)
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
        if barrier is not None:
            barrier.fill(deadline)

        def sample() -> None:
            trial.threads = max(trial.threads, threads(worker.pid))
            if isinstance(barrier, Barrier):
                barrier.look()

        every_s = RELEASE_SAMPLE_S if isinstance(barrier, Barrier) else SAMPLE_S
        trial.result = worker.result(deadline, every_s, sample)
        sample()
        if isinstance(barrier, Interruption):
            barrier.ends(trial.result)
    if trial.server_polls:
        server.poll(False)
    user_after, system_after = server.cpu()
    trial.server_work_s = server.work_s() - work_s
    trial.server_cpu = (user_after - user, system_after - system)
    trial.kernel = kernel.delta(counters, kernel.counters())
    trial.ledger = server.ledger()
    if isinstance(server, DistantServer):
        trial.forwarded = server.forwarded()
