"""The worker's protocol, and what the worker must not carry with it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import worker
from bench.process import ROOT, Child, ProcessError
from bench.servers import Server

SOON_S = 30


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("tree:30:4:1024", seed=1, cores=[]) as running:
        yield running


def command(server: Server, out: Path, **changes: Any) -> str:
    values = {
        "backend": "callbacks",
        "prefix": server.prefix,
        "warmup_prefix": server.prefix,
        "urls": None,
        "slots": 2,
        "timeout_s": 10,
        "schedule": None,
        "switch_interval_s": None,
        "recorder": "times",
        "out": str(out / "times"),
        "watch_parent": False,
    }
    return json.dumps(values | changes)


def hear(child: Child) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(child.hear(time.monotonic() + SOON_S))
    return message


def test_ready_go_result(server: Server, tmp_path: Path) -> None:
    with Child("the worker", ["-m", "bench.worker"]) as child:
        child.say(command(server, tmp_path))
        assert hear(child)["event"] == "ready"
        server.reset()
        child.say("go")
        result = hear(child)
    assert result["event"] == "result"
    assert result["digest"] == server.digest
    assert result["pages"] == 30
    assert result["call_s"] >= result["elapsed_s"] > 0
    assert result["mechanism"]["gc_collections"] >= 0
    times = array("d")
    with open(tmp_path / "times.service", "rb") as file:
        times.fromfile(file, result["service"])
    assert len(times) == result["answered"] == server.ledger().requests
    assert all(0 < seconds < SOON_S for seconds in times)


@pytest.mark.parametrize("after", ["nothing", "the command"])
def test_it_ends_when_nobody_speaks_to_it_any_more(
    server: Server, tmp_path: Path, after: str
) -> None:
    with Child("the worker", ["-m", "bench.worker"]) as child:
        if after == "the command":
            child.say(command(server, tmp_path))
            hear(child)
        child.end(SOON_S)
        assert child.process.returncode in (0, 2)


def test_a_backend_that_does_not_exist_is_said(server: Server, tmp_path: Path) -> None:
    with Child("the worker", ["-m", "bench.worker"]) as child:
        child.say(command(server, tmp_path, backend="nonesuch"))
        message = hear(child)
        assert message["event"] == "failed"
        assert "nonesuch" in message["error"]
        with pytest.raises(ProcessError, match="exit code 1"):
            hear(child)


def test_it_carries_nothing_but_the_crawlers() -> None:
    """Its memory and its start are measured, so the harness's libraries must stay out."""
    code = "import sys, bench.worker; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    heavy = {"numpy", "scipy", "matplotlib", "pydantic", "psutil", "hdrh", "rich", "pytest"}
    assert not heavy & set(done.stdout.split())


@given(st.floats(1, 1e5), st.integers(1, 300))
def test_a_constant_schedule_is_even(rate: float, count: int) -> None:
    due = worker.due_times("constant", rate, count, 0)
    assert len(due) == count
    assert due[0] == 0
    assert all(b - a == pytest.approx(1 / rate, rel=1e-6) for a, b in pairwise(due))


@given(st.floats(1, 1e5), st.integers(1, 300), st.integers(0, 99))
def test_a_poisson_schedule_is_seeded_and_only_goes_forward(
    rate: float, count: int, seed: int
) -> None:
    due = worker.due_times("poisson", rate, count, seed)
    assert due == worker.due_times("poisson", rate, count, seed)
    assert all(a < b for a, b in pairwise((0.0, *due)))


def test_a_poisson_schedule_has_the_rate_it_was_asked_for() -> None:
    due = worker.due_times("poisson", 1000, 20_000, 1)
    assert len(due) / due[-1] == pytest.approx(1000, rel=0.05)
    gaps = [b - a for a, b in pairwise((0.0, *due))]
    # Exponential gaps: the share longer than the mean is 1/e.
    assert sum(gap > 0.001 for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.02)


def test_the_processor_time_of_ended_children_counts() -> None:
    before = sum(worker.processor_s())
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert sum(worker.processor_s()) - before > 0.15


def test_what_a_crawl_in_processes_took_to_start_is_left_out(
    server: Server, tmp_path: Path
) -> None:
    with Child("the worker", ["-m", "bench.worker"]) as child:
        child.say(command(server, tmp_path, backend="processes"))
        hear(child)
        server.reset()
        child.say("go")
        result = hear(child)
    start_s = result["mechanism"]["start_user_us"] / 1e6
    assert result["mechanism"]["processes"] >= 1
    assert start_s > 0.01
    # Thirty pages take a fraction of what an interpreter takes to start.
    assert 0 < result["user_s"] + result["system_s"] < start_s
