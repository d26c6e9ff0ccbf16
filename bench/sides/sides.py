"""The two ends of one trial: what they are told, and what they say.

Either a worker crawls the site of a fixture server, or a load asks a server under test. Both are
told by a :class:`bench.sides.protocol.Command` and answer with a
:class:`bench.sides.protocol.Result`, so both are run alike.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.machine.objects import WATCH
from bench.schema import Latency, Ledger
from bench.sides.process import Child, WorkerError, WorkerProcess, interruptible, threads
from bench.sides.protocol import Command, Result
from bench.sides.servers import Server

if TYPE_CHECKING:  # a list of what to measure needs no numpy, here and below
    import numpy as np
    import numpy.typing as npt

POLL_S: Final = 0.02


class Sides(ABC):
    """One end is under test (``tested``), the ``other`` is there for it."""

    server: Server
    worker: WorkerProcess
    tested: Child
    other: Child
    server_polls: bool  # it never sleeps
    theirs: Sequence[str] = WATCH  # what the other end holds (memory.kernel_growth)
    settle_s = 0.1  # between "all are held" and the reading, so that everybody can sleep
    deadline = float("inf")  # on the monotonic clock
    command: Command | None = None
    result: Result | None = None
    ledger: Ledger | None = None  # of a fixture server
    server_cpu = (0.0, 0.0)
    threads = 0

    def __init__(self, slots: int, out: Path, seed: int, cores: list[int]) -> None:
        self.slots = slots
        self.out = out  # the names of the files with times start with this
        self.seed = seed  # of arrivals: the same for all labels of a block, new in each block
        self.cores = cores  # on which work is measured beforehand
        self.parts: dict[str, Any] = {}  # what conditions noted meanwhile

    @abstractmethod
    def hold(self) -> None:
        """Keep every connection open from now on."""

    @abstractmethod
    def held(self) -> int: ...

    @abstractmethod
    def release(self) -> None: ...

    def wait_until_held(self) -> None:
        """Wait until every slot has a connection that is held, and everybody has gone to sleep.

        Raises :class:`WorkerError`, with the worker's own reason if it has one.
        """
        while (number := self.held()) < self.slots:
            if self.worker.process.poll() is not None:
                self.worker.result(self.deadline)
                raise WorkerError("the worker ended before the barrier")
            if time.monotonic() > self.deadline:
                raise WorkerError(f"only {number} of {self.slots} connections reached the barrier")
            with interruptible():
                time.sleep(POLL_S)
        time.sleep(self.settle_s)
        self.threads = threads(self.tested.pid)

    def seconds(self, name: str) -> npt.NDArray[np.float64]:
        """The times in the file of this name; none if there is no such file."""
        import numpy as np

        count = self.result.kept.get(name, 0) if self.result else 0
        file = self.out.with_suffix(f".{name}")
        return np.fromfile(file, np.float64, count) if count else np.array([])

    def latency(self, name: str) -> Latency | None:
        return encoded(self.seconds(name))


def encoded(times: npt.NDArray[np.float64]) -> Latency | None:
    from bench.histograms import encode_latency

    return encode_latency(times)
