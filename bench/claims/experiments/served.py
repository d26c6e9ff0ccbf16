"""A server in a process of its own, beside an experiment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Self

from bench.launch import OWN_PYTHON
from bench.machine.probes import cpu
from bench.run.process import spawn

PACKAGE = "bench.claims.experiments"


class Served:
    """Starts ``python -m bench.claims.experiments.MODULE ARGUMENT`` and waits for its port.

    The server runs on the processors that the experiment does not use, if there are any, and
    dies with the experiment.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        self.name = " ".join((module, *arguments))
        self.process = spawn(
            [*OWN_PYTHON, "-m", f"{PACKAGE}.{module}", *arguments],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if hasattr(os, "sched_setaffinity"):
            mine = os.sched_getaffinity(0)
            others = set(range(os.cpu_count() or 1)) - mine
            os.sched_setaffinity(self.process.pid, others or mine)
        self._port: int | None = None

    @property
    def port(self) -> int:
        """Where it listens; waits until it does."""
        if self._port is None:
            assert self.process.stdout is not None
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"{self.name} ended before it listened")
            self._port = int(line)
        return self._port

    def cpu_s(self) -> float:
        """Seconds of processor time that the server has used."""
        return sum(cpu.times(self.process.pid))

    def waited_s(self) -> float:
        """Seconds that the server was ready to run and had no processor; 0 where it is unknown."""
        try:
            fields = Path(f"/proc/{self.process.pid}/schedstat").read_text(encoding="ascii").split()
        except OSError:
            return 0.0
        return int(fields[1]) / 1e9

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
