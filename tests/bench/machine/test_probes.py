"""Probes: parsers on captured text, noise of the host, kernel counters, and the environment."""

from __future__ import annotations

import json
import shutil
import socket
import string
import subprocess
import sys
import time
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType, SimpleNamespace

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.launch import ROOT
from bench.machine import build, cpu, environment, host, interpreters, procfs
from bench.machine.procfs import Slab
from bench.schema import Environment
from bench.text import KIB
from tests.bench.fake_root import NETSTAT, SLABINFO, SNMP, put

NAME = string.ascii_letters + "_"


class TestParsers:
    def test_each_reads_its_kind_of_file(self) -> None:
        text = "Pss_Anon:   112 kB\nThreads:\t4\nName:\tcat\n55dc3347b000-7f ---p [rollup]\n\n"
        assert procfs.kib_fields(text) == {"Pss_Anon": 112 * KIB, "Threads": 4}
        groups = procfs.paired_lines(NETSTAT)
        assert groups["TcpExt"]["ListenOverflows"] == 2641
        assert groups["IpExt"] == {"InNoRoutes": 0}
        assert procfs.paired_lines("TcpExt: A B C\nTcpExt: 1 2\n") == {}  # truncated
        text = "sockets: used 14\nTCP: inuse 5 orphan 1 tw 3 alloc 6 mem 33\n"
        assert procfs.sockstat(text)["TCP"]["tw"] == 3
        slabs = procfs.slabinfo(SLABINFO)
        assert slabs["TCP"] == Slab(active=26, size=2368)
        assert "broken" not in slabs

    @pytest.mark.parametrize(
        ("text", "cores"), [("0-3,8\n", [0, 1, 2, 3, 8]), ("1", [1]), ("", []), ("0,0-1", [0, 1])]
    )
    def test_processor_list(self, text: str, cores: list[int]) -> None:
        assert procfs.processor_list(text) == cores

    @given(st.text())
    def test_no_text_upsets_a_parser(self, text: str) -> None:
        """Other kernels may print anything: the parsers find nothing and raise nothing."""
        for parse in (
            procfs.kib_fields,
            procfs.paired_lines,
            procfs.sockstat,
            procfs.slabinfo,
            procfs.cgroup_mounts,
            procfs.cgroup_membership,
            build.configure_flags,
        ):
            parse(text)


class TestCgroups:
    @pytest.mark.parametrize(
        ("files", "quota", "throttled", "memory", "left", "tasks"),
        [
            (
                {
                    "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
                    "proc/self/cgroup": "0::/user.slice/run\n",
                    "sys/fs/cgroup/user.slice/run/cpu.max": "max 100000\n",
                    "sys/fs/cgroup/user.slice/cpu.max": "200000 100000\n",  # binds too
                    "sys/fs/cgroup/user.slice/cpu.stat": "nr_throttled 2\nthrottled_usec 70\n",
                    "sys/fs/cgroup/user.slice/memory.max": "1000000\n",
                    "sys/fs/cgroup/user.slice/memory.stat": "anon 300000\nfile 600000\n",
                    "sys/fs/cgroup/user.slice/pids.max": "100\n",
                    "sys/fs/cgroup/user.slice/pids.current": "30\n",
                },
                *(2.0, 70, 1_000_000, 700_000, 70),
            ),
            (
                {
                    "proc/self/mounts": "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
                    "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n"
                    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
                    # The second is the host's path.
                    "proc/self/cgroup": "4:memory:/a\n1:cpu,cpuacct:/elsewhere\n0::/c\n",
                    "sys/fs/cgroup/memory/a/memory.limit_in_bytes": f"{(1 << 63) - 4096}\n",
                    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
                    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
                    "sys/fs/cgroup/cpu/cpu.stat": "nr_throttled 2\nthrottled_time 70999\n",
                },
                *(0.5, 70, None, None, None),
            ),
            (
                {
                    "proc/self/mounts": "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n",
                    "proc/self/cgroup": "1:cpu:/\n",
                    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
                },
                *[None] * 5,
            ),
            ({}, *[None] * 5),
        ],
        ids=["version 2", "version 1", "no quota", "none at all"],
    )
    def test_the_tightest_limit_of_all_groups_counts(
        self,
        files: dict[str, str],
        quota: float | None,
        throttled: int | None,
        memory: int | None,
        left: int | None,
        tasks: int | None,
        empty: Path,
    ) -> None:
        for path, text in files.items():
            put(empty, path, text)
        assert (procfs.cpu_quota(), host.counters()["throttled_us"]) == (quota, throttled)
        assert (procfs.memory_limit(), procfs.memory_left()) == (memory, left)
        assert procfs.tasks_left() == tasks


KIND = st.sampled_from(("with", "enable"))
OPTION = st.text("abcz", min_size=1, max_size=8)
PATH = st.text("az/", min_size=1, max_size=10).map("=/{}".format)


class TestKernel:
    def test_counters(self, empty: Path) -> None:
        assert set(host.counters().values()) == {None}
        put(empty, "proc/net/netstat", NETSTAT)
        put(empty, "proc/net/snmp", SNMP)
        found = host.counters()
        assert found["ListenOverflows"] == 2641
        assert found["ActiveOpens"] == 10
        assert found["TCPSynRetrans"] is None  # this kernel does not have it
        assert set(found) == {*host.NETSTAT, "throttled_us"}

    def test_delta(self) -> None:
        found = host.delta({"a": 1, "b": None, "c": 3}, {"a": 5, "b": 2, "c": None, "d": 1})
        assert found == {"a": 4, "b": None, "c": None, "d": None}

    def test_connections_are_counted(self) -> None:
        before = host.counters()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            for _ in range(5):
                with socket.create_connection(listener.getsockname()):
                    listener.accept()[0].close()
        gained = host.delta(before, host.counters())
        assert (gained["ActiveOpens"] or 0) >= 5
        assert (gained["PassiveOpens"] or 0) >= 5

    def test_drain_waits_where_there_is_something_to_wait_for(
        self, empty: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slept = []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            put(empty, "proc/net/sockstat", "TCP: inuse 5 orphan 0 tw 7 alloc 6 mem 1\n")

        monkeypatch.setattr(time, "sleep", sleep)
        host.drain(20, below=10)  # the kernel says nothing
        assert not slept
        put(empty, "proc/net/sockstat", "TCP: inuse 5 orphan 2 tw 300 alloc 6 mem 1\n")
        host.drain(20, below=10)
        assert len(slept) == 1


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

    def test_what_is_missing_has_a_reason(self, tmp_path: Path, empty: Path) -> None:
        found = environment.collect(tmp_path)
        assert (found.commit, found.dirty, found.cpu_quota) == (None, None, None)
        assert "git" in found.reasons["commit"]
        assert {"dirty", "cpu_quota"} <= found.reasons.keys()
        for name, value in found.limits.items():
            assert value is not None or f"limits.{name}" in found.reasons

    @pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
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


# --- the lock of an interpreter, and whom it suspects --------------------------------------

FREE = "3.14.2 free-threading build (main, Nov 25 2026, 14:33:24) [GCC 12.2.0]"


def extension(name: str) -> ModuleType:
    module = ModuleType(name)
    module.__loader__ = ExtensionFileLoader(name, f"/nowhere/{name}.so")
    return module


def made_free(monkeypatch: pytest.MonkeyPatch, *, lock: bool, asked: int | None = None) -> None:
    monkeypatch.setattr(sys, "version", FREE)
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: lock, raising=False)
    # An ordinary build from 3.13 on has 1 there.
    monkeypatch.setattr(sys, "flags", SimpleNamespace(gil=asked))


def test_a_lock_that_is_off_and_one_that_every_build_has_need_no_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if sys.version_info < (3, 13):
        assert build.locked_by() == ""
    monkeypatch.setattr(sys, "version", FREE.replace(" free-threading build", ""))
    assert build.locked_by() == ""
    made_free(monkeypatch, lock=False)
    assert build.locked_by() == ""
    assert build.gil() == "disabled"


def test_modules_that_can_have_switched_it_on_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made_free(monkeypatch, lock=True)
    plain = {name: sys.modules[name] for name in ("sys", "json", "bench.machine.build")}
    monkeypatch.setattr(sys, "modules", {**plain, "_ssl": extension("_ssl")})
    assert build.locked_by() == "an unknown module"
    for name in ("zlibber", "uvloop.loop", "uvloop.other"):
        sys.modules[name] = extension(name)
    assert build.locked_by() == "uvloop, zlibber"


def test_whoever_asked_for_the_lock_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made_free(monkeypatch, lock=True, asked=1)
    assert build.locked_by() == "PYTHON_GIL=1 or -X gil=1"


def free_threaded() -> Path:
    there = interpreters.find()[0]
    found = [each.path for each in there if each.record.build.get("free_threaded_build")]
    return found[0] if found else pytest.skip("no free-threaded CPython on PATH or under pyenv")


@pytest.mark.slow
@pytest.mark.parametrize(("options", "by"), [((), ""), (("-X", "gil=1"), "PYTHON_GIL=1 or")])
def test_a_free_threaded_interpreter_says_so_itself(options: tuple[str, ...], by: str) -> None:
    code = "from bench.machine import build; print(build.locked_by())"
    command = [str(free_threaded()), *interpreters.ALONE, *options, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(by or "\n")
