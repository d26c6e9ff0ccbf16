"""Times single operations: in batches, in processor time, on one processor.

Processor time (user and system, every thread), because that is what a page costs;
waiting is free. The timer divides by the number of operations in a batch, so that
pytest-benchmark's own table and files are about one operation.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.machine import cpu
from bench.machine.environment import pytest_benchmark_generate_machine_info
from crawlers.loop import Loop

__all__ = ["pytest_benchmark_generate_machine_info"]

SLOTS = 100
"""Sockets and tasks of a batch, as many as the slots when pages are measured."""

TURNS, MANY = 20, 1000
"""Iterations of a loop in a batch, and operations of a batch that need no socket."""


def nothing() -> None:
    """A callback that does nothing."""


class Repeated(Loop):
    """The hand-built loop, which can run again after it has stopped."""

    def run_forever(self) -> None:
        self._stopped = False
        self.run()


def turn(
    loop: Repeated | asyncio.AbstractEventLoop, turns: int, each: Callable[[], object] = nothing
) -> None:
    """Run the loop for this many iterations, calling ``each`` in every one."""
    left = turns

    def again() -> None:
        nonlocal left
        each()
        left -= 1
        if left:
            loop.call_soon(again)
        else:
            loop.stop()

    loop.call_soon(again)
    loop.run_forever()


class CpuTime:
    """A timer that reports the seconds of one operation for a whole batch."""

    operations = 1

    def __call__(self) -> float:
        return time.process_time() / self.operations


class Measure:
    def __init__(self, benchmark: BenchmarkFixture, timer: CpuTime, rounds: int) -> None:
        self._benchmark, self._timer, self._rounds = benchmark, timer, rounds

    def __call__(self, target: Callable[[], object], operations: int) -> None:
        """Time ``target``, a batch of ``operations``."""
        self._timer.operations = operations
        self._benchmark.pedantic(  # type: ignore[no-untyped-call]
            target, rounds=self._rounds, warmup_rounds=1
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("micro", "micro-benchmarks")
    group.addoption("--rounds", type=int, default=100, help="batches of each (default: 100)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the same operation of all implementations, and give each its timer."""
    for item in items:
        name = item.name.partition("[")[0].removeprefix("test_").replace("_", " ")
        item.add_marker(pytest.mark.benchmark(group=name, timer=CpuTime()))


@pytest.fixture(scope="session")
def pinned() -> Iterator[None]:
    """This process where a trial's client would be."""
    before = cpu.usable_cores()
    cpu.pin(os.getpid(), cpu.split_cores().client)
    yield
    cpu.pin(os.getpid(), before)


@pytest.fixture
def measure(request: pytest.FixtureRequest, benchmark: BenchmarkFixture, pinned: None) -> Measure:
    timer = request.node.get_closest_marker("benchmark").kwargs["timer"]
    return Measure(benchmark, timer, request.config.getoption("--rounds"))


Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pairs() -> Iterator[list[Pair]]:
    """Both ends of a connection, for each slot."""
    with ExitStack() as stack:
        made = [socket.socketpair() for _ in range(SLOTS)]
        for pair in made:
            for sock in pair:
                stack.enter_context(sock)
        yield made
