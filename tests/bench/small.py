"""Small real trials and campaigns for the harness's tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from bench import backends, workloads
from bench.order import Turn
from bench.probes import cpu
from bench.process import ROOT
from bench.schema import TrialRecord
from bench.servers import Server
from bench.trial import Bench, run
from bench.workloads import Point

OUTSIDE = Path(__file__).parent / "outside"
"""On ``PYTHONPATH``, it brings the backends that go wrong."""

NAMES = (*workloads.MODELS, *("hang", "crash", "killed", "lazy", "greedy", "twice", "talking"))
"""The backends that trials of the tests may use."""

ONE = ("--profile", "smoke", "--only", "throughput-1", "--seed", "1")
"""The smallest campaign there is."""


def point(site: str = "tree:60:5:1024", slots: int = 4, **changes: object) -> Point:
    """A workload point whose trial takes a moment."""
    values: dict[str, object] = {
        "id": f"throughput-{slots}",
        "workload": "throughput",
        "kind": "crawl",
        "site": site,
        "slots": slots,
        "blocks": 1,
    }
    return Point(**(values | changes))  # type: ignore[arg-type]


@contextmanager
def bench(scratch: Path, deadline_s: float | None = None) -> Iterator[Bench]:
    """What trials share, with a warm-up server."""
    pinning = cpu.split_cores()
    known = {backend.name: backend for backend in backends.look_up(NAMES)}
    with Server(workloads.WARMUP_SITE, seed=workloads.SITE_SEED, cores=pinning.server) as warmup:
        yield Bench(warmup, known, pinning, 1, scratch, deadline_s)


def trial(shared: Bench, where: Point, label: str, server: Server | None = None) -> TrialRecord:
    """One trial of one label, against a server of its own unless one is given."""
    turn = Turn(0, where.id, 0, label)
    if server is not None:
        return run(shared, where, turn, server, 0)
    with Server(
        where.site, delay=where.delay, seed=workloads.SITE_SEED, cores=shared.pinning.server
    ) as own:
        return run(shared, where, turn, own, 0)


def environment(*, outside: bool = False) -> dict[str, str]:
    """The environment of a harness started by a test."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV"))}
    return own | ({"PYTHONPATH": str(OUTSIDE)} if outside else {})


def harness(
    *arguments: str,
    outside: bool = False,
    timeout: float = 110,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """``python -m bench`` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments],
        cwd=ROOT,
        env=environment(outside=outside) | dict(env or {}),
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@contextmanager
def started(*arguments: str, outside: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """``python -m bench`` in the background, surely ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench", *arguments],
        cwd=ROOT,
        env=environment(outside=outside),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for_lines(results: Path, count: int, timeout: float = 60) -> Path:
    """The one campaign's folder, once its file has so many lines."""
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        for file in results.glob("*/trials.jsonl"):
            if file.read_bytes().count(b"\n") >= count:
                return file.parent
        time.sleep(0.02)
    raise AssertionError(f"no {count} records in {timeout} s")


def family(pid: int) -> list[psutil.Process]:
    """All that a process has started, and what those have."""
    children: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    return children


def all_gone(processes: Sequence[psutil.Process], timeout: float = 10) -> bool:
    """Whether these processes end within the time."""
    return not psutil.wait_procs(processes, timeout=timeout)[1]
