"""The server's ceiling: by wrk, or none, with the reason."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from bench.run import ceiling
from bench.sides.servers import Server
from tests.bench.sure import sure
from tests.programs import program

WRK = """\
Running 1s test @ http://127.0.0.1:8080/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   293.40us  110.82us   3.13ms   90.20%
    Req/Sec   212.07k     9.20k  221.33k    90.91%
  231958 requests in 1.10s, 479.62MB read
Requests/sec: 210871.35
Transfer/sec:    436.02MB
"""
WRK_ERRORS = """\
  Socket errors: connect 1, read 2, write 3, timeout 4
  Non-2xx or 3xx responses: 5
Requests/sec:     12.50
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("list:10:2048", seed=1, cores=[]) as running:
        yield running


def test_wrk_is_read() -> None:
    assert ceiling.parse_wrk(WRK) == (210871.35, 0)
    assert ceiling.parse_wrk(WRK_ERRORS) == (12.5, 15)
    for report in ("unable to connect", "Requests/sec: 0.00\n", "Requests/sec: 1.2.3\n"):
        with pytest.raises(ValueError, match=report.strip()):
            ceiling.parse_wrk(report)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("#!/bin/sh\nprintf 'wrk 4\\377\\n'; exit 1", "it failed: 'wrk 4\ufffd'"),
        ("#!/nonexistent/sh\n", "No such file"),
        ("#!/bin/sh\n", "it gave no rate: ''"),
        ("#!/bin/sh\n[ $1 = --version ] || exec sleep 600\nexit 1", "it did not end in time"),
        # It is too low, and trials near it seemed to be limited by the server.
        ("#!/bin/sh\necho Requests/sec: 12.5", "the host ran other guests for"),
        ("#!/bin/sh\necho Requests/sec: 9.5; sleep 1", "or a limit left server and client"),
        (None, "it is not installed; install it with: apt-get install wrk"),
    ],
)
def test_a_broken_wrk_gives_no_ceiling_but_a_reason(
    script: str | None,
    reason: str,
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if script is not None:
        program(tmp_path / "wrk", script)
    sleeps = "sleep" in (script or "")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin" if sleeps else str(tmp_path))
    monkeypatch.setattr(ceiling, "GRACE_S", 0.1 if "600" in (script or "") else 20.0)
    steal = count(0, 1000 * ("guests" in reason))
    monkeypatch.setattr("bench.machine.host.steal", lambda processors: next(steal))
    record = ceiling.measure(server, 0, [], connections=2)
    assert record.requests_per_s is None
    assert (record.reason or "").startswith(f"no ceiling by {record.tool}, because ")
    assert reason in (record.reason or "")


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_the_ceiling_is_measured(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.machine.host.steal", lambda processors: None)
    monkeypatch.setattr(ceiling, "FULL", 0.0)  # on a busy machine, too
    server.reset()
    record = ceiling.measure(server, 3, [], connections=8)
    assert record.errors == 0
    assert record.block == 3
    assert 0 < sure(record.server_cpu_share) <= 1
    assert sure(record.client_cpu_share) > 0
    # Both the tool and the server counted the same requests, give or take
    # those in flight at the end.
    assert server.ledger().requests >= 0.5 * sure(record.requests_per_s) > 0
