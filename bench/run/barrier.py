"""The barrier of a c10k trial: the server holds every answer while the memory is read."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.machine.probes import memory, ramp
from bench.run.interrupts import interruptible
from bench.run.state import Trial
from bench.run.workers import WorkerError, WorkerProcess, threads

POLL_S = 0.02
SETTLE_S = 0.1
"""Wait between "all are held" and the reading, so that the last client can go to sleep."""


def wait_until_held(
    trial: Trial, worker: WorkerProcess, deadline: float, look: Callable[[int], None]
) -> None:
    """Wait until the server holds an answer for every slot; ``look`` gets the connections.

    Raises :class:`WorkerError` when they are not all held in time.
    """
    while True:
        held, connections = trial.server.barrier()
        look(connections)
        if held >= trial.point.slots:
            break
        if worker.process.poll() is not None:
            raise WorkerError(f"the worker ended before the barrier: {worker.ending()}")
        if time.monotonic() > deadline:
            raise WorkerError(f"only {held} of {trial.point.slots} connections reached the barrier")
        with interruptible():
            time.sleep(POLL_S)
    time.sleep(SETTLE_S)


class Barrier:
    """Holds the server's answers; as a context manager it always releases them."""

    def __init__(self, trial: Trial, worker: WorkerProcess) -> None:
        """Read the memory before the first connection, and hold from now on."""
        self._trial, self._worker = trial, worker
        self._reader = memory.Reader(worker.pid, trial.server.pid)
        memory.wait_until_settled()
        self._before = self._reader.read()
        self._watch: ramp.Watch | None = None
        self._released = False
        trial.server.hold()

    def fill(self, deadline: float) -> None:
        """Wait until every connection is held, read the memory, release them.

        Raises :class:`WorkerError` when they are not all held in time.
        """
        trial, worker = self._trial, self._worker
        self._watch = ramp.Watch(worker.pid)
        wait_until_held(trial, worker, deadline, self._watch.look)
        trial.threads = threads(worker.pid)
        full = self._reader.read()
        self._watch.opens()
        self._release()
        trial.memory = memory.memory(self._before, full, trial.point.slots)
        trial.server_growth = memory.server_growth(self._before, full, trial.point.slots)

    def look(self) -> None:
        """Note how many connections are left while they close."""
        if self._watch is not None:
            self._watch.look(self._trial.server.barrier()[1])

    def _release(self) -> None:
        self._trial.server.release()
        self._released = True

    def __enter__(self) -> Barrier:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._released and self._trial.server.alive:
            self._release()
        if self._watch is not None:
            self._trial.ramp = self._watch.ramp()
