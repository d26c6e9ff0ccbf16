"""The fleet from its command line: held and released, crawled once, and lost without hanging."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bench.fleet import store
from bench.fleet.store import FleetRecords
from bench.process import ROOT
from tests.bench import small
from tests.bench.fleet.conftest import PATIENCE_S, Cluster, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

CONNECTIONS = 2000


def fleet(*arguments: str) -> subprocess.CompletedProcess[str]:
    """``python -m bench fleet`` to its end."""
    return small.harness("fleet", *arguments, timeout=110)


def records(results: Path) -> FleetRecords:
    """The one fleet in a folder."""
    (folder,) = results.glob("fleet-*")
    return store.load(folder)


def test_two_thousand_connections_meet_at_one_barrier(cluster: Cluster, tmp_path: Path) -> None:
    results = tmp_path / "results"
    done = fleet(
        *("hold", "--connections", str(CONNECTIONS), "--scheduler", cluster.address),
        *("--results", str(results), "--json"),
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["trials"], said["bad"]) == (1, 0)
    found = records(results)
    (trial,) = found.trials
    assert (trial.status, trial.reason) == ("ok", None)
    assert (trial.workers, trial.hosts, trial.held) == (2, 2, CONNECTIONS)
    assert trial.ledger is not None
    assert trial.ledger.peak_in_flight == trial.ledger.connections_opened == CONNECTIONS
    assert trial.ledger.repeated == 0
    assert trial.digest == trial.digest_expected
    assert trial.digest is not None
    assert trial.service_time is not None
    assert trial.service_time.count == CONNECTIONS
    assert [sample.connections for sample in trial.samples][-1] == CONNECTIONS
    assert [left.processes for left in trial.left_behind] == [0, 0]
    assert [worker.connections for worker in found.workers] == [CONNECTIONS // 2] * 2
    assert {worker.host for worker in found.workers} == {host.host for host in found.fleet.hosts}
    assert len({host.machine for host in found.fleet.hosts}) == 1
    for worker in found.workers:
        assert (worker.status, worker.digest) == ("ok", worker.digest_expected)
        assert worker.ledger is not None
        assert worker.ledger.peak_connections == worker.connections
    folder = Path(said["folder"])
    assert (folder / "charts" / "fleet-ramp.svg").is_file()
    assert f"{CONNECTIONS:,}" in (folder / "summary.md").read_text()
    assert cluster.crew("bench.worker") == cluster.crew("server") == []

    # The same cluster shares a crawl; the records go on in the same file.
    done = fleet(
        *("crawl", "--workers", "1,2", "--site", "tree:300:5:1024", "--slots", "8"),
        *("--backends", "async_await", "--scheduler", cluster.address, "--into", str(folder)),
    )
    assert done.returncode == 0, done.stderr
    alone, shared = records(results).ok("crawl")
    assert (alone.workers, shared.workers) == (1, 2)
    assert (alone.trial, shared.trial) == (1, 2)
    assert alone.handed_over == 0
    assert shared.handed_over
    assert alone.digest == alone.digest_expected
    assert shared.digest == shared.digest_expected
    assert alone.pages == shared.pages == 300
    for trial in (alone, shared):
        assert trial.ledger is not None
        assert trial.ledger.requests == trial.ledger.distinct
        assert trial.ledger.repeated == 0
    parts = [worker for worker in records(results).workers if worker.trial == shared.trial]
    assert sum(part.pages or 0 for part in parts) == shared.pages
    assert all(part.pages and part.digest == part.digest_expected for part in parts)


def begun(cluster: Cluster, results: Path, *more: str) -> subprocess.Popen[str]:
    """A fleet in the middle of a slow ramp."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "bench", "fleet", "hold", "--scheduler", cluster.address),
            *("--connections", "2000", "--ramp", "50", "--results", str(results), *more),
        ],
        cwd=ROOT,
        env=small.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def opened() -> bool:
        assert process.poll() is None, process.communicate()[0]
        crew = cluster.crew("bench.worker")
        return len(crew) == 2 and all(len(one.net_connections("tcp4")) > 5 for one in crew)

    wait_for(opened)
    return process


def test_a_worker_that_is_killed_voids_the_trial_and_is_named(
    cluster: Cluster, tmp_path: Path
) -> None:
    with begun(cluster, tmp_path / "results") as process:
        cluster.crew("bench.worker")[0].kill()
        said = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == 1, said
    (trial,) = records(tmp_path / "results").trials
    assert trial.status == "void"
    assert trial.reason is not None
    assert "killed by SIGKILL" in trial.reason
    assert "worker " in trial.reason
    assert cluster.crew("bench.worker") == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_host_that_is_gone_is_noticed_and_leaves_nobody_waiting(
    how: signal.Signals, cluster: Cluster, tmp_path: Path
) -> None:
    with begun(cluster, tmp_path / "results", "--answer", "3") as process:
        crew = cluster.crew("bench.worker")
        os.kill(cluster.workers[0].pid, how)
        said = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == 1, said
    found = records(tmp_path / "results")
    (trial,) = found.trials
    assert trial.status == "void"
    assert trial.reason is not None
    lost = [host.host for host in found.fleet.hosts if host.host in trial.reason]
    assert len(lost) == 1, trial.reason
    # The other host has let go; what the lost one had ends with it.
    assert [left.host for left in trial.left_behind] == [
        host.host for host in found.fleet.hosts if host.host not in lost
    ]
    cluster.workers[0].kill()
    assert small.all_gone([*crew, *cluster.crew("server")])


def test_too_much_is_refused_before_anything_starts(tmp_path: Path) -> None:
    done = fleet("hold", "--connections", "900000000", "--results", str(tmp_path / "results"))
    assert done.returncode == 2
    assert "memory" in done.stderr
    assert "needed" in done.stderr
    assert "at most" in done.stderr
    assert not (tmp_path / "results").exists()


def test_no_scheduler_is_one_line(tmp_path: Path) -> None:
    done = fleet("plan", "--scheduler", "tcp://127.0.0.1:9")
    assert done.returncode == 2
    assert "dask scheduler" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_stops_every_process(tmp_path: Path) -> None:
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "bench", "fleet", "hold", "--connections", "1000"),
            *("--ramp", "20", "--results", str(tmp_path)),
        ],
        cwd=ROOT,
        env=small.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        process_group=0,
    ) as process:
        children: list[psutil.Process] = []

        def working() -> bool:
            children[:] = small.family(process.pid)
            return any("bench.worker" in child.cmdline() for child in children)

        wait_for(working)
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == 130, said
    assert b"Traceback" not in said, said
    assert small.all_gone(children)
