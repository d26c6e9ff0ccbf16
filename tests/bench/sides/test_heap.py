"""What a reader counts with ``python -m crawlers`` is what a campaign counts: page faults."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.sides.protocol import Result
from bench.sides.servers import Server
from crawlers import heap
from tests.bench.sides.test_worker import command, crawl
from tests.crawlers.test_heap import needs_mapping

PAGES, FEWER = 4000, 500
STATES = {"async_await": heap.KEEPS, "async_await_mapped": heap.ON_PURPOSE}


Both = tuple[Server, Server]


@pytest.fixture(scope="module")
def servers() -> Iterator[Both]:
    many, few = (Server(f"tree:{pages}:10:2048", seed=1, cores=[]) for pages in (PAGES, FEWER))
    with many, few:
        yield many, few


def measured(server: Server, out: Path, backend: str, slots: int) -> Result:
    return crawl(server, replace(command(server, out, backend), slots=slots))


def typed(server: Server, backend: str) -> int:
    arguments = [sys.executable, "-m", "crawlers", backend, f"{server.prefix}/", "-c100", "-q"]
    # dask, if a test of the fleet ran before in this process, has left settings for malloc.
    usual = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    process = subprocess.Popen(arguments, env=usual)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_minflt


@needs_mapping
@pytest.mark.parametrize("backend", STATES)
def test_the_command_and_the_worker_agree(servers: Both, tmp_path: Path, backend: str) -> None:
    server, smaller = servers
    result = measured(server, tmp_path, backend, 100)
    typed(smaller, backend)  # the first one in a clone compiles, and faults for that
    theirs = (typed(server, backend) - typed(smaller, backend)) / (PAGES - FEWER)
    assert theirs == pytest.approx(result.page_faults / result.pages, abs=0.5)


@needs_mapping
@pytest.mark.slow
@pytest.mark.parametrize(("backend", "state"), STATES.items())
def test_the_state_is_the_same_with_few_and_with_many_slots(
    servers: Both, tmp_path: Path, backend: str, state: str
) -> None:
    """Each receive that is mapped faults twice; a slot's memory, once for all, is far less here."""
    for slots in (10, 1000):
        result = measured(servers[0], tmp_path, backend, slots)
        assert result.mechanism["malloc"] == state
        assert (result.page_faults / result.pages > 1.3) == (state == heap.ON_PURPOSE)
