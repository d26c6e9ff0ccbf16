"""What holds the server's answers: to read the memory, or to interrupt a crawl there."""

from __future__ import annotations

import signal
import time
from typing import Self

from bench.machine import memory
from bench.run.sides import Sides
from bench.run.trial import Trial
from bench.schema import Cancelled
from bench.sides.leftovers import AS_USUAL
from bench.sides.process import WorkerError, interruptible, threads
from bench.sides.protocol import Result

POLL_S = 0.02


def wait_until_held(sides: Sides, slots: int, deadline: float) -> None:
    """Wait until so many connections are held, and everybody has gone to sleep.

    Raises :class:`WorkerError`, with the worker's own reason if it has one.
    """
    worker = sides.worker
    while (number := sides.held()) < slots:
        if worker.process.poll() is not None:
            worker.result(deadline)
            raise WorkerError("the worker ended before the barrier")
        if time.monotonic() > deadline:
            raise WorkerError(f"only {number} of {slots} connections reached the barrier")
        with interruptible():
            time.sleep(POLL_S)
    time.sleep(sides.settle_s)


class Barrier:
    """What a crawl meets on its way. Here nothing: answers leave at once."""

    def __init__(self, trial: Trial, sides: Sides) -> None:
        self._trial, self._sides = trial, sides

    def fill(self, deadline: float) -> None:
        """Wait until an answer of every slot is held, and then do what this is for."""

    def ends(self, result: Result) -> None:
        """Note how the crawl ended."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Holding(Barrier):
    """Holds the answers while the memory is read; as a context manager it always releases them."""

    def __init__(self, trial: Trial, sides: Sides) -> None:
        """Read the memory before the first connection, and hold from now on."""
        super().__init__(trial, sides)
        self._reader = memory.Reader(sides.tested.pid, sides.other.pid)
        memory.wait_until_settled()
        self._before = self._reader.read()
        sides.hold()

    def fill(self, deadline: float) -> None:
        trial, sides = self._trial, self._sides
        wait_until_held(sides, trial.point.slots, deadline)
        trial.threads = threads(sides.tested.pid)
        full = self._reader.read()
        sides.release()
        trial.memory = memory.memory(self._before, full, trial.point.slots, sides.theirs)

    def __exit__(self, *_: object) -> None:
        if self._trial.memory is None:
            self._sides.release()


# --- an interrupted crawl ----------------------------------------------------------------


class Interruption(Barrier):
    """Holds the server's answers, and interrupts the crawl when one of every slot is held.

    The harness sends SIGINT to the worker, the signal of Ctrl-C, and each backend cancels in the
    way of its library. Three clocks are read, and they are one: the monotonic clock, which all
    processes of a machine share. The worker notes when the crawl saw the signal and when its call
    returned, the server when the first and the last connection ended. Releases the answers if it
    fails.
    """

    def __init__(self, trial: Trial, sides: Sides) -> None:
        """Hold from now on."""
        super().__init__(trial, sides)
        self._asked = 0.0
        self._work_s = 0.0
        sides.hold()

    def fill(self, deadline: float) -> None:
        trial, worker = self._trial, self._sides.worker
        wait_until_held(self._sides, trial.point.slots, deadline)
        trial.threads = threads(worker.pid)
        self._work_s = self._sides.server.work_s()
        self._asked = time.monotonic()
        worker.process.send_signal(AS_USUAL)  # Python handles both at once
        worker.process.send_signal(signal.SIGINT)

    def ends(self, result: Result) -> None:
        """Note when everything had ended, and what was left.

        Raises :class:`WorkerError` for a crawl that did not see the signal.
        """
        trial, ending = self._trial, result.ending
        open_now, ended = self._sides.server.ended()
        work_s = self._sides.server.work_s() - self._work_s
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

    def __exit__(self, *_: object) -> None:
        self._sides.release()


def barrier_of(trial: Trial, sides: Sides) -> Barrier:
    kinds = {"hold": Holding, "cancel": Interruption}
    return kinds.get(trial.point.kind, Barrier)(trial, sides)
