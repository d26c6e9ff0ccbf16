"""The doctor: every check, its effect and fix, and what is refused with which numbers."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import ssl
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.machine import cpu, doctor
from bench.machine.doctor import CheckResult, Needs
from tests.bench.fake_root import put
from tests.torture import limits

LEVELS = {"ok", "note", "warning", "refusal"}


def find(results: Iterator[CheckResult], check: str) -> CheckResult:
    """The only result of that check."""
    found = [result for result in results if result.check == check]
    assert len(found) == 1, found
    return found[0]


@pytest.fixture(autouse=True)
def own_limits() -> Iterator[None]:
    """Restore the descriptor limit of this process, which tests may change."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_every_result_that_is_not_ok_has_an_effect() -> None:
    results = doctor.examine(Needs(10**7, 10**7))
    assert {result.level for result in results} <= LEVELS
    for result in results:
        assert result.check
        assert result.found
        if result.level != "ok":
            assert result.effect, result
        if result.level in ("warning", "refusal"):
            assert result.fix, result


@pytest.mark.parametrize(
    ("variables", "level", "words"),
    [
        ({"CONFIG_ARGS": "'--enable-shared'"}, "note", "does not say"),  # Debian's own
        ({}, "note", "does not say"),
        (
            {"CONFIG_ARGS": "'--prefix=/x'", "PGO_PROF_USE_FLAG": "-fprofile-use"},
            "note",
            "built without",
        ),
        (
            {"CONFIG_ARGS": "--enable-optimizations", "PGO_PROF_USE_FLAG": "-fprofile-use"},
            "ok",
            "built with profile",
        ),
        ({"Py_DEBUG": 1}, "warning", "debug"),
    ],
)
def test_a_build_that_does_not_say_is_not_said_to_be_slow(
    variables: dict[str, object], level: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's interpreter was "built without profile-guided optimisation"; it does not tell."""
    monkeypatch.setattr(sysconfig, "get_config_vars", lambda: variables)
    monkeypatch.delattr(sys, "gettotalrefcount", raising=False)
    found = find(doctor.check_interpreter(Needs()), "interpreter")
    assert (found.level, words in found.found) == (level, True), found
    assert f"CPython {platform.python_version()}, interpreter lock " in found.found


def test_every_finding_is_used_and_says_what_to_do() -> None:
    source = Path(doctor.__file__).read_text(encoding="utf-8")
    for case, said in doctor.FINDINGS.items():
        assert f'"{case}"' in source
        assert said.fix or said.level == "note", case


def test_a_small_workload_is_not_refused() -> None:
    assert doctor.refuse(Needs(10, 10)) is None


def test_an_impossible_one_is_refused_with_the_number_needed() -> None:
    reason = doctor.refuse(Needs(10**8))
    assert reason is not None
    assert f"{10**8:,}" in reason or f"{10**8 + doctor.SPARE_DESCRIPTORS:,}" in reason


def test_the_quick_profile_is_covered() -> None:
    """By default, ``doctor`` checks for enough connections for the default profile."""
    profiles = pytest.importorskip("bench.plan.profiles")
    points = profiles.profile("quick").points
    assert max(point.slots for point in points) <= doctor.QUICK_CONNECTIONS


class TestDescriptors:
    def test_the_soft_limit_is_raised(self) -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        before, after = doctor.raise_descriptor_limit()
        assert before == 256
        assert after > 256
        assert doctor.raise_descriptor_limit() == (after, after)

    def test_raising_is_reported(self) -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        result = find(doctor.check_descriptors(Needs(10)), "descriptors")
        assert result.level == "ok"
        assert "raised from 256" in result.found

    def test_too_few_for_the_machine(self, empty: Path) -> None:
        put(empty, "proc/sys/fs/file-max", "1000\n")
        put(empty, "proc/sys/fs/file-nr", "900\t0\t1000\n")
        result = find(doctor.check_descriptors(Needs(10)), "files")
        assert result.level == "refusal"


class TestPorts:
    RANGE = "proc/sys/net/ipv4/ip_local_port_range"

    def test_enough(self, empty: Path) -> None:
        put(empty, self.RANGE, "32768\t60999\n")
        assert find(doctor.check_ports(Needs(10_000)), "ports").level == "ok"

    def test_time_wait_is_a_nuisance_not_a_limit(self, empty: Path) -> None:
        """It holds a port for one server port only: there may be more of them than ports."""
        put(empty, self.RANGE, "32768\t60999\n")
        put(empty, "proc/net/sockstat", "TCP: inuse 1 orphan 0 tw 48152 alloc 1 mem 1\n")
        result = find(doctor.check_ports(Needs(10_000)), "ports")
        assert result.level == "note"
        assert "48,152 in TIME_WAIT" in result.found

    def test_too_few(self, empty: Path) -> None:
        put(empty, self.RANGE, "32768\t60999\n")
        assert find(doctor.check_ports(Needs(100_000)), "ports").level == "refusal"


class TestThreads:
    def test_the_tightest_limit_is_named(self, empty: Path) -> None:
        put(empty, "proc/loadavg", "0.07 0.20 0.18 1/89 23069\n")
        put(empty, "proc/sys/kernel/threads-max", "192730\n")
        put(empty, "proc/sys/kernel/pid_max", "32768\n")
        put(empty, "proc/sys/vm/max_map_count", "65530\n")
        result = find(doctor.check_threads(Needs(threads=1000)), "threads")
        assert result.level == "ok"
        assert "max_map_count" in result.found
        refused = [f for f in doctor.check_threads(Needs(threads=40_000)) if f.level == "refusal"]
        assert len(refused) == 2
        assert all("40,064 needed" in result.found for result in refused)

    def test_control_group(self, empty: Path) -> None:
        put(empty, "proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
        put(empty, "proc/self/cgroup", "0::/\n")
        put(empty, "sys/fs/cgroup/pids.max", "100\n")
        put(empty, "sys/fs/cgroup/pids.current", "30\n")
        result = find(doctor.check_threads(Needs(threads=100)), "threads")
        assert "pids.max leaves room for 70" in result.found

    def test_a_limit_of_the_user(self, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        monkeypatch.setattr(resource, "getrlimit", lambda which: (500, 500))
        result = find(doctor.check_threads(Needs(threads=1000)), "threads")
        assert result.level == "refusal"
        assert "RLIMIT_NPROC" in result.found

    def test_strict_overcommit(self, empty: Path) -> None:
        put(empty, "proc/sys/vm/overcommit_memory", "2\n")
        put(empty, "proc/meminfo", "CommitLimit: 1048576 kB\nCommitted_AS: 0 kB\n")
        result = find(doctor.check_threads(Needs(threads=1000)), "threads")
        assert "strict overcommit leaves room for 128 threads" in result.found


class TestNoise:
    def test_governor_and_turbo(self, empty: Path) -> None:
        assert find(doctor.check_frequency(), "frequency").level == "note"
        put(empty, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
        put(empty, "sys/devices/system/cpu/intel_pstate/no_turbo", "0\n")
        assert find(doctor.check_frequency(), "frequency").level == "warning"
        assert find(doctor.check_frequency(), "turbo").level == "note"
        put(empty, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n")
        assert find(doctor.check_frequency(), "frequency").level == "ok"

    def test_load(self, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "getloadavg", lambda: (3.0, 1.0, 1.0))
        assert find(doctor.check_noise(Needs()), "load").level == "warning"
        monkeypatch.setattr(os, "getloadavg", lambda: (0.1, 1.0, 1.0))
        assert find(doctor.check_noise(Needs()), "load").level == "ok"

    def test_huge_pages(self, empty: Path) -> None:
        path = "sys/kernel/mm/transparent_hugepage/enabled"
        put(empty, path, "[always] madvise never\n")
        assert find(doctor.check_paging(), "huge pages").level == "warning"
        put(empty, path, "always [madvise] never\n")
        assert find(doctor.check_paging(), "huge pages").found.endswith("madvise")

    def test_memory_that_is_paged_out(self, empty: Path) -> None:
        put(empty, "sys/kernel/mm/damon/admin/kdamonds/0/state", "on\n")
        assert find(doctor.check_paging(), "cold memory").level == "note"

    def test_quota(self, empty: Path) -> None:
        put(empty, "proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
        put(empty, "proc/self/cgroup", "0::/\n")
        put(empty, "sys/fs/cgroup/cpu.max", "150000 100000\n")
        result = find(doctor.check_processors(Needs()), "quota")
        assert result.level == "warning"
        assert "1.5" in result.found


@pytest.mark.parametrize(("count", "said"), [(1, True), (2, True), (4, False), (8, False)])
def test_few_processors_say_what_more_would_add(
    monkeypatch: pytest.MonkeyPatch, count: int, said: bool
) -> None:
    monkeypatch.setattr(cpu, "usable_cores", lambda: list(range(count)))
    notes = [r for r in doctor.check_processors(Needs()) if r.check == "all processors"]
    assert [(r.level, "4 or more" in (r.fix or "")) for r in notes] == [("note", True)] * said


def test_backlog_and_conntrack(empty: Path) -> None:
    put(empty, "proc/sys/net/core/somaxconn", "4096\n")
    put(empty, "proc/sys/net/netfilter/nf_conntrack_max", "5000\n")
    assert find(doctor.check_backlog(Needs(1000)), "backlog").level == "ok"
    results = list(doctor.check_backlog(Needs(10_000)))
    assert [result.level for result in results] == ["warning", "warning"]


def test_memory_needed(empty: Path) -> None:
    assert find(doctor.check_memory(Needs()), "memory").level == "ok"
    assert find(doctor.check_memory(Needs(connections=10**9)), "memory").level == "refusal"


def test_tls_says_which_version_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python without ssl is possible; one whose OpenSSL is too old, too."""
    assert find(doctor.check_tls(Needs()), "TLS").level == "ok"
    monkeypatch.setattr(ssl, "HAS_TLSv1_3", False)
    old = find(doctor.check_tls(Needs()), "TLS")
    assert (old.level, "has no TLS 1.3" in old.found) == ("warning", True)
    monkeypatch.setitem(sys.modules, "ssl", None)
    assert "no ssl module" in find(doctor.check_tls(Needs()), "TLS").found


def test_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, level in ((1 << 40, "ok"), (100 << 20, "warning"), (1 << 20, "refusal")):
        usage = type("usage", (), {"free": free})
        monkeypatch.setattr(shutil, "disk_usage", lambda path, usage=usage: usage)
        assert find(doctor.check_disk(Needs()), "disk").level == level


def test_slabinfo_out_of_reach(empty: Path) -> None:
    put(empty, "proc/self/status", "Threads: 1\n")
    put(empty, "proc/self/smaps_rollup", "Pss_Anon: 1 kB\n")
    result = find(doctor.check_platform(Needs()), "proc")
    assert result.level == "note"
    assert "root" in result.fix


def test_without_proc(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS: nothing raises, and an unknown is a note, not a warning."""
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    results = doctor.examine(Needs(100, 100))
    assert find(iter(results), "proc").level == "note"
    assert find(iter(results), "ports").level == "note"
    assert find(iter(results), "processors").level == "warning"
    assert not [result for result in results if result.level == "refusal"]


QUICK = ("threads", "memory", "disk", "read-only results", "no /proc")
"""Some that refuse, which takes a moment; others measure something first."""

CASES = [case for case in limits.CASES if case.name in QUICK]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_campaign_is_refused_in_a_line(case: limits.Case, tmp_path: Path) -> None:
    if reason := limits.why_not(case):
        pytest.skip(reason)
    limits.campaign(case, tmp_path)
