"""The same command across three hosts, and one of them cut off in the middle of a ramp.

Host 1 runs the coordinator and the scheduler; hosts 2 and 3 work. Needs root:
``sudo python -m pytest tests/bench/fleet/test_network.py``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.fleet import store
from bench.fleet.store import FleetRecords
from bench.launch import ROOT
from tests.bench import small
from tests.bench.fleet import namespaces
from tests.bench.fleet.conftest import DASK, PATIENCE_S, wait_for
from tests.bench.fleet.namespaces import Network

WHY_NOT = namespaces.missing()
pytestmark = [
    pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or ""),
    pytest.mark.timeout(600),
    pytest.mark.slow,
]

ANSWER_S = 3.0


def dask(hosts: Network, host: int, role: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A part of dask on a host."""
    code = DASK.format(role)
    return subprocess.Popen(
        hosts.inside(host, sys.executable, "-c", code, "--no-dashboard", *arguments),
        cwd=ROOT,
        env=small.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Network]:
    """Three hosts with a dask cluster on them."""
    with namespaces.network(3) as made, ExitStack() as stack:

        def start(host: int, role: str, *arguments: str) -> None:
            process = dask(made, host, role, *arguments)
            stack.callback(process.wait)
            stack.callback(process.kill)

        file = tmp_path / "scheduler.json"
        start(
            1, "scheduler", "--host", made.address(1), "--port", "8786",
            "--scheduler-file", str(file),
        )  # fmt: skip
        wait_for(file.exists)
        for host in (2, 3):
            start(
                host, "worker", scheduler(made), "--host", made.address(host), "--nthreads", "1",
                "--no-nanny", "--local-directory", str(tmp_path),
            )  # fmt: skip
        yield made


def scheduler(hosts: Network) -> str:
    return f"tcp://{hosts.address(1)}:8786"


def hold(hosts: Network, results: Path, *arguments: str) -> subprocess.Popen[str]:
    """The same command as on one machine, with the cluster's address."""
    return subprocess.Popen(
        hosts.inside(
            1, sys.executable, "-m", "bench", "fleet", "hold", "--scheduler", scheduler(hosts),
            "--results", str(results), "--answer", f"{ANSWER_S:g}", *arguments,
        ),
        cwd=ROOT,
        env=small.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip


def records(results: Path) -> FleetRecords:
    (folder,) = results.glob("fleet-*")
    return store.load(folder)


def established(hosts: Network, host: int) -> int:
    """The number of established connections on a host."""
    done = subprocess.run(
        hosts.inside(host, "cat", "/proc/net/sockstat"), capture_output=True, text=True, timeout=300
    )
    words = done.stdout.partition("TCP: inuse ")[2].split()
    return int(words[0]) if words else 0


def workers_are_there(hosts: Network) -> bool:
    return all(established(hosts, host) >= 2 for host in (2, 3))


def test_connections_are_held_across_hosts_and_a_lost_host_is_noticed(
    hosts: Network, tmp_path: Path
) -> None:
    wait_for(lambda: workers_are_there(hosts))
    with hold(hosts, tmp_path / "whole", "--connections", "600") as process:
        printed = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == 0, printed
    found = records(tmp_path / "whole")
    (trial,) = found.trials
    assert (trial.status, trial.hosts, trial.held) == ("ok", 2, 600)
    for worker in found.workers:
        # Each on its own host, connected to the other one.
        assert worker.server is not None
        addresses = {worker.host.partition(":")[0], worker.server.split("/")[2].partition(":")[0]}
        assert addresses == {hosts.address(2), hosts.address(3)}
        assert worker.digest == worker.digest_expected

    with hold(hosts, tmp_path / "cut", "--connections", "4000", "--ramp", "50") as process:
        wait_for(lambda: established(hosts, 2) > 40)
        hosts.cut(3)
        cut = time.monotonic()
        printed = process.communicate(timeout=PATIENCE_S)[0]
        noticed_s = time.monotonic() - cut
    assert process.returncode == 1, printed
    (trial,) = records(tmp_path / "cut").trials
    assert trial.status == "void"
    assert trial.reason is not None
    assert hosts.address(3) in trial.reason
    assert f"no answer for {ANSWER_S:g} s" in trial.reason
    # Long before the end of the ramp.
    assert noticed_s < 4000 / 50
    assert [left.host.partition(":")[0] for left in trial.left_behind] == [hosts.address(2)]
