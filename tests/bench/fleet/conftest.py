"""Dask clusters of two workers, started as users start them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from bench.launch import ROOT
from tests.bench import small

# To import it takes long, and every process of a parallel run collects all tests.
if find_spec("distributed") is None:
    pytest.skip("distributed is not installed", allow_module_level=True)

PATIENCE_S = 300.0
DASK = "from distributed.cli.dask_{} import main; main()"
APART = "from bench.machine import environment; environment.boot = lambda: {!r}; "
"""A fleet has one host on each machine; these say that they were booted apart."""


@dataclass
class Cluster:
    """A scheduler and its workers."""

    address: str
    workers: list[subprocess.Popen[bytes]]

    def children(self, module: str) -> list[psutil.Process]:
        """The children of all workers that run a module."""
        return [
            child
            for worker in self.workers
            if worker.poll() is None
            for child in psutil.Process(worker.pid).children()
            if small.runs(child, module)
        ]


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until a condition is true; fail after :data:`PATIENCE_S`."""
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, "the condition never became true"
        time.sleep(0.2)  # to look at all processes takes 10 ms


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Two dask workers of one thread each."""
    with started(tmp_path) as made:
        yield made


@contextmanager
def started(folder: Path, *, apart: bool = True) -> Iterator[Cluster]:
    """A scheduler and two workers with addresses of their own, with their files in ``folder``.

    ``apart``: the workers say that they are on two machines.
    """
    import distributed

    file = folder / "scheduler.json"

    def start(host: str, role: str, *arguments: str) -> subprocess.Popen[bytes]:
        program = (APART.format(host) if apart else "") + DASK.format(role)
        words = (sys.executable, "-c", program, "--scheduler-file", str(file))
        return subprocess.Popen(
            [*words, "--host", host, "--no-dashboard", *arguments],
            cwd=ROOT,
            env=small.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    processes = [start("127.0.0.1", "scheduler", "--port", "0")]
    try:
        wait_for(lambda: file.exists() and file.read_text().endswith("}"))
        options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
        processes += [start(host, "worker", *options) for host in ("127.0.0.2", "127.0.0.3")]
        address = json.loads(file.read_text())["address"]
        with distributed.Client(address) as client:
            client.wait_for_workers(2, timeout=PATIENCE_S)
        yield Cluster(address, processes[1:])
    finally:
        for process in processes:
            process.kill()
            process.wait()
