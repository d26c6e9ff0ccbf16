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
        self._watch: Watch | None = None
        self._released = False
        trial.server.hold()

    def fill(self, deadline: float) -> None:
        trial, worker = self._trial, self._worker
        self._watch = Watch(worker.pid)
        wait_until_held(trial, worker, deadline, self._watch.look)
        trial.threads = threads(worker.pid)
        full = self._reader.read()
        self._watch.opens()
        self._release()
        trial.memory = memory.memory(self._before, full, trial.point.slots)

    def look(self) -> None:
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


def thinned(connections: list[int], most: int = KEPT) -> list[int]:
    """Indexes of at most ``most`` samples: evenly spread, plus the peak's two ends and the last."""
    if len(connections) <= most:
        return list(range(len(connections)))
    top = max(connections)
    first = connections.index(top)
    last = len(connections) - 1 - connections[::-1].index(top)
    edges = {first, last, len(connections) - 1}
    step = math.ceil(len(connections) / (most - len(edges)))
    return sorted({*range(0, len(connections), step), *edges})


def own_kib(pid: int, stack_bytes: int | None) -> int | None:
    """User memory, page tables and kernel stacks of a process in KiB; None if unreadable."""
    fields = procfs.status(pid)
    user, tables, threads = (fields.get(name) for name in ("RssAnon", "VmPTE", "Threads"))
    if user is None or tables is None or threads is None or stack_bytes is None:
        return None
    return (user + tables + threads * stack_bytes) // KIB


# --- an interrupted crawl ----------------------------------------------------------------


class Interruption:
    """Holds the server's answers, and interrupts the crawl when one of every slot is held.

    The harness sends SIGINT to the worker, the signal of Ctrl-C, and each backend cancels in the
    way of its library. Three clocks are read, and they are one: the monotonic clock, which all
    processes of a machine share. The worker notes when the crawl saw the signal and when its call
    returned, the server when the first and the last connection ended. Releases the answers if it
    fails.
    """

    def __init__(self, trial: Trial, worker: WorkerProcess) -> None:
        """Hold from now on."""
        self._trial, self._worker = trial, worker
        self._asked = 0.0
        self._work_s = 0.0
        trial.server.hold()

    def fill(self, deadline: float) -> None:
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
