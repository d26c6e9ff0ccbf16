"""The same command across three hosts, and one of them cut off in the middle of a ramp.

The hosts are network namespaces (iproute2, root); a bridge in a namespace of its own joins them, so
nothing of the machine's own network is touched. Host 1 runs the coordinator and the scheduler;
hosts 2 and 3 work. ``sudo python -m pytest tests/bench/fleet/test_network.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bench.fleet import records
from bench.fleet.records import FleetRecords
from bench.launch import ROOT
from tests.bench import small
from tests.bench.fleet.conftest import PATIENCE_S, started, wait_for

ANSWER_S = 3.0


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=300)


class Network:
    """The namespaces; host ``n`` has the address ``10.77.0.n``, from 1."""

    def __init__(self, name: str, count: int) -> None:
        self.name = name
        self.count = count
        self.scheduler = ""

    def space(self, host: int) -> str:
        """The namespace of a host; 0 is the bridge's."""
        return f"{self.name}-{host}"

    def address(self, host: int) -> str:
        return f"10.77.0.{host}"

    def inside(self, host: int, *command: str) -> list[str]:
        """A command as it runs on a host."""
        return ["ip", "netns", "exec", self.space(host), *command]

    def cut(self, host: int) -> None:
        """Unplug the host: all its packets are lost from now on."""
        ip("-n", self.space(0), "link", "set", f"to{host}", "down")

    def up(self) -> None:
        ip("netns", "add", self.space(0))
        ip("-n", self.space(0), "link", "add", "bridge", "type", "bridge")
        ip("-n", self.space(0), "link", "set", "bridge", "up")
        for host in range(1, self.count + 1):
            own, far = self.space(host), f"to{host}"
            ip("netns", "add", own)
            ip("-n", own, "link", "set", "lo", "up")
            ip("-n", own, "link", "add", "eth0", "type", "veth", "peer", far)
            ip("-n", own, "link", "set", far, "netns", self.space(0))
            ip("-n", self.space(0), "link", "set", far, "master", "bridge", "up")
            ip("-n", own, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
            ip("-n", own, "link", "set", "eth0", "up")

    def down(self) -> None:
        for host in range(self.count + 1):
            with suppress(subprocess.CalledProcessError):
                ip("netns", "del", self.space(host))


@contextmanager
def network(count: int) -> Iterator[Network]:
    made = Network(f"fleet{os.getpid()}", count)
    try:
        made.up()
        yield made
    finally:
        made.down()


def missing() -> str | None:
    """Why this machine cannot do it, None when it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "no ip (iproute2)"
    try:
        with network(1):
            return None
    except subprocess.CalledProcessError as error:
        return f"no network namespaces here: {error.stderr.decode().strip()}"


WHY_NOT = missing()
pytestmark = [
    pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or ""),
    pytest.mark.timeout(600),
    pytest.mark.slow,
]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Network]:
    """Three hosts with a dask cluster on them."""
    with network(3) as made:
        addresses = [made.address(host) for host in range(4)]
        with started(tmp_path, made.inside, addresses) as cluster:
            made.scheduler = cluster.address
            yield made


def hold(hosts: Network, results: Path, *arguments: str) -> subprocess.Popen[str]:
    """The same command as on one machine, with the cluster's address."""
    words = (sys.executable, "-m", "bench", "fleet", "hold", "--scheduler", hosts.scheduler)
    more = ("--results", str(results), "--answer", f"{ANSWER_S:g}", *arguments)
    return subprocess.Popen(
        hosts.inside(1, *words, *more), cwd=ROOT, env=small.environment(),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def loaded(results: Path) -> FleetRecords:
    (folder,) = results.glob("fleet-*")
    return records.load(folder)


def established(hosts: Network, host: int) -> int:
    """The number of established connections on a host."""
    cat = hosts.inside(host, "cat", "/proc/net/sockstat")
    done = subprocess.run(cat, capture_output=True, text=True, timeout=300)
    words = done.stdout.partition("TCP: inuse ")[2].split()
    return int(words[0]) if words else 0


def test_connections_are_held_across_hosts_and_a_lost_host_is_noticed(
    hosts: Network, tmp_path: Path
) -> None:
    wait_for(lambda: all(established(hosts, host) >= 2 for host in (2, 3)))
    with hold(hosts, tmp_path / "whole", "--connections", "600") as process:
        printed = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == 0, printed
    found = loaded(tmp_path / "whole")
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
    (trial,) = loaded(tmp_path / "cut").trials
    assert trial.status == "void"
    assert hosts.address(3) in (trial.reason or "")
    assert f"no answer for {ANSWER_S:g} s" in (trial.reason or "")
    assert noticed_s < 4000 / 50, "long before the end of the ramp"
    assert [left.host.partition(":")[0] for left in trial.left_behind] == [hosts.address(2)]
