"""The two ends of one trial: what they are told, how far they are, and what they say.

Either a worker crawls the site of a fixture server, or a load asks a server under test. Both are
told by a :class:`bench.sides.protocol.Command` and answer with a
:class:`bench.sides.protocol.Result`, so both are run alike.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench import BenchError
from bench.machine.objects import WATCH
from bench.schema import Latency, Ledger
from bench.sides.process import Child, ProcessError, WorkerProcess, interruptible, threads
from bench.sides.protocol import Command, Result, shared_times
from bench.sides.servers import Server

if TYPE_CHECKING:  # a list of what to measure needs no numpy, here and below
    import numpy as np
    import numpy.typing as npt

POLL_S: Final = 0.02


class Sides:
    """One end is under test (``tested``), the ``other`` is there for it."""

    server: Server
    barrier: Server | Progress  # where connections are held
    worker: WorkerProcess
    command: Command  # what it was told
    tested: Child
    other: Child
    server_polls: bool  # it never sleeps
    theirs: Sequence[str] = WATCH  # what the other end holds (memory.kernel_growth)
    settle_s = 0.1  # between "all are held" and the reading, so that everybody can sleep
    deadline = float("inf")  # on the monotonic clock
    result: Result | None = None
    ledger: Ledger | None = None  # of a fixture server
    server_cpu = (0.0, 0.0)
    threads = 0
    slots: int
    out: Path  # the names of the files with times start with this
    seed: int  # of arrivals: the same for all labels of a block, new in each block
    cores: list[int]  # on which work is measured beforehand
    parts: dict[str, Any]  # what conditions noted meanwhile

    def wait_until_held(self) -> None:
        """Wait until every slot has a connection that is held, and everybody has gone to sleep.

        Raises :class:`ProcessError`, with the worker's own reason if it has one.
        """
        while (number := self.barrier.held()) < self.slots:
            if self.worker.process.poll() is not None:
                self.worker.result(self.deadline)
                raise ProcessError("the worker ended before the barrier")
            if time.monotonic() > self.deadline:
                raise ProcessError(f"only {number} of {self.slots} connections reached the barrier")
            with interruptible():
                time.sleep(POLL_S)
        time.sleep(self.settle_s)
        self.threads = threads(self.tested.pid)

    def seconds(self, name: str) -> npt.NDArray[np.float64]:
        """The times in the file of this name; none if there is no such file."""
        import numpy as np

        count = self.result.kept.get(name, 0) if self.result else 0
        if not count:
            return np.array([])
        return np.fromfile(self.out.with_suffix(f".{name}"), np.float64, count)

    def latency(self, name: str) -> Latency | None:
        from bench.histograms import encode_latency

        return encode_latency(self.seconds(name))


# --- how far a crawl or a load is ----------------------------------------------------------

AT_ONCE: Final = 4096
"""How many doubles the harness looks at in one step."""

PLACES: Final = 2
"""Of the memory of a load: it counts in the first, and is stopped by the second."""


class Progress:
    """Exchanges counted in memory that the worker's recorder fills: one double for each.

    ``most`` is how many it has room for; the worker opens ``file``, until :meth:`close`. It is
    memory and no file on a disk (memfd_create(2)): a store there would now and then wait for the
    file system. Raises :class:`bench.BenchError` where there is no such room.
    """

    def __init__(self, most: int) -> None:
        try:
            self.descriptor = os.memfd_create("progress")
            os.truncate(self.descriptor, most * 8)  # zeros
        except OSError as error:
            raise BenchError(
                f"no file in memory (memfd_create): {error.strerror}; in a container or sandbox, "
                "allow that system call, then continue with --resume",
                full=True,
            ) from None
        self.file = f"/proc/{os.getpid()}/fd/{self.descriptor}"
        import numpy as np

        self.times = np.asarray(shared_times(self.file))
        self.seen = 0

    def close(self) -> None:
        """Let nobody else open it; what is mapped stays until its process ends."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def count(self) -> int:
        while self.seen < len(self.times):
            ahead = self.times[self.seen : self.seen + AT_ONCE] == 0.0
            if ahead.any():
                self.seen += int(ahead.argmax())
                break
            self.seen += len(ahead)
        return self.seen

    # --- of a load, which holds its connections by itself until it is stopped ---

    def hold(self) -> None:
        pass

    def held(self) -> int:
        """Or answers so far, if it holds none."""
        return int(self.times[0])

    def release(self) -> None:
        self.times[1] = 1.0
