"""The doctor: every check, its effect and fix, and what is refused with which numbers."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import BenchError
from bench.machine import build, doctor, environment
from bench.machine.doctor import CheckResult, Needs
from tests.bench.fake_root import put
from tests.torture import limits

Check = Callable[[Needs], Iterator[CheckResult]]


def find(results: Iterator[CheckResult], check: str) -> CheckResult:
    found = [result for result in results if result.check == check]
    assert len(found) == 1, found
    return found[0]


@pytest.fixture(autouse=True)
def own_limits() -> Iterator[None]:
    """Restore the descriptor limit of this process, which tests may change."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_every_finding_is_used_and_says_what_to_do() -> None:
    source = Path(doctor.__file__).read_text(encoding="utf-8")
    for case, said in doctor.FINDINGS.items():
        assert f'"{case}"' in source
        assert said.effect, case
        assert said.fix, case
        assert said.level in doctor.COLOURS, case
        assert said.good or said.bad, case


def test_an_impossible_workload_is_refused_with_the_number_needed() -> None:
    assert doctor.refuse(Needs(10, 10)) is None
    reason = doctor.refuse(Needs(10**8)) or ""
    assert f"{10**8:,}" in reason or f"{10**8 + doctor.SPARE_DESCRIPTORS:,}" in reason


def test_the_quick_profile_is_covered() -> None:
    """``doctor`` refused a machine for 10,000 connections, of which quick holds 3,000."""
    profiles = pytest.importorskip("bench.plan.profiles")
    points = profiles.profile("quick").points
    assert max(point.slots for point in points) == doctor.QUICK_CONNECTIONS


RANGE = {"proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n"}
WAITING = {"proc/net/sockstat": "TCP: inuse 1 orphan 0 tw 48152 alloc 1 mem 1\n"}
IN_V2 = {
    "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
    "proc/self/cgroup": "0::/\n",
}
TASKS = {
    "proc/loadavg": "0.07 0.20 0.18 1/89 23069\n",
    "proc/sys/kernel/threads-max": "192730\n",
    "proc/sys/vm/max_map_count": "65530\n",
}
QUEUES = {
    "proc/sys/net/core/somaxconn": "4096\n",
    "proc/sys/net/netfilter/nf_conntrack_max": "5000\n",
}
FILES = {"proc/sys/fs/file-max": "1000\n", "proc/sys/fs/file-nr": "900\t0\t1000\n"}
WATCHES = {"proc/sys/fs/epoll/max_user_watches": "19\n"}
PIDS = IN_V2 | {"sys/fs/cgroup/pids.max": "100\n", "sys/fs/cgroup/pids.current": "30\n"}
GROUP = IN_V2 | {"sys/fs/cgroup/memory.max": "200000000\n"}
QUOTA = IN_V2 | {"sys/fs/cgroup/cpu.max": "150000 100000\n"}
GUEST = {"run/.containerenv": "", "proc/cpuinfo": "flags\t: fpu hypervisor lahf_lm\n"}
CPUS = "sys/devices/system/cpu"
GOVERNOR = f"{CPUS}/cpu0/cpufreq/scaling_governor"
LAYOUT, STAT = "proc/sys/kernel/randomize_va_space", "proc/stat"


@pytest.mark.parametrize(
    ("check", "needs", "files", "result", "words"),
    [
        (doctor.check_descriptors, Needs(10), FILES, "files refusal", "100"),
        (doctor.check_descriptors, Needs(10), WATCHES, "watches refusal", "20 needed"),
        (doctor.check_ports, Needs(10_000), RANGE, "ports ok", ""),
        # A port in TIME_WAIT is taken for one server port only: there may be more than ports.
        (doctor.check_ports, Needs(10_000), RANGE | WAITING, "ports ok", "48,152 in TIME"),
        (doctor.check_ports, Needs(100_000), RANGE, "ports refusal", ""),
        (doctor.check_threads, Needs(threads=1000), TASKS, "threads ok", "max_map_count"),
        (doctor.check_threads, Needs(threads=40_000), TASKS, "threads refusal", "40,064 needed"),
        (doctor.check_threads, Needs(threads=40_000, shares=2), TASKS, "threads ok", ""),
        (doctor.check_threads, Needs(threads=100), PIDS, "threads refusal", "leaves room for 70"),
        (doctor.check_processors, Needs(), QUOTA, "quota warning", "1.5"),
        (doctor.check_noise, Needs(), {GOVERNOR: "powersave\n"}, "frequency warning", ""),
        (doctor.check_noise, Needs(), {GOVERNOR: "performance\n"}, "frequency ok", ""),
        (doctor.check_noise, Needs(), {f"{CPUS}/cpufreq/boost": "1\n"}, "boost note", "echo 0"),
        (
            doctor.check_noise,
            Needs(),
            {f"{CPUS}/intel_pstate/no_turbo": "0\n"},
            "boost note",
            "",
        ),
        (doctor.check_noise, Needs(), {LAYOUT: "0\n"}, "addresses warning", "is 0"),
        (doctor.check_noise, Needs(), {STAT: f"cpu{' 0' * 7} {10**12} 0"}, "steal warning", ""),
        (doctor.check_memory, Needs(), {}, "memory ok", ""),
        (doctor.check_memory, Needs(10**9), {}, "memory refusal", ""),
        # The kernel killed the harness, whose group had less than a block in turns takes.
        (doctor.check_memory, Needs(process_bytes=250 << 20), GROUP, "memory refusal", "191 MiB"),
        (doctor.check_backlog, Needs(1000), QUEUES, "backlog ok", ""),
        (doctor.check_backlog, Needs(10_000), QUEUES, "backlog warning", ""),
        (doctor.check_backlog, Needs(10_000), QUEUES, "conntrack warning", ""),
        (doctor.check_platform, Needs(), {}, "proc note", "root"),
        (doctor.check_platform, Needs(), GUEST, "virtual note", "a container in a virtual machine"),
    ],
)
def test_what_is_read_decides_the_level(
    check: Check,
    needs: Needs,
    files: dict[str, str],
    result: str,
    words: str,
    empty: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "STEAL_CHECK_S", 0.001)
    for path, text in files.items():
        put(empty, path, text)
    check_name, _, level = result.rpartition(" ")
    found = find(check(needs), check_name)
    assert (found.level, words in found.found + found.fix) == (level, True), found


@pytest.mark.parametrize(
    ("check", "of", "function", "answer", "result"),
    [
        (doctor.check_interpreter, build, "python_build", {"debug": True}, "interpreter warning"),
        (doctor.check_interpreter, build, "python_build", {"debug": False}, "interpreter ok"),
        (doctor.check_noise, os, "getloadavg", (3.0, 1.0, 1.0), "load warning"),
        (doctor.check_noise, os, "getloadavg", (0.1, 1.0, 1.0), "load ok"),
        (doctor.check_disk, shutil, "disk_usage", SimpleNamespace(free=1 << 40), "disk ok"),
        (doctor.check_disk, shutil, "disk_usage", SimpleNamespace(free=100 << 20), "disk warning"),
        (doctor.check_disk, shutil, "disk_usage", SimpleNamespace(free=1 << 20), "disk refusal"),
    ],
)
def test_what_the_system_answers_decides_the_level(
    check: Check,
    of: object,
    function: str,
    answer: object,
    result: str,
    empty: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(of, function, lambda *_: answer)
    name, level = result.split()
    assert find(check(Needs()), name).level == level


def test_the_soft_limit_of_descriptors_is_raised_and_that_is_said() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    result = find(doctor.check_descriptors(Needs(200)), "descriptors")
    assert (result.level, "raised from 256" in result.found) == ("ok", True)
    before, after = doctor.raise_descriptor_limit()
    assert before == after == hard > 256


def test_a_thread_takes_as_many_mappings_as_the_kernel_lists(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With holes between arenas of malloc, a few hundred would seem to take two each."""
    found = environment.maps_per_thread()
    assert found in (2, 3)
    put(empty, "proc/sys/vm/max_map_count", "65530\n")
    left = doctor.thread_limits()[doctor.MAX_MAP_COUNT]
    assert left == (65530 - doctor.SPARE_MAPS) // found
    monkeypatch.setattr(environment, "maps_per_thread", lambda: None)
    assert doctor.maps_of_thread() == doctor.MAPS_PER_THREAD


def test_a_limit_of_the_user(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (500, 500))
    result = find(doctor.check_threads(Needs(threads=1000)), "threads")
    assert (result.level, "RLIMIT_NPROC" in result.found) == ("refusal", True)


def test_what_cannot_be_read_refuses_nothing(empty: Path) -> None:
    assert not [r for r in doctor.examine(Needs(100, 100)) if r.level == "refusal"]


def test_a_loopback_interface_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new network namespace, where the server was started and "did not answer"."""
    monkeypatch.setattr(socket.socket, "connect_ex", lambda *_: errno.ENETUNREACH)
    assert "ip link set lo up" in (doctor.refuse(Needs()) or "")


def test_an_empty_meminfo_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"")
    with pytest.raises(BenchError, match="no /proc here, or not all of it"):
        doctor.require_proc()


REFUSED = ("threads", "memory", "disk", "read-only results", "no whole /proc")
"""Some that refuse, which takes a moment; others measure something first."""

USUAL = ("memory", "no whole /proc")
"""The quickest are tried each time; the others with the slow tests."""

CASES = [
    pytest.param(case, id=case.name, marks=[] if case.name in USUAL else [pytest.mark.slow])
    for case in limits.CASES
    if case.name in REFUSED
]


@pytest.mark.root
@pytest.mark.parametrize("case", CASES)
def test_a_campaign_is_refused_in_a_line(case: limits.Case, tmp_path: Path) -> None:
    if reason := limits.why_not(case):
        pytest.skip(reason)
    limits.campaign(case, tmp_path)


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        # Two generations have the name that this hypervisor gives: all times differed by a third.
        (
            "cpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\nstepping\t: 1\n",
            "AMD EPYC, family 26 model 2",
        ),
        ("model name\t: Neoverse-N1\n", "Neoverse-N1"),
        ("processor\t: 0\nHardware\t: X\nModel\t\t: Raspberry Pi 5\n", "Raspberry Pi 5"),
    ],
)
def test_a_processor_is_told_from_others_of_its_make(empty: Path, lines: str, name: str) -> None:
    put(empty, "proc/cpuinfo", lines)
    assert environment.cpu_model() == name
