"""Runs small trials and campaigns for the harness's tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.launch import ROOT
from bench.plan.participants import usually
from bench.plan.workloads import Point
from bench.schema import Ledger
from bench.sides.protocol import Result
from crawlers.registry import MODELS
from tests.bench.children import wait_for
from tests.bench.sure import sure

OUTSIDE = Path(__file__).parent / "outside"
"""Put this folder on ``PYTHONPATH`` to get the backends that fail."""

ONE = ("--profile", "smoke", "--only", "waiting-10", "--seed", "1")
"""The options of the smallest campaign. Its point needs no ceiling, which takes a second."""

RESULT = Result(
    elapsed_s=1.0,
    pages=10,
    bytes=100,
    answered=10,
    urls=10,
    statuses={"200": 10},
    digest="d",
    call_s=1.0,
    user_s=0.5,
    system_s=0.5,
    kept={"service": 10, "response": 0},
)
"""What a worker answers after a crawl of ten pages."""

LEDGER = Ledger(
    requests=10,
    distinct=10,
    repeated=0,
    connections_opened=4,
    peak_connections=4,
    peak_in_flight=4,
    pipelined=0,
    requests_per_connection_max=3,
)
"""What the server says of it: four slots."""


def point(site: str = "tree:60:5:1024", slots: int = 4, **changes: object) -> Point:
    values: dict[str, object] = {
        "workload": "throughput",
        "site": site,
        "slots": slots,
        "who": usually(MODELS, 1),
    }
    return Point(**(values | changes))  # type: ignore[arg-type]


def some(names: Iterable[str], *usual: str) -> list[Any]:
    """Parameters of a test: all these names, of which the default tests take only the usual."""
    slow = pytest.mark.slow
    return [name if name in usual else pytest.param(name, marks=slow) for name in names]


def environment(*, outside: bool = False) -> dict[str, str]:
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV"))}
    return own | ({"PYTHONPATH": str(OUTSIDE)} if outside else {})


def harness(
    *arguments: str,
    outside: bool = False,
    timeout: float = 300,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments],
        cwd=ROOT,
        env=environment(outside=outside) | dict(env or {}),
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@contextmanager
def started(
    *arguments: str, outside: bool = False, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``python -m bench`` in the background, and kill it in the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench", *arguments],
        cwd=ROOT,
        env=environment(outside=outside) | dict(env or {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for_lines(results: Path, count: int) -> Path:
    """Wait until the only campaign has ``count`` records, and return its folder."""

    def found() -> Path | None:
        files = results.glob("*/trials.jsonl")
        return next((f.parent for f in files if f.read_bytes().count(b"\n") >= count), None)

    return sure(wait_for(found, f"no {count} records"))


def family(pid: int) -> list[psutil.Process]:
    children: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    return children


def runs(process: psutil.Process, module: str) -> bool:
    try:
        return module in process.cmdline()
    except psutil.Error:  # it has just ended
        return False


def wait_for_family(pid: int, met: Callable[[list[psutil.Process]], bool]) -> list[psutil.Process]:
    """Wait until a process's children meet a condition, and return all of them."""

    def found() -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            return offspring if met(offspring := family(pid)) else []
        return []

    return wait_for(found, "the children never met the condition", 0.005)


def all_gone(processes: Sequence[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=300)[1]
