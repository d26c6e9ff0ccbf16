"""The fleet from its command line: hold and release, crawl once, lose a host without hanging.

Dask clusters have two workers, started as users start them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from bench.__main__ import main
from bench.fleet import hold
from bench.fleet.study import STUDY, FleetTrial
from bench.launch import ROOT
from bench.study import Report, Run
from tests.bench import small
from tests.bench.children import wait_for

# To import it takes long, and every process of a parallel run collects all tests.
if find_spec("distributed") is None:
    pytest.skip("distributed is not installed", allow_module_level=True)

PATIENCE_S = 300.0
HOSTS = ("127.0.0.2", "127.0.0.3")
DASK = "from distributed.cli.dask_{} import main; main()"
BOOTED = "from bench.machine import environment; environment.boot = lambda: {!r}"
UNWATCHED = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
"""Or a worker looks at its stack a hundred times a second."""


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


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Two dask workers of one thread each, of which a test may lose one."""
    with clustered(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The same for all tests that leave it as it was."""
    with clustered(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@contextmanager
def clustered(folder: Path) -> Iterator[Cluster]:
    """A scheduler and two workers with addresses of their own, with their files in ``folder``."""
    file = folder / "scheduler.json"

    def start(host: str, role: str, *arguments: str) -> subprocess.Popen[bytes]:
        words = (sys.executable, "-c", DASK.format(role), "--scheduler-file", str(file))
        return subprocess.Popen(
            [*words, "--host", host, "--no-dashboard", *arguments],
            cwd=ROOT,
            env=small.environment() | UNWATCHED,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    processes = [start("127.0.0.1", "scheduler", "--port", "0")]
    try:
        wait_for(lambda: file.exists() and file.read_text().endswith("}"), "no scheduler")
        options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
        processes += [start(host, "worker", *options) for host in HOSTS]
        address = json.loads(file.read_text())["address"]
        booted(address, *HOSTS)
        yield Cluster(address, processes[1:])
    finally:
        for process in processes:
            process.kill()
            process.wait()


def booted(address: str, *boots: str) -> None:
    """Let the workers say when they were booted: a fleet has one host on each machine."""
    import distributed

    with distributed.Client(address) as client:
        client.wait_for_workers(2, timeout=PATIENCE_S)
        for worker, boot in zip(client.scheduler_info()["workers"], boots, strict=True):
            client.run(exec, BOOTED.format(boot), {}, workers=[worker])


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

CONNECTIONS = 1000
IMPATIENT = (
    "import signal, sys; from bench.fleet import hold; "
    "signal.signal(signal.SIGUSR1, lambda *_: setattr(hold, 'ANSWER_S', 5.0)); "
    "from bench.__main__ import main; sys.exit(main())"
)
"""Impatient from SIGUSR1 on: on a busy machine a fleet takes minutes to start."""


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """Restore the handler of SIGTERM, which the command replaces."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def fleet(*arguments: str) -> int:
    """Run ``python -m bench study fleet`` in this process; returns its exit code."""
    return main(["study", "fleet", *arguments])


def last(results: Path) -> Run[FleetTrial]:
    """The only fleet in a folder."""
    (run,) = STUDY.runs(results)
    return run


@pytest.mark.slow
@pytest.mark.parametrize(("how", "backend"), [((), "callbacks"), (("--tls",), "generators")])
def test_connections_meet_at_one_barrier_and_too_many_are_refused(
    how: tuple[str, ...],
    backend: str,
    lasting: Cluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Report, "write", lambda *_: None)  # test_report.py draws the charts
    results = tmp_path / "results"
    code = fleet(
        *("--connections", f"{CONNECTIONS},10000000", "--scheduler", lasting.address),
        *("--out", str(results), "--backends", backend, *how),
    )
    printed = capsys.readouterr()
    assert code == 0, printed.out + printed.err  # what was refused is no fault
    refused, sample = last(results).samples
    trial = sample.part
    assert trial is not None, sample.reason
    assert refused.status == "refused"
    assert f"connections of {trial.words} do not fit: " in (refused.reason or "")
    assert "memory on " in (refused.reason or "")
    assert trial.tls == ("TLS 1.3, ecdsa, tickets" if how else None)
    assert (sample.status, sample.reason) == ("ok", None)
    assert (len(trial.workers), len(trial.hosts)) == (2, 2)
    assert [moment.connections for moment in trial.samples][-1] == CONNECTIONS
    assert [worker.connections for worker in trial.workers] == [CONNECTIONS // 2] * 2
    assert [len(host.workers) for host in trial.hosts] == [1, 1]
    for worker in trial.workers:
        assert worker.digest == worker.digest_expected
        ledger = worker.ledger
        assert ledger.repeated == 0
        assert ledger.peak_in_flight == ledger.connections_opened == worker.connections
        shaken = ledger.handshakes
        assert (shaken and (shaken.full, shaken.failed)) == (
            (worker.connections, 0) if how else None
        )
    assert lasting.children("bench.sides.worker") == lasting.children("server") == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--tls", "--backends", "trio_sockets"), ["trio_sockets has no HTTPS: "]),
        (("--connections", "9000000"), ["9,000,000 connections of callbacks", "memory on "]),
        (("--scheduler", "tcp://127.0.0.1:9"), ["dask scheduler"]),
    ],
)
def test_what_cannot_be_held_is_refused_before_anything_starts(
    arguments: tuple[str, ...],
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hold, "CONNECT_S", 0.2)
    results = tmp_path / "results"
    assert fleet(*arguments, "--out", str(results)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert all(word in line for word in words)
    assert not results.exists()


@pytest.mark.slow
def test_two_hosts_on_one_machine_are_refused_in_one_line(
    lasting: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    booted(lasting.address, "once", "once")
    try:
        assert fleet("--plan", "--scheduler", lasting.address) == 2
    finally:
        booted(lasting.address, *HOSTS)
    (line,) = capsys.readouterr().err.splitlines()
    assert "one dask worker on each machine; there are 127.0.0.2:" in line


def started(results: Path, *more: str) -> subprocess.Popen[str]:
    """A fleet with a slow ramp, in a process of its own."""
    words = ("--connections", "2000", "--ramp", "50", "--out", str(results), *more)
    return subprocess.Popen(
        [sys.executable, "-c", IMPATIENT, "study", "fleet", *words],
        cwd=ROOT,
        env=small.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    )


def begun(cluster: Cluster, results: Path, *more: str) -> subprocess.Popen[str]:
    """A fleet of a cluster in the middle of its ramp."""
    process = started(results, "--scheduler", cluster.address, *more)

    def opened() -> bool:
        assert process.poll() is None, process.communicate()[0]
        crew = cluster.children("bench.sides.worker")
        return len(crew) == 2 and all(len(one.net_connections("tcp4")) > 5 for one in crew)

    wait_for(opened, "nothing is opened")
    return process


@pytest.mark.slow
@pytest.mark.parametrize(
    ("victim", "how"),
    [("worker", signal.SIGKILL), ("host", signal.SIGKILL), ("host", signal.SIGSTOP)],
)
def test_what_is_lost_voids_the_trial_and_is_named_and_the_rest_stops(
    victim: str, how: signal.Signals, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Who loses a worker goes on with the next trial."""
    cluster: Cluster = request.getfixturevalue("lasting" if victim == "worker" else "cluster")
    with begun(cluster, tmp_path / "results") as process:
        crew = cluster.children("bench.sides.worker")
        process.send_signal(signal.SIGUSR1)
        os.kill(crew[0].pid if victim == "worker" else cluster.workers[0].pid, how)
        printed = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == 1, printed
    (trial,) = last(tmp_path / "results").samples
    reason = trial.reason or ""
    assert trial.status == "void"
    assert trial.part is not None
    assert sum(host.host in reason for host in trial.part.hosts) == 1, reason
    assert ("killed by SIGKILL" in reason and "worker " in reason) == (victim == "worker")
    # The other host has stopped; the lost one's processes end with it, or when it is back.
    other = psutil.Process(cluster.workers[1].pid)
    wait_for(lambda: not other.children(), "the other host goes on")
    if victim == "host":
        cluster.workers[0].send_signal(signal.SIGCONT)
    assert small.all_gone([*crew, *cluster.children("server")])


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_stops_every_process(times: int, tmp_path: Path) -> None:
    with started(tmp_path) as process:
        children: list[psutil.Process] = []

        def working() -> bool:
            children[:] = small.family(process.pid)
            return any(small.runs(child, "bench.sides.worker") for child in children)

        wait_for(working, "no worker")
        os.killpg(process.pid, signal.SIGINT)
        if times == 2:
            alive = psutil.Process.is_running
            wait_for(lambda: process.poll() is not None or not all(map(alive, children)), "all run")
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
        printed = process.communicate(timeout=PATIENCE_S)[0]
    # The second may come when everything is over, and nothing is left to clean up.
    assert process.returncode in (130, -signal.SIGINT)[:times], printed
    assert "Traceback" not in printed, printed
    assert small.all_gone(children)
