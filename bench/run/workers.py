"""Worker processes as the harness sees them: start one, command it, read its answers and times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from bench.launch import HASH_SEED, OWN_PYTHON
from bench.run.process import Child
from bench.run.protocol import (
    GO,
    Command,
    Failed,
    Message,
    ProtocolError,
    Ready,
    Result,
    decode,
    encode,
)

M = TypeVar("M", bound=Message)


class WorkerError(Exception):
    """The worker gave no result; the message says why."""


class WorkerProcess(Child):
    """A running ``bench.run.worker``."""

    def __init__(
        self,
        name: str = "the worker",
        python: Sequence[str] = OWN_PYTHON,
        hash_seed: int = HASH_SEED,
        extra_environment: Mapping[str, str] | None = None,
        module: str = "bench.run.worker",
    ) -> None:
        extra = {"PYTHONHASHSEED": str(hash_seed), **(extra_environment or {})}
        super().__init__(name, ["-m", module], extra, python)

    def command(self, command: Command) -> None:
        """Tell the worker what to crawl; it warms up at once."""
        self.send(encode(command))

    def ready(self, timeout_s: float) -> None:
        """Wait until the worker has warmed up."""
        self._receive(Ready, time.monotonic() + timeout_s)

    def go(self) -> None:
        """Start the crawl."""
        self.send(GO)

    def result(
        self,
        deadline: float,
        every_s: float | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Result:
        """The worker's result, by ``deadline`` on the monotonic clock.

        ``meanwhile`` is called each ``every_s`` seconds until it comes. Raises
        :class:`WorkerError`, :class:`TimeoutError` at the deadline, or
        :class:`bench.run.process.ProcessError` when the worker has ended.
        """
        return self._receive(Result, deadline, every_s, meanwhile)

    def _receive(
        self,
        kind: type[M],
        deadline: float,
        every_s: float | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> M:
        try:
            message = decode(self.receive(deadline, every_s, meanwhile))
        except ProtocolError as error:
            raise WorkerError(f"{self.what}: {error}") from None
        if isinstance(message, Failed):
            raise WorkerError(f"{self.what} failed: {message.error}")
        if not isinstance(message, kind):
            expected, got = kind.__name__, type(message).__name__
            raise WorkerError(f"{self.what}: expected {expected}, got {got}")
        return message


def seconds(out: Path, name: str, count: int) -> npt.NDArray[np.float64]:
    """The times that a worker wrote to its file of this name."""
    return np.fromfile(out.with_suffix(f".{name}"), np.float64, count)


def threads(pid: int) -> int:
    """How many threads a process has now; 0 where that cannot be read cheaply."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(status.partition("\nThreads:")[2].split(None, 1)[0])
