"""An interrupted crawl: every slot waits for an answer that does not come, then comes Ctrl-C.

The server holds all answers. When a request of every slot is there, the harness sends SIGINT to
the worker, the signal of Ctrl-C, and each backend cancels in the way of its library. Three
clocks are read, and they are one: the monotonic clock, which all processes of a machine share.
The worker notes when the crawl saw the signal and when its call returned, the server when the
first and the last connection ended.
"""

from __future__ import annotations

import signal
import time

from bench.run.barrier import wait_until_held
from bench.run.leftovers import AS_USUAL
from bench.run.protocol import Result
from bench.run.state import Trial
from bench.run.workers import WorkerError, WorkerProcess, threads
from bench.schema import Cancelled


class Interruption:
    """Holds the server's answers and interrupts the crawl; releases them if it fails."""

    def __init__(self, trial: Trial, worker: WorkerProcess) -> None:
        """Hold from now on."""
        self._trial, self._worker = trial, worker
        self._asked = 0.0
        self._work_s = 0.0
        trial.server.hold()

    def fill(self, deadline: float) -> None:
        """Wait until a request of every slot is held, and interrupt the crawl.

        Raises :class:`WorkerError` when they are not all held in time.
        """
        trial, worker = self._trial, self._worker
        wait_until_held(trial, worker, deadline, lambda connections: None)
        trial.threads = threads(worker.pid)
        self._work_s = trial.server.work_s()
        self._asked = time.monotonic()
        worker.process.send_signal(AS_USUAL)  # Python handles both at once
        worker.process.send_signal(signal.SIGINT)

    def ends(self, result: Result) -> None:
        """Note when everything had ended, and what was left.

        Raises :class:`WorkerError` for a crawl that did not see the signal.
        """
        trial, ending = self._trial, result.ending
        open_now, ended = trial.server.ended()
        work_s = trial.server.work_s() - self._work_s
        if ending is None or ending.noticed is None or ended is None:
            raise WorkerError("the crawl ended before it was interrupted")
        first, last = (at - ending.noticed for at in ended)
        trial.cancelled = Cancelled(
            in_flight=trial.point.slots,
            noticed_s=ending.noticed - self._asked,
            returned_s=ending.returned - ending.noticed,
            first_closed_s=max(0.0, first),
            closed_s=max(0.0, last),
            client_cpu_s=ending.cpu_s,
            server_work_s=max(0.0, work_s),
            switch_interval_s=ending.switch_interval_s,
            left=ending.left,
            open_at_server=open_now,
        )

    def __enter__(self) -> Interruption:
        return self

    def __exit__(self, *_: object) -> None:
        if self._trial.server.alive:
            self._trial.server.release()
