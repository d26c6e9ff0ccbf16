"""Parsers of /proc, /sys and control groups, on captured text."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.machine.probes import build, cgroups, host, kernel, procfs
from bench.machine.probes.cgroups import KernelMemory
from bench.machine.probes.memory import free, processes
from bench.machine.probes.procfs import Slab
from bench.text import KIB
from tests.bench.fake_root import NETSTAT, SLABINFO, put

NAME = string.ascii_letters + "_"


class TestParsers:
    def test_kib_fields(self) -> None:
        text = "Pss_Anon:   112 kB\nThreads:\t4\nName:\tcat\n55dc3347b000-7f ---p [rollup]\n\n"
        assert procfs.kib_fields(text) == {"Pss_Anon": 112 * KIB, "Threads": 4}

    def test_paired_lines(self) -> None:
        groups = procfs.paired_lines(NETSTAT)
        assert groups["TcpExt"]["ListenOverflows"] == 2641
        assert groups["IpExt"] == {"InNoRoutes": 0}

    def test_a_truncated_pair_is_left_out(self) -> None:
        assert procfs.paired_lines("TcpExt: A B C\nTcpExt: 1 2\n") == {}

    def test_sockstat(self) -> None:
        text = "sockets: used 14\nTCP: inuse 5 orphan 1 tw 3 alloc 6 mem 33\n"
        assert procfs.sockstat(text)["TCP"]["tw"] == 3

    def test_slabinfo(self) -> None:
        found = procfs.slabinfo(SLABINFO)
        assert found["TCP"] == Slab(active=26, size=2368, per_slab=13)
        assert found["TCP"].bytes == 26 * 2368
        assert "broken" not in found

    @pytest.mark.parametrize(
        ("text", "cores"), [("0-3,8\n", [0, 1, 2, 3, 8]), ("1", [1]), ("", []), ("0,0-1", [0, 1])]
    )
    def test_processor_list(self, text: str, cores: list[int]) -> None:
        assert procfs.processor_list(text) == cores

    @given(st.sets(st.integers(0, 500)))
    def test_processor_list_reads_what_was_written(self, cores: set[int]) -> None:
        assert procfs.processor_list(",".join(map(str, cores))) == sorted(cores)

    @given(
        st.dictionaries(
            st.text(NAME, min_size=1, max_size=20), st.integers(0, 1 << 40), max_size=20
        )
    )
    def test_kib_fields_reads_what_was_written(self, fields: dict[str, int]) -> None:
        text = "".join(f"{name}:  {value:8} kB\n" for name, value in fields.items())
        assert procfs.kib_fields(text) == {name: value * KIB for name, value in fields.items()}

    @given(
        st.dictionaries(
            st.text(NAME, min_size=1, max_size=16),
            st.integers(0, 1 << 60),
            min_size=1,
            max_size=30,
        )
    )
    def test_paired_lines_read_what_was_written(self, fields: dict[str, int]) -> None:
        values = " ".join(map(str, fields.values()))
        text = f"TcpExt: {' '.join(fields)}\nTcpExt: {values}\n"
        assert procfs.paired_lines(text) == {"TcpExt": fields}

    @given(st.text())
    def test_no_text_upsets_a_parser(self, text: str) -> None:
        """Other kernels may print anything: the parsers find nothing and raise nothing."""
        for parse in (
            procfs.kib_fields,
            procfs.paired_lines,
            procfs.sockstat,
            procfs.slabinfo,
            cgroups.mounts,
            cgroups.membership,
            host.parse_steal,
            host.parse_mhz,
            free.parse_cached_pages,
            build.configure_flags,
        ):
            parse(text)
        kernel.parse_counters(text, text)
        processes.stack_size(text, text, "unknown")
        free.machine_free(text, text, 4096)

    @pytest.mark.parametrize("text", ["²", "1_0 2", "x", "99999999999999999999999"])
    def test_odd_numbers(self, text: str) -> None:
        procfs.kib_fields(f"A: {text} kB")


class TestCgroups:
    def test_mounts_and_membership(self) -> None:
        mounts = cgroups.mounts(
            "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"
            "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
        )
        assert mounts["cpuacct"] == (1, "/sys/fs/cgroup/cpu,cpuacct")
        assert mounts[""] == (2, "/sys/fs/cgroup/unified")
        assert cgroups.membership("4:memory:/a/b\n0::/c\n") == {"memory": "/a/b", "": "/c"}

    @pytest.mark.parametrize(
        ("texts", "quota"),
        [
            (["max 100000"], None),
            (["150000 100000"], 1.5),
            (["400000 100000", "max 100000", "50000 100000"], 0.5),
            (["-1 100000"], None),
            ([""], None),
            ([], None),
        ],
    )
    def test_quota(self, texts: list[str], quota: float | None) -> None:
        assert cgroups.quota(texts) == quota

    def test_version_2(self, empty: Path) -> None:
        put(empty, "proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
        put(empty, "proc/self/cgroup", "0::/user.slice/run\n")
        put(empty, "proc/7/cgroup", "0::/user.slice/run\n")
        put(empty, "sys/fs/cgroup/user.slice/run/memory.stat", "anon 5\nslab 4096\n")
        put(empty, "sys/fs/cgroup/user.slice/run/cpu.max", "max 100000\n")
        put(empty, "sys/fs/cgroup/user.slice/cpu.max", "200000 100000\n")
        put(empty, "sys/fs/cgroup/user.slice/memory.max", "1000000\n")
        put(empty, "sys/fs/cgroup/user.slice/pids.max", "100\n")
        put(empty, "sys/fs/cgroup/user.slice/pids.current", "30\n")
        assert cgroups.kernel_memory(7) == KernelMemory(4096, "cgroup v2 memory.stat slab")
        assert cgroups.cpu_quota() == 2.0  # the group above binds too
        assert cgroups.memory_limit() == 1_000_000
        assert cgroups.tasks_left() == 70

    def test_version_1(self, empty: Path) -> None:
        put(
            empty,
            "proc/self/mounts",
            "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
            "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n",
        )
        put(empty, "proc/self/cgroup", "4:memory:/a\n1:cpu:/elsewhere\n")
        put(empty, "proc/7/cgroup", "4:memory:/a\n")
        put(empty, "sys/fs/cgroup/memory/a/memory.kmem.usage_in_bytes", "8192\n")
        put(empty, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", f"{(1 << 63) - 4096}\n")
        put(empty, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n")
        put(empty, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
        assert cgroups.kernel_memory(7) == KernelMemory(8192, "cgroup v1 kmem")
        assert cgroups.memory_limit() is None
        assert cgroups.cpu_quota() == 0.5  # the mount itself: the path is the host's

    def test_none_at_all(self, empty: Path) -> None:
        assert cgroups.find("memory") is None
        assert cgroups.kernel_memory(1) is None
        assert cgroups.cpu_quota() is None
        assert cgroups.memory_limit() is None
        assert cgroups.tasks_left() is None
