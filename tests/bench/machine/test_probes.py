"""Noise of the host, kernel counters, and the description of the environment."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.machine.probes import build, cpu, environment, host, kernel
from bench.schema import Environment, HostNoise
from tests.bench.fake_root import NETSTAT, SNMP, put

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

KIND = st.sampled_from(("with", "enable"))
OPTION = st.text("abcz", min_size=1, max_size=8)
PATH = st.text("az/", min_size=1, max_size=10).map("=/{}".format)


class TestHost:
    def test_record(self) -> None:
        noise = host.finish(host.start())
        assert isinstance(noise, HostNoise)
        assert noise.probe_before_s > 0
        assert noise.probe_after_s > 0
        assert noise.steal_s is None or noise.steal_s >= 0

    def test_the_loop_is_the_same_work_every_time(self) -> None:
        assert host.loop(1000) == host.loop(1000)

    def test_steal(self) -> None:
        assert host.parse_steal("cpu  14019 0 16558 2186313 1389 0 666 8818 0 0\n") == 8818
        assert host.parse_steal("cpu 1 2 3\n") is None

    def test_mhz(self, empty: Path) -> None:
        assert host.mhz() is None
        put(empty, "proc/cpuinfo", "cpu MHz\t\t: 2000.0\ncpu MHz : 3000.0\n")
        assert host.mhz() == 2500.0
        path = "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
        put(empty, path, "1800000\n")
        assert host.mhz() == 1800.0

    def test_without_proc(self, empty: Path) -> None:
        noise = host.finish(host.start())
        assert noise.steal_s is None
        assert noise.mhz is None


class TestKernel:
    def test_counters(self) -> None:
        found = kernel.parse_counters(NETSTAT, SNMP)
        assert found["ListenOverflows"] == 2641
        assert found["ActiveOpens"] == 10
        assert found["TCPSynRetrans"] is None  # this kernel does not have it
        assert set(found) == set(kernel.NETSTAT)

    def test_delta(self) -> None:
        before = {"a": 1, "b": None, "c": 3}
        assert kernel.delta(before, {"a": 5, "b": 2, "c": None, "d": 1}) == {
            "a": 4,
            "b": None,
            "c": None,
            "d": None,
        }

    @LINUX
    def test_connections_are_counted(self) -> None:
        before = kernel.counters()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            for _ in range(5):
                with socket.create_connection(listener.getsockname()):
                    listener.accept()[0].close()
        gained = kernel.delta(before, kernel.counters())
        assert (gained["ActiveOpens"] or 0) >= 5
        assert (gained["PassiveOpens"] or 0) >= 5
        assert all(
            isinstance(value, int) for value in (kernel.time_wait(), kernel.sockets_in_use())
        )

    def test_without_proc(self, empty: Path) -> None:
        assert set(kernel.counters().values()) == {None}
        assert kernel.time_wait() is None
        assert kernel.sockets_in_use() is None
        left = kernel.drain(5)
        assert left.drained
        assert left.time_wait is None
        assert left.sockets == 0

    def test_drain_waits_and_tells(self, empty: Path) -> None:
        put(empty, "proc/net/sockstat", "TCP: inuse 5 orphan 2 tw 300 alloc 6 mem 1\n")
        seen: list[int] = []

        def progress(left: int, waited_s: float) -> None:
            seen.append(left)
            if len(seen) == 2:
                put(empty, "proc/net/sockstat", "TCP: inuse 5 orphan 0 tw 7 alloc 6 mem 1\n")

        left = kernel.drain(20, below=10, progress=progress)
        assert left.drained
        assert (left.time_wait, left.orphans) == (7, 0)
        assert seen == [302, 302]

    def test_drain_stops_at_its_deadline(self, empty: Path) -> None:
        put(empty, "proc/net/sockstat", "TCP: inuse 5 orphan 0 tw 300 alloc 6 mem 1\n")
        left = kernel.drain(0.15, below=10)
        assert not left.drained
        assert left.sockets == 300


class TestEnvironment:
    @pytest.fixture(scope="class")
    @staticmethod
    def here() -> Environment:
        return environment.collect(Path(__file__).resolve().parents[3])

    def test_tells_who_nothing(self, here: Environment) -> None:
        """No host name, no user, no path: the record is published."""
        text = here.model_dump_json()
        assert socket.gethostname() not in text.replace(here.os, "")
        for path in {str(Path.home()), sys.prefix, sys.base_prefix, str(Path.cwd())} - {"/"}:
            assert path not in text

    def test_versions_and_limits(self, here: Environment) -> None:
        assert here.packages["psutil"] == psutil.__version__
        assert here.python.endswith(sys.version.split()[0])
        assert here.cpu_count == len(cpu.usable_cores())
        assert here.memory_total_bytes == psutil.virtual_memory().total
        assert here.limits["nofile_soft"] is not None
        assert here.python_build["debug"] is hasattr(sys, "gettotalrefcount")
        json.loads(here.model_dump_json())

    def test_what_is_missing_has_a_reason(self, empty: Path) -> None:
        found = environment.collect(None)
        assert found.commit is None
        assert found.reasons["commit"] == "no repository given"
        for name, value in found.limits.items():
            assert value is not None or f"limits.{name}" in found.reasons
        assert found.cpu_quota is None
        assert "cpu_quota" in found.reasons

    def test_a_folder_that_is_no_repository(self, tmp_path: Path) -> None:
        found = environment.collect(tmp_path)
        assert found.commit is None
        assert "git" in found.reasons["commit"]

    def test_results_do_not_make_it_dirty(self, tmp_path: Path) -> None:
        def git(*arguments: str) -> None:
            identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
            subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True)

        git("init", "-q")
        put(tmp_path, "code.py", "1\n")
        git("add", ".")
        git("commit", "-qm", "x")
        put(tmp_path, "results/trials.jsonl", "{}\n")
        clean = environment.collect(tmp_path)
        assert clean.dirty is False
        assert clean.commit is not None
        assert len(clean.commit) >= 40
        put(tmp_path, "code.py", "2\n")
        assert environment.collect(tmp_path).dirty is True

    @pytest.mark.parametrize(
        ("text", "flags"),
        [
            (
                "'--prefix=/home/me/py' '--enable-optimizations' '--with-lto=full' 'CC=/opt/gcc'",
                "--enable-optimizations --with-lto=full",
            ),
            ("--with-openssl=/home/me/ssl --disable-gil", "--with-openssl=… --disable-gil"),
            ("'--with-unclosed", ""),
            ("", ""),
        ],
    )
    def test_configure_flags(self, text: str, flags: str) -> None:
        assert build.configure_flags(text) == flags

    @given(st.lists(st.builds("--{}-{}{}".format, KIND, OPTION, st.just("") | PATH)))
    def test_no_path_survives(self, words: list[str]) -> None:
        assert "/" not in build.configure_flags(" ".join(words))
