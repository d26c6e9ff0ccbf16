"""The probes: parsers on captured text, real processes, and every source taken away."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.probes import build, cgroups, cpu, environment, host, kernel, memory, procfs, slabs
from bench.probes.cgroups import KernelMemory
from bench.probes.procfs import Slab
from bench.probes.slabs import Slabs
from bench.schema import Environment, HostNoise, MemoryParts
from tests.bench.machine import put

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
KIB = 1024

SLABINFO = """\
slabinfo - version: 2.1
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables
TCP                   26     26   2368   13    8 : tunables    0    0    0 : slabdata 2 2 0
sock_inode_cache      76     76    832   19    4 : tunables    0    0    0 : slabdata 4 4 0
filp                 581    588    192   21    1 : tunables    0    0    0 : slabdata 28 28 0
dentry            100089 101136    192   21    1 : tunables    0    0    0 : slabdata 4816 4816 0
eventpoll_epi        192    192    128   32    1 : tunables    0    0    0 : slabdata 6 6 0
anon_vma_chain       499    960     64   64    1 : tunables    0    0    0 : slabdata 15 15 0
broken line
"""

NETSTAT = """\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts
TcpExt: 0 2641 2650 3912
IpExt: InNoRoutes
IpExt: 0
"""
SNMP = """\
Tcp: ActiveOpens PassiveOpens RetransSegs
Tcp: 10 9 -1
"""


def wait_for(true: Callable[[], bool], what: str) -> None:
    """Wait until something is true; fail after 20 s."""
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


class Child:
    """A Python process that runs ``code``, says "ready", and does one thing per line told."""

    def __init__(self, code: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid

    def hear(self) -> str:
        """Its next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, line: str) -> str:
        """Tell it a line and return its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.hear()


@contextlib.contextmanager
def child(code: str, *arguments: str) -> Iterator[Child]:
    """A child that is gone afterwards, whatever happens."""
    started = Child(code, *arguments)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.communicate()


SERVER = """
import socket, select
listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
listener.setblocking(False)
poll = select.epoll()
poll.register(listener.fileno(), select.EPOLLIN)
held = {}
print(listener.getsockname()[1])
while True:
    for fd, _ in poll.poll():
        if fd == listener.fileno():
            try:
                while True:
                    connection, _ = listener.accept()
                    connection.setblocking(False)
                    held[connection.fileno()] = connection
                    poll.register(connection.fileno(), select.EPOLLIN)
            except BlockingIOError:
                pass
        elif not held[fd].recv(100):
            poll.unregister(fd)
            held.pop(fd).close()
"""

CLIENT = """
import select, socket, sys, threading
port, held, poll = int(sys.argv[1]), [], select.epoll()
def thread():
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(b"x")
    held.append(connection)
    connection.recv(1)
print("ready")
for line in sys.stdin:
    what, count = line.split()
    goal = len(held) + int(count)
    for _ in range(int(count)):
        if what == "threads":
            threading.Thread(target=thread, daemon=True).start()
        else:
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(b"x")
            poll.register(connection.fileno(), select.EPOLLIN)
            held.append(connection)
    while len(held) < goal:
        threading.Event().wait(0.01)
    print(len(held))
"""

SLEEPER = """
import sys, threading
for _ in range(int(sys.argv[1])):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready")
sys.stdin.readline()
"""

PARENT = """
import subprocess, sys
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
print("ready")
sys.stdin.readline()
"""


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
            st.from_regex(r"[A-Za-z_]{1,20}", fullmatch=True), st.integers(0, 1 << 40), max_size=20
        )
    )
    def test_kib_fields_reads_what_was_written(self, fields: dict[str, int]) -> None:
        text = "".join(f"{name}:  {value:8} kB\n" for name, value in fields.items())
        assert procfs.kib_fields(text) == {name: value * KIB for name, value in fields.items()}

    @given(
        st.dictionaries(
            st.from_regex(r"[A-Z][A-Za-z]{0,15}", fullmatch=True),
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
        """A kernel of another age may say anything: nothing found, nothing raised."""
        for parse in (
            procfs.kib_fields,
            procfs.paired_lines,
            procfs.sockstat,
            procfs.slabinfo,
            cgroups.mounts,
            cgroups.membership,
            host.parse_steal,
            host.parse_mhz,
            memory.parse_cached_pages,
            build.configure_flags,
        ):
            parse(text)
        kernel.parse_counters(text, text)
        memory.stack_size(text, text, "unknown")
        memory.machine_free(text, text, 4096)

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


class TestCpu:
    @given(
        st.floats(0, 1e4),
        st.floats(0, 1e4),
        st.floats(0, 0.00999),
        st.floats(0, 0.00999),
    )
    def test_settle_is_exact_in_sum_and_half_a_tick_in_parts(
        self, user: float, system: float, lost_user: float, lost_system: float
    ) -> None:
        total = user + lost_user + system + lost_system
        got_user, got_system = cpu.settle(user, system, total, 0.01)
        assert got_user + got_system == pytest.approx(total)
        assert got_user == pytest.approx(user + lost_user, abs=0.0051)
        assert got_system == pytest.approx(system + lost_system, abs=0.0051)

    def test_settle_keeps_the_ratio_when_clocks_disagree(self) -> None:
        assert cpu.settle(3.0, 1.0, 8.0, 0.01) == (6.0, 2.0)
        assert cpu.settle(0.0, 0.0, 8.0, 0.01) == (8.0, 0.0)
        assert cpu.settle(3.0, 1.0, None, 0.01) == (3.0, 1.0)

    def test_threads_count_and_also_those_that_ended(self) -> None:
        before = sum(cpu.times(os.getpid()))
        spent: list[float] = []

        def spend() -> None:
            started = time.thread_time()
            while time.thread_time() - started < 0.05:
                pass
            spent.append(time.thread_time() - started)

        threads = [threading.Thread(target=spend) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(cpu.times(os.getpid())) - before >= sum(spent) * 0.9

    def test_another_process(self) -> None:
        with child("sum(range(3_000_000)); print('ready'); input()") as other:
            other.hear()
            user, system = cpu.times(other.pid)
            assert user > 0
            assert system >= 0

    def test_an_ended_process_is_an_error(self) -> None:
        with child("print('ready'); input()") as other:
            other.hear()
            other.process.communicate("\n")
            with pytest.raises(psutil.NoSuchProcess):
                cpu.times(other.pid)

    @LINUX
    def test_no_clock_for_an_ended_process(self) -> None:
        with child("pass") as other:
            other.process.communicate()
        assert cpu.total_clock(other.pid) is None

    @LINUX
    def test_two_cores(self, empty: Path) -> None:
        assert cpu.split_cores([0, 1]) == cpu.Pinning([1], [0], None, [0])

    @LINUX
    def test_one_core_says_why(self) -> None:
        pinning = cpu.split_cores([3])
        assert pinning.client == pinning.server == []
        assert "one processor" in (pinning.reason or "")

    @LINUX
    def test_hyper_threads_are_kept_apart(self, empty: Path) -> None:
        for core, text in enumerate(("0,2", "1,3", "0,2", "1,3")):
            path = f"sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"
            put(empty, path, text)
        pinning = cpu.split_cores([0, 1, 2, 3])
        assert (pinning.client, pinning.server) == ([3], [0])
        shared = cpu.split_cores([1, 3])
        assert (shared.client, shared.server) == ([3], [1])
        assert "hyper-threads" in (shared.reason or "")

    @LINUX
    def test_slow_cores_are_avoided(self, empty: Path) -> None:
        for core, speed in enumerate((3000, 3000, 1000, 1000)):
            path = f"sys/devices/system/cpu/cpu{core}/cpufreq/cpuinfo_max_freq"
            put(empty, path, str(speed))
        pinning = cpu.split_cores([0, 1, 2, 3])
        assert (pinning.client, pinning.server) == ([1], [0])
        assert pinning.harness == [2, 3]

    @LINUX
    def test_pin_moves_every_thread(self) -> None:
        core = cpu.usable_cores()[-1]
        with child(SLEEPER, "3") as other:
            other.hear()
            assert cpu.pin(other.pid, [core]) is None
            for thread in os.listdir(f"/proc/{other.pid}/task"):
                assert os.sched_getaffinity(int(thread)) == {core}

    @LINUX
    def test_pin_says_why_not(self) -> None:
        assert "could not pin" in (cpu.pin(os.getpid(), [100_000]) or "")
        assert cpu.pin(os.getpid(), []) is not None

    def test_without_affinity(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("sched_setaffinity", "sched_getaffinity"):
            monkeypatch.delattr(os, name, raising=False)
        assert cpu.usable_cores() == list(range(os.cpu_count() or 1))
        assert "cannot pin" in (cpu.split_cores().reason or "")
        assert "cannot pin" in (cpu.pin(1, [0]) or "")


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
        return environment.collect(Path(__file__).resolve().parents[2])

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

    @given(st.lists(st.from_regex(r"--(with|enable)-[a-z]{1,8}(=/[a-z/]{1,10})?", fullmatch=True)))
    def test_no_path_survives(self, words: list[str]) -> None:
        assert "/" not in build.configure_flags(" ".join(words))


def parts(**values: int | None) -> MemoryParts:
    """Parts of a process with the given values and otherwise zeros."""
    blank: dict[str, int | None] = dict.fromkeys(MemoryParts.model_fields, 0)
    for name in memory.KERNEL_PARTS:
        blank[name] = None
    return MemoryParts.model_validate(blank | values)


def reading(
    own: MemoryParts,
    counted: Slabs | None = None,
    charged: KernelMemory | None = None,
    shared: bool = True,
    free: int | None = None,
    server: memory.ServerSide | None = None,
) -> memory.Reading:
    """A reading made up for a test."""
    return memory.Reading(own, {}, {}, free, counted, charged, shared, server)


def counted(**active: int) -> Slabs:
    """Slabs with the given numbers of objects; eventpoll_epi holds the port bindings too."""
    sizes = {
        "TCP": 2000,
        "sock_inode_cache": 800,
        "filp": 200,
        "dentry": 200,
        "eventpoll_epi": 128,
        "task_struct": 4000,
    }
    caches = {name: Slab(active.get(name, 0), size, 1) for name, size in sizes.items()}
    listed = {name: name for name in sizes}
    listed |= dict.fromkeys(("tcp_bind_bucket", "tcp_bind2_bucket"), "eventpoll_epi")
    return Slabs(caches, listed)


class TestSlabs:
    def test_merged_caches_are_found_under_their_listed_name(self) -> None:
        links = {
            "TCP": "TCP",
            "eventpoll_epi": ":A-0000128",
            "tcp_bind_bucket": ":A-0000128",
            "gone": "gone",
        }
        assert slabs.resolve(["TCP", "eventpoll_epi"], links) == {
            "TCP": "TCP",
            "eventpoll_epi": "eventpoll_epi",
            "tcp_bind_bucket": "eventpoll_epi",
        }

    def test_a_merged_cache_is_counted_once(self) -> None:
        before, held = counted(), counted(eventpoll_epi=30)
        assert held.growth(before, ("eventpoll_epi", "tcp_bind_bucket", "absent")) == 30 * 128
        assert held.size(("eventpoll_epi", "tcp_bind_bucket", "absent")) == 256
        assert held.grown(before, "tcp_bind2_bucket") == 30
        assert held.grown(before, "absent") == 0

    def test_read_follows_the_links(self, empty: Path) -> None:
        put(empty, "proc/slabinfo", SLABINFO)
        folder = empty / "sys/kernel/slab"
        folder.mkdir(parents=True)
        for name in ("eventpoll_epi", "tcp_bind_bucket"):
            (folder / name).symlink_to(":A-0000128")
        found = slabs.read()
        assert found is not None
        assert found.listed["tcp_bind_bucket"] == "eventpoll_epi"
        assert found.caches["TCP"].active == 26
        assert "TCPv6" not in found.listed

    def test_without_slabinfo(self, empty: Path) -> None:
        assert slabs.read() is None


class TestMemory:
    def test_both_ends_are_told_apart(self) -> None:
        """Ten pairs: two of everything, one server epoll item, two bindings, client epoll too."""
        before = reading(parts(), counted())
        held = reading(
            parts(user_bytes=500),
            counted(TCP=20, sock_inode_cache=20, eventpoll_epi=40, dentry=999),
        )
        found = memory.memory(before, held, 10)
        assert found.held.kernel_socket_bytes == 10 * 2000
        assert found.held.server_socket_bytes == 10 * 2000
        # Half of the files (by the inodes: dentries move for other reasons), 30 of 40 items.
        assert found.held.kernel_other_bytes == 10 * (800 + 200 + 200) + 30 * 128
        assert found.before.kernel_socket_bytes == 0
        assert set(memory.KERNEL_PARTS) <= set(found.sources)

    def test_threads_keep_a_send_buffer_each(self) -> None:
        before = reading(parts(threads=1), counted())
        held = reading(parts(threads=11), counted(task_struct=10))
        found = memory.memory(before, held, 10)
        watched = 10 * 128  # the server's, none grown here
        assert found.held.kernel_other_bytes == 10 * 4000 - watched
        assert found.held.send_buffer_bytes == 10 * memory.send_buffer()
        assert found.before.send_buffer_bytes == 0
        assert "reckoned" in found.sources["send_buffer_bytes"]

    def test_a_send_buffer_is_a_page_where_high_orders_are_disabled(self, empty: Path) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        assert memory.send_buffer() == max(page, 32 * KIB)
        put(empty, "proc/sys/net/core/high_order_alloc_disable", "1\n")
        assert memory.send_buffer() == page

    def test_a_shared_control_group_is_not_split(self) -> None:
        """The accepted end is charged to nobody: half of the sum would be wrong."""
        before = reading(parts(), charged=KernelMemory(1000, "cgroup v2 memory.stat slab"))
        held = reading(parts(), charged=KernelMemory(51_000, "cgroup v2 memory.stat slab"))
        found = memory.memory(before, held, 10)
        for name in memory.KERNEL_PARTS:
            assert getattr(found.held, name) is None
            assert "5000 bytes for each connection" in found.reasons[name]

    def test_own_control_group_is_the_clients_alone(self) -> None:
        before = reading(parts(), charged=KernelMemory(1000, "cgroup v1 kmem"), shared=False)
        held = reading(
            parts(page_table_bytes=500, kernel_stack_bytes=500, threads=10),
            charged=KernelMemory(81_000, "cgroup v1 kmem"),
            shared=False,
        )
        found = memory.memory(before, held, 10)
        assert found.held.kernel_other_bytes == 79_000
        assert "sockets included" in found.sources["kernel_other_bytes"]
        assert found.held.kernel_socket_bytes is None
        assert "another control group" in found.reasons["server_socket_bytes"]

    def test_no_source_at_all(self) -> None:
        found = memory.memory(reading(parts()), reading(parts()), 10)
        for name in memory.KERNEL_PARTS:
            assert getattr(found.held, name) is None
            assert "root" in found.reasons[name]
        assert found.machine_drop_bytes is None

    def test_agreement(self) -> None:
        server = memory.ServerSide(100, 0), memory.ServerSide(1100, 0)
        before = reading(parts(), counted(), free=100_000, server=server[0])
        held = reading(
            parts(user_bytes=4000),
            counted(TCP=2, eventpoll_epi=2),
            free=100_000 - 9256,
            server=server[1],
        )
        found = memory.memory(before, held, 1)
        rest = memory.server_growth(before, held, 1)
        assert rest == 1000 + 128
        assert memory.agreement(found, rest) == pytest.approx(1.0)
        assert memory.agreement(found.model_copy(update={"machine_drop_bytes": -5})) is None
        missing = found.model_copy(update={"held": parts()})
        assert memory.agreement(missing) is None

    @pytest.mark.parametrize(
        ("meminfo", "loadavg", "machine", "size"),
        [
            ("KernelStack: 1444 kB\n", "0.07 0.20 0.18 1/89 23069", "x86_64", 16 * KIB),
            ("KernelStack: 2880 kB\n", "0.07 0.20 0.18 1/89 23069", "x86_64", 32 * KIB),
            ("KernelStack: 1 kB\n", "0.07 0.20 0.18 1/89 23069", "x86_64", 16 * KIB),
            ("", "", "x86_64", 16 * KIB),
            ("", "", "s390x", None),
        ],
    )
    def test_stack_size(self, meminfo: str, loadavg: str, machine: str, size: int | None) -> None:
        assert memory.stack_size(meminfo, loadavg, machine) == size

    def test_machine_free_counts_the_processors_own_lists(self) -> None:
        meminfo = "MemFree: 100 kB\nBuffers: 10 kB\nCached: 20 kB\nMemAvailable: 999 kB\n"
        zoneinfo = "  pagesets\n    cpu: 0\n              count:    3\n   high: 5\n"
        assert memory.machine_free(meminfo, zoneinfo, 4096) == 130 * KIB + 3 * 4096
        assert memory.machine_free("", zoneinfo, 4096) is None

    def test_other_programs_do_not_move_the_second_method(self) -> None:
        meminfo = "AnonPages: 100 kB\n"
        server = memory.ServerSide(20 * KIB, None)
        own = parts(user_bytes=30 * KIB)
        assert memory.others_anonymous(meminfo, own, server) == 50 * KIB
        assert memory.others_anonymous(meminfo, own, None) == 0
        assert memory.others_anonymous("", own, server) == 0

    @LINUX
    def test_threads_are_read(self) -> None:
        with child(SLEEPER, "40") as other:
            other.hear()
            read = memory.Reader(other.pid).read()
        assert read.parts.threads == 41
        assert (read.parts.kernel_stack_bytes or 0) >= 41 * 4096
        assert (read.parts.user_bytes or 0) > KIB
        assert (read.parts.page_table_bytes or 0) > KIB
        assert (read.parts.rss_bytes or 0) > (read.parts.user_bytes or 0) / 2

    @LINUX
    def test_a_workers_own_processes_count_as_the_worker(self) -> None:
        with child(PARENT) as other:
            other.hear()
            read = memory.Reader(other.pid).read().parts
            worker = psutil.Process(other.pid)
            alone = [
                memory.process_parts(process, 16 * KIB, {}, {})
                for process in (worker, *worker.children())
            ]
        assert len(alone) == 2
        assert read.threads == 2
        assert (read.descriptors or 0) == sum(one.descriptors or 0 for one in alone)
        assert (read.rss_bytes or 0) > max(one.rss_bytes or 0 for one in alone)
        assert memory.total([alone[0], parts(user_bytes=None)]).user_bytes is None

    def test_an_ended_worker_is_an_error(self) -> None:
        with child("pass") as other:
            other.process.communicate()
        with pytest.raises(psutil.NoSuchProcess):
            memory.Reader(other.pid).read()

    def test_macos_path(self, empty: Path) -> None:
        """No /proc: psutil's figures, and a reason for everything that lies in the kernel."""
        with child(SLEEPER, "2") as other:
            other.hear()
            reader = memory.Reader(other.pid, os.getpid())
            assert memory.settle(5) < 1
            found = memory.memory(reader.read(), reader.read(), 10)
        held = found.held
        assert (held.user_bytes or 0) > 0
        assert (held.rss_bytes or 0) > 0
        assert held.threads == 3
        assert found.sources["user_bytes"] == "psutil USS"
        for name in ("page_table_bytes", "kernel_stack_bytes", *memory.KERNEL_PARTS):
            assert getattr(held, name) is None
            assert found.reasons[name]
        assert found.machine_drop_bytes is None
        assert memory.agreement(found) is None

    @LINUX
    def test_another_users_process(self, monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
        """smaps and fd are the owner's only; status is everyone's."""

        def denied(self: psutil.Process) -> None:
            raise psutil.AccessDenied(self.pid)

        monkeypatch.setattr(psutil.Process, "memory_full_info", denied)
        monkeypatch.setattr(psutil.Process, "num_fds", denied)
        pid = os.getpid()
        put(empty, f"proc/{pid}/status", "RssAnon: 100 kB\nVmPTE: 4 kB\nThreads: 2\nVmRSS: 9 kB\n")
        read = memory.Reader(pid).read()
        assert read.parts.user_bytes == 100 * KIB
        assert read.sources["user_bytes"] == "status RssAnon"
        assert read.parts.descriptors is None
        assert "descriptors" in read.reasons

    @LINUX
    @pytest.mark.parametrize("model", ["loop", "threads"])
    def test_held_connections(self, model: str) -> None:
        """Two hundred real pairs. Wide bounds: slabs move in steps, others use the machine."""
        count = 200
        with child(SERVER) as server, child(CLIENT, server.hear()) as client:
            client.hear()
            reader = memory.Reader(client.pid, server.pid)
            memory.settle(1)
            before = reader.read()
            client.tell(f"{model} {count}")
            wait_for(
                lambda: (memory.descriptors(server.pid)[0] or 0) >= count, "server accepts all"
            )
            held = reader.read()
            found = memory.memory(before, held, count)
        threads = count if model == "threads" else 0
        assert found.held.threads - found.before.threads == threads
        assert (found.held.descriptors or 0) - (found.before.descriptors or 0) == count
        stacks = (found.held.kernel_stack_bytes or 0) - (found.before.kernel_stack_bytes or 0)
        assert stacks >= threads * 4096
        if before.slabs is None:
            pytest.skip("slabinfo needs root; the unprivileged path is tested on made-up readings")
        assert found.held.kernel_socket_bytes is not None
        assert found.held.kernel_other_bytes is not None
        assert 1000 < found.held.kernel_socket_bytes / count < 8000
        assert found.held.server_socket_bytes == found.held.kernel_socket_bytes
        if threads:
            assert found.held.send_buffer_bytes is not None
            assert found.held.send_buffer_bytes >= 4096 * count
