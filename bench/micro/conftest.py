"""Times single operations: in batches, in processor time, on one processor.

Processor time (user and system, every thread), because that is what a page costs;
waiting is free. The timer divides by the number of operations in a batch, so that
pytest-benchmark's own table and files are about one operation.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.machine.benchmark_info import pytest_benchmark_generate_machine_info
from bench.machine.probes import cpu
from bench.micro.walk import Visit, walk
from bench.plan.workloads import SITE_SEED, tree
from bench.run.servers import Server

__all__ = ["pytest_benchmark_generate_machine_info"]

SLOTS = 100
"""Sockets, tasks and connections of a batch, as many as the slots when pages are measured."""


class CpuTime:
    """A timer that reports the seconds of one operation for a whole batch."""

    operations = 1

    def __call__(self) -> float:
        """Processor time of this process so far, divided by the operations of a batch."""
        return time.process_time() / self.operations


class Measure(Protocol):
    """Times ``target``, a batch of ``operations``."""

    def __call__(
        self,
        target: Callable[..., object],
        operations: int,
        *,
        setup: Callable[[], object] | None = None,
        teardown: Callable[..., object] | None = None,
        rounds: int | None = None,
    ) -> None:
        """``setup`` returns the one argument of ``target`` and ``teardown``; neither is timed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for how much to measure."""
    group = parser.getgroup("micro", "micro-benchmarks")
    group.addoption("--rounds", type=int, default=100, help="batches of each (default: 100)")
    group.addoption(
        "--pages", type=int, default=5000, help="pages of the site that is replayed (default: 5000)"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the same operation of all implementations, and give each its timer."""
    for item in items:
        name = item.name.partition("[")[0].removeprefix("test_").replace("_", " ")
        item.add_marker(pytest.mark.benchmark(group=name, timer=CpuTime()))


@pytest.fixture(scope="session")
def pinning() -> Iterator[cpu.Pinning]:
    """This process where a trial's client would be; yields where the others belong."""
    found = cpu.split_cores()
    before = cpu.usable_cores()
    cpu.pin(os.getpid(), found.client)
    yield found
    cpu.pin(os.getpid(), before)


@pytest.fixture
def measure(
    request: pytest.FixtureRequest, benchmark: BenchmarkFixture, pinning: cpu.Pinning
) -> Measure:
    """See :class:`Measure`."""
    marker = request.node.get_closest_marker("benchmark")
    usual: int = request.config.getoption("--rounds")

    def run(
        target: Callable[..., object],
        operations: int,
        *,
        setup: Callable[[], object] | None = None,
        teardown: Callable[..., object] | None = None,
        rounds: int | None = None,
    ) -> None:
        marker.kwargs["timer"].operations = operations
        more: dict[str, Any] = {}
        if setup is not None:
            more["setup"] = lambda: ((setup(),), {})
        benchmark.pedantic(  # type: ignore[no-untyped-call]
            target, teardown=teardown, rounds=min(rounds or usual, usual), warmup_rounds=1, **more
        )

    return run


@pytest.fixture(scope="session")
def visits(request: pytest.FixtureRequest, pinning: cpu.Pinning) -> list[Visit]:
    """Every page of the throughput site, in the order of a crawl."""
    pages: int = request.config.getoption("--pages")
    with Server(tree(pages), seed=SITE_SEED, cores=pinning.server) as server:
        return walk(server.prefix)


Pair = tuple[socket.socket, socket.socket]


@pytest.fixture(scope="session")
def listener() -> Iterator[socket.socket]:
    """A listening socket on this machine, with a backlog for connections not yet accepted."""
    with socket.create_server(("127.0.0.1", 0), backlog=4 * SLOTS) as sock:
        yield sock


def connected(listener: socket.socket) -> Pair:
    """Both ends of a TCP connection, with the options that every backend sets."""
    near = socket.create_connection(listener.getsockname())
    far, _ = listener.accept()
    for sock in (near, far):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return near, far


@pytest.fixture
def pairs(listener: socket.socket) -> Iterator[list[Pair]]:
    """Both ends of a connection, for each slot."""
    with ExitStack() as stack:
        made = [connected(listener) for _ in range(SLOTS)]
        for pair in made:
            for sock in pair:
                stack.enter_context(sock)
        yield made


@pytest.fixture
def accept_all(listener: socket.socket) -> Callable[..., None]:
    """A function that accepts and closes all waiting connections."""

    def accept(*_: object) -> None:
        listener.setblocking(False)
        try:
            while True:
                listener.accept()[0].close()
        except BlockingIOError:
            listener.setblocking(True)

    return accept
