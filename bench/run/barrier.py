"""What holds the server's answers: to read the memory, or to interrupt a crawl with all in flight.

The memory is watched cheaply from outside while a barrier fills up and opens: the server reports
how many connections are open, and ``/proc/PID/status`` how much memory the worker has. That file
costs the same with ten thousand threads as with one, whereas smaps_rollup walks every mapping and
is read only once, at the barrier. Memory here is therefore a little less exact (the kernel counts
RssAnon in batches).
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from bench.machine import memory, procfs
from bench.run.leftovers import AS_USUAL
from bench.run.process import WorkerError, WorkerProcess, interruptible, threads
from bench.run.protocol import Result
from bench.run.state import Trial
from bench.schema import Cancelled, Ramp
from bench.text import KIB

POLL_S = 0.02
SETTLE_S = 0.1
"""Wait between "all are held" and the reading, so that the last client can go to sleep."""


def wait_until_held(
    held: Callable[[], int], slots: int, worker: WorkerProcess, deadline: float, settle_s: float
) -> None:
    """Wait until so many connections are held, and everybody has gone to sleep.

    Raises :class:`WorkerError`, with the worker's own reason if it has one.
    """
    while (number := held()) < slots:
        if worker.process.poll() is not None:
            worker.result(deadline)
            raise WorkerError("the worker ended before the barrier")
        if time.monotonic() > deadline:
            raise WorkerError(f"only {number} of {slots} connections reached the barrier")
        with interruptible():
            time.sleep(POLL_S)
    time.sleep(settle_s)


class Barrier:
    """What a crawl meets on its way. Here nothing: answers leave at once."""

    sample_s = 0.25
    """Between looks at the worker."""

    def __init__(self, trial: Trial, worker: WorkerProcess) -> None:
        self._trial, self._worker = trial, worker

    def fill(self, deadline: float) -> None:
        """Wait until an answer of every slot is held, and then do what this is for."""

    def look(self) -> None:
        """Look at what is held now."""

    def ends(self, result: Result) -> None:
        """Note how the crawl ended."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Holding(Barrier):
    """Holds the answers while the memory is read; as a context manager it always releases them."""

    sample_s = 0.05
    """A barrier empties in about a second, with event loops."""

    def __init__(self, trial: Trial, worker: WorkerProcess) -> None:
        """Read the memory before the first connection, and hold from now on."""
        super().__init__(trial, worker)
        self._reader = memory.Reader(worker.pid, trial.server.pid)
        memory.wait_until_settled()
        self._before = self._reader.read()
        self._watch: Watch | None = None
        self._released = False
        trial.server.hold()

    def fill(self, deadline: float) -> None:
        trial, worker = self._trial, self._worker
        self._watch = watch = Watch(worker.pid)

        def held() -> int:
            number, connections = trial.server.barrier()
            watch.look(connections)
            return number

        wait_until_held(held, trial.point.slots, worker, deadline, SETTLE_S)
        trial.threads = threads(worker.pid)
        full = self._reader.read()
        watch.opens()
        self._release()
        trial.memory = memory.memory(self._before, full, trial.point.slots)

    def look(self) -> None:
        if self._watch is not None:
            self._watch.look(self._trial.server.barrier()[1])

    def _release(self) -> None:
        self._trial.server.release()
        self._released = True

    def __exit__(self, *_: object) -> None:
        if not self._released and self._trial.server.alive:
            self._release()
        if self._watch is not None:
            self._trial.ramp = self._watch.ramp()


# --- connections and memory against time -------------------------------------------------


KEPT = 100
"""Samples that a record keeps of one trial: as many as a chart can show."""


@dataclass(slots=True)
class Watch:
    """Samples of one trial, from ``go`` on."""

    pid: int
    _stack: int | None = field(init=False)
    _began: float = field(init=False)
    _samples: list[tuple[int, int, int | None]] = field(default_factory=list)
    _opened_ms: int | None = None

    def __post_init__(self) -> None:
        self._stack = memory.kernel_stack_bytes()
        self._began = time.monotonic()

    def look(self, connections: int) -> None:
        self._samples.append((self._now_ms(), connections, own_kib(self.pid, self._stack)))

    def opens(self) -> None:
        self._opened_ms = self._now_ms()

    def _now_ms(self) -> int:
        return round(1000 * (time.monotonic() - self._began))

    def ramp(self) -> Ramp | None:
        if not self._samples:
            return None
        kept = thinned([connections for _, connections, _ in self._samples])
        times, connections, own = zip(*(self._samples[i] for i in kept), strict=True)
        return Ramp(
            at_ms=list(times),
            connections=list(connections),
            own_kib=list(own),
            opened_ms=self._opened_ms,
        )


def thinned(connections: list[int]) -> list[int]:
    """Indexes of the samples to keep: evenly spread, plus the peak's two ends and the last."""
    top = max(connections)
    first = connections.index(top)
    last = len(connections) - 1 - connections[::-1].index(top)
    edges = {first, last, len(connections) - 1}
    step = math.ceil(len(connections) / (KEPT - len(edges)))
    return sorted({*range(0, len(connections), step), *edges})


def own_kib(pid: int, stack_bytes: int | None) -> int | None:
    """User memory, page tables and kernel stacks of a process in KiB; None if unreadable."""
    fields = procfs.status(pid)
    user, tables, threads = (fields.get(name) for name in ("RssAnon", "VmPTE", "Threads"))
    if user is None or tables is None or threads is None or stack_bytes is None:
        return None
    return (user + tables + threads * stack_bytes) // KIB


# --- an interrupted crawl ----------------------------------------------------------------


class Interruption(Barrier):
    """Holds the server's answers, and interrupts the crawl when one of every slot is held.

    The harness sends SIGINT to the worker, the signal of Ctrl-C, and each backend cancels in the
    way of its library. Three clocks are read, and they are one: the monotonic clock, which all
    processes of a machine share. The worker notes when the crawl saw the signal and when its call
    returned, the server when the first and the last connection ended. Releases the answers if it
    fails.
    """

    def __init__(self, trial: Trial, worker: WorkerProcess) -> None:
        """Hold from now on."""
        super().__init__(trial, worker)
        self._asked = 0.0
        self._work_s = 0.0
        trial.server.hold()

    def fill(self, deadline: float) -> None:
        trial, worker = self._trial, self._worker
        server, slots = trial.server, trial.point.slots
        wait_until_held(lambda: server.barrier()[0], slots, worker, deadline, SETTLE_S)
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

    def __exit__(self, *_: object) -> None:
        if self._trial.server.alive:
            self._trial.server.release()


def barrier_of(trial: Trial, worker: WorkerProcess) -> Barrier:
    kinds = {"hold": Holding, "cancel": Interruption}
    return kinds.get(trial.point.kind, Barrier)(trial, worker)
