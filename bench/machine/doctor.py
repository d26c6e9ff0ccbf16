"""The doctor: checks this machine for anything that would skew the results.

``python -m bench doctor`` prints one result per check, with its effect on the measurements and a
fix. A campaign runs the same checks before it starts, and asks :func:`refuse` before each
workload. A *warning* means that numbers get worse or noisier than they look; a *refusal* means
that the workload cannot run at all, and says which limit is needed. The doctor raises the limits
that this process may raise by itself.
"""

from __future__ import annotations

import errno
import os
import platform
import resource
import shutil
import socket
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import psutil
from rich.table import Table
from rich.text import Text

from bench import BenchError
from bench.machine import build, cpu, environment, host, procfs
from bench.terminal import Terminal
from bench.text import KIB, size_words

Level = Literal["ok", "note", "warning", "refusal"]
COLOURS: dict[Level, str] = {"ok": "green", "note": "cyan", "warning": "yellow", "refusal": "red"}

QUICK_CONNECTIONS = 3_000
"""The most that the quick profile holds, with as many threads: checked for by default."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One thing that was checked. ``effect`` and ``fix`` are empty when all is well."""

    check: str
    level: Level
    found: str
    effect: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is said of a case, as templates; ``good`` is said when all is well, if it is said."""

    level: Level
    effect: str
    fix: str
    good: str = ""
    bad: str = ""  # else what is said when all is well


_TABLE: Final = tomllib.loads(Path(__file__).with_name("doctor.toml").read_text(encoding="utf-8"))
FINDINGS: Final = {case: Finding(**words) for case, words in _TABLE.items()}
"""A check, or a check and a case of it (``swap-unused``) -> what is said of it."""


def judged(case: str, is_bad: bool, **numbers: object) -> Iterator[CheckResult]:
    """The finding of a case, with these numbers in it."""
    words, check = FINDINGS[case], case.partition("-")[0]
    if is_bad:
        bad, fix = (text.format(**numbers) for text in (words.bad or words.good, words.fix))
        yield CheckResult(check, words.level, bad, words.effect, fix)
    elif words.good:
        yield CheckResult(check, "ok", words.good.format(**numbers))


def too_few(case: str, most: int | None, needed: int, used: int = 0) -> Iterator[CheckResult]:
    """A finding where a limit of the kernel, if there is one, leaves less than is needed."""
    if most is not None:
        left = most - used
        yield from judged(case, left < needed, left=left, needed=needed, most=used + needed)


BYTES_PER_CONNECTION = 32 * KIB  # both ends, the most expensive model without its threads


@dataclass(frozen=True, slots=True)
class Needs:
    connections: int = 0  # held at once by the worker, and again by the server
    threads: int = 0
    folder: Path = Path()  # where the records go
    tls_client: int = 0  # bytes of the worker for each connection over TLS
    tls_server: int = 0  # and of the server
    shares: int = 1  # pairs of a worker and a server that divide all this evenly
    connection_bytes: int = BYTES_PER_CONNECTION
    process_bytes: int = 0  # of all processes before their first connection

    def of_share(self, total: int) -> int:
        return -(-total // self.shares)


def require_proc() -> None:
    """Raise :class:`BenchError` without Linux's /proc, where nothing can be read."""
    meminfo = Path("/proc/meminfo")
    if not (meminfo.exists() and meminfo.read_bytes()):  # psutil fails where it is empty
        raise BenchError("no /proc here, or not all of it: on Linux, mount -t proc proc /proc")


def examine(needs: Needs) -> list[CheckResult]:
    """Run every check. Takes about half a second.

    Raises :class:`BenchError` without /proc.
    """
    require_proc()
    return [result for check in CHECKS for result in check(needs)]


def refuse(needs: Needs) -> str | None:
    """Why this workload cannot run here, with the numbers needed; None if it can."""
    refusals = [result for result in examine_limits(needs) if result.level == "refusal"]
    return "; ".join(f"{r.check}: {r.found} ({r.fix})" for r in refusals) or None


def examine_limits(needs: Needs) -> list[CheckResult]:
    """Only the checks that can refuse. They are quick."""
    return [result for check in LIMITS for result in check(needs)]


def show(results: Sequence[CheckResult]) -> None:
    """Print the results, the most serious last; in colour on terminals only."""
    order = list(COLOURS)
    table = Table.grid(padding=(0, 2))
    for fold in (False, False, True):
        table.add_column(no_wrap=not fold, overflow="fold")
    for result in sorted(results, key=lambda result: order.index(result.level)):
        level = Text(result.level, style=COLOURS[result.level])
        table.add_row(level, Text(result.check), Text(result.found))
        if result.effect:
            table.add_row("", "", Text(result.effect, style="dim"))
        if result.fix:
            table.add_row("", "", Text(f"→ {result.fix}"))
    Terminal().print(table)
    count = Counter(result.level for result in results)
    print(", ".join(f"{count[level]} {level}" for level in order if count[level]))


# --- descriptors and threads -------------------------------------------------------------


SPARE_DESCRIPTORS = 128  # standard streams, modules, the control plane, epoll
SPARE_TASKS = 64
SPARE_MAPS = 1000  # libraries, heaps and arenas of an interpreter
MAPS_PER_THREAD = 3  # where it was not measured: a stack, its guard page, Python's data stack
MAX_MAP_COUNT = "vm.max_map_count"


def maps_of_thread() -> int:
    return environment.maps_per_thread() or MAPS_PER_THREAD


def raise_descriptor_limit(needed: int = 0) -> tuple[int, int]:
    """Raise the soft descriptor limit to the hard one; returns (before, after).

    If ``needed`` exceeds the hard limit, tries to raise that too, which root may
    do up to fs.nr_open. Applies to this process and to those it starts. Never
    raises an error: compare the second number with what you need.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for goal in (max(needed, hard), hard):
        if goal > soft:
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (goal, goal))
                return soft, goal
    return soft, soft


def check_descriptors(needs: Needs) -> Iterator[CheckResult]:
    """Each end of a connection takes one descriptor in its process."""
    needed = needs.of_share(needs.connections) + SPARE_DESCRIPTORS
    before, after = raise_descriptor_limit(needed)
    raised = f", raised from {before:,}" if after != before else ""
    yield from judged("descriptors", after < needed, most=after, raised=raised, needed=needed)
    used = procfs.to_int((procfs.read("proc/sys/fs/file-nr") or "").partition("\t")[0]) or 0
    files = 2 * (needs.connections + needs.shares * SPARE_DESCRIPTORS)
    yield from too_few("files", procfs.read_int("proc/sys/fs/file-max"), files, used)
    watches = procfs.read_int("proc/sys/fs/epoll/max_user_watches")
    yield from too_few("watches", watches, 2 * needs.connections)


THREAD_FIXES: Final = {
    "control group pids.max": "raise the task limit of the container or systemd unit to {}",
    MAX_MAP_COUNT: f"sysctl {MAX_MAP_COUNT}={{maps}}",
    "RLIMIT_NPROC": "ulimit -u {}; beyond the hard limit as root, or in limits.conf",
}
"""Of limits that are no number of threads in ``/proc/sys``: ``{}`` is how many there should be."""


def thread_limits() -> dict[str, int]:
    """How many more threads each limit allows."""
    running, left = procfs.tasks() or 0, dict[str, int]()
    for name in ("kernel.threads-max", "kernel.pid_max"):
        if (most := procfs.read_int(f"proc/sys/{name.replace('.', '/')}")) is not None:
            left[name] = most - running
    if (tasks := procfs.tasks_left()) is not None:
        left["control group pids.max"] = tasks
    if (maps := procfs.read_int("proc/sys/vm/max_map_count")) is not None:
        left[MAX_MAP_COUNT] = (maps - SPARE_MAPS) // maps_of_thread()
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if processes != resource.RLIM_INFINITY and os.geteuid() != 0:
        # Root is exempt. The limit counts all processes and threads of the user.
        here = [process.info for process in psutil.process_iter(["uids", "num_threads"])]
        own = [info for info in here if info["uids"] and info["uids"].real == os.getuid()]
        left["RLIMIT_NPROC"] = processes - sum(info["num_threads"] or 0 for info in own)
    return left


def check_threads(needs: Needs) -> Iterator[CheckResult]:
    """Several limits count threads; the tightest decides how many can be started."""
    limits, fits = sorted(thread_limits().items(), key=lambda limit: limit[1]), True
    for name, left in limits:
        of_process = name == MAX_MAP_COUNT  # all others count those of the machine
        needed = (needs.of_share(needs.threads) if of_process else needs.threads) + SPARE_TASKS
        if left < needed:
            fits = False
            maps = needed * maps_of_thread() + SPARE_MAPS
            fix = THREAD_FIXES.get(name, f"sysctl {name}={{}}").format(needed * 2, maps=maps)
            yield from judged("threads", True, name=name, left=left, needed=needed, fix=fix)
    if limits and fits:
        yield from judged("threads", False, name=limits[0][0], left=limits[0][1])


# --- memory ------------------------------------------------------------------------------


BYTES_PER_THREAD = 96 * KIB  # stacks, page tables, task, send buffer, heap: see docs/method.md


def available_bytes() -> int:
    """Memory that this process may still take: the machine's, or its control group's."""
    available = int(psutil.virtual_memory().available)
    left = procfs.memory_left()
    return available if left is None else min(available, left)


def check_memory(needs: Needs) -> Iterator[CheckResult]:
    client, server = (needs.connections * size for size in (needs.tls_client, needs.tls_server))
    need = needs.connections * needs.connection_bytes + needs.threads * BYTES_PER_THREAD
    need += client + server + needs.process_bytes
    left, needed = available_bytes(), size_words(need)
    if client + server:
        needed += f" ({size_words(client)} of the client and "
        needed += f"{size_words(server)} of the server for TLS)"
    case = "memory" if need > left else "memory-low"
    yield from judged(case, need > left / 2, left=size_words(left), needed=needed)
    swap = psutil.swap_memory()
    used, total = size_words(swap.used), size_words(swap.total)
    yield from judged("swap", swap.used > 0, used=used, total=total)


# --- ports, queues and connection tracking -----------------------------------------------


def check_ports(needs: Needs) -> Iterator[CheckResult]:
    """A connection holds an ephemeral port for its server address.

    TIME_WAIT keeps the port for another 60 s, but only towards that one server
    port, and on loopback tcp_tw_reuse returns it after a second. Sockets left by
    other servers are therefore a nuisance, not a limit; there can be more of them
    than ports.
    """
    if (ports := host.ephemeral_ports()) is not None:
        needed, waiting = needs.of_share(needs.connections), host.tcp_sockets().get("tw", 0)
        yield from judged("ports", needed > ports, ports=ports, waiting=waiting, needed=needed)


def check_backlog(needs: Needs) -> Iterator[CheckResult]:
    """Connections that arrive faster than they are accepted wait in two queues."""
    needed = needs.connections
    yield from too_few("backlog", procfs.read_int("proc/sys/net/core/somaxconn"), needed)
    tracked = procfs.read_int("proc/sys/net/netfilter/nf_conntrack_count") or 0
    most = procfs.read_int("proc/sys/net/netfilter/nf_conntrack_max")
    yield from too_few("conntrack", most, needed, tracked)


def check_loopback(needs: Needs) -> Iterator[CheckResult]:
    """A new network namespace has its loopback interface, but down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        down = probe.connect_ex(("127.0.0.1", 9)) == errno.ENETUNREACH  # sends nothing
    yield from judged("loopback", down)


# --- processors --------------------------------------------------------------------------


BUSY_LOAD = 0.5
STEAL_SHARE = 0.02  # of all processors' time; one clock tick during the check is 1 % of two
STEAL_CHECK_S = 0.5


def check_processors(needs: Needs) -> Iterator[CheckResult]:
    pinning = cpu.split_cores()
    case = "processors-shared" if pinning.client and pinning.reason else "processors"
    yield from judged(case, bool(pinning.reason), usable=len(cpu.usable_cores()), pinning=pinning)
    if (quota := procfs.cpu_quota()) is not None:
        yield from judged("quota", quota < 2, quota=quota)


def check_noise(needs: Needs) -> Iterator[CheckResult]:
    """Other programs, other guests, and what makes a processor or a layout of memory faster."""
    load = os.getloadavg()[0]
    yield from judged("load", load > BUSY_LOAD, load=load, most=BUSY_LOAD)
    before = host.steal()
    if before is not None:
        time.sleep(STEAL_CHECK_S)
        stolen = ((host.steal() or before) - before) / STEAL_CHECK_S / (os.cpu_count() or 1)
        up = time.clock_gettime(time.CLOCK_BOOTTIME) * (os.cpu_count() or 1)
        share = max(stolen, before / up)
        yield from judged("steal", share > STEAL_SHARE, share=100 * share)
    governor = procfs.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor is not None:  # None is usual in a virtual machine; probes show changes there
        governor = governor.strip()
        yield from judged("frequency", governor != "performance", governor=governor)
    for name, on in (("cpufreq/boost", 1), ("intel_pstate/no_turbo", 0)):
        boost = procfs.read_int(f"sys/devices/system/cpu/{name}")
        yield from judged("boost", boost == on, name=name, off=1 - on)
    layout = procfs.read_int("proc/sys/kernel/randomize_va_space")
    yield from judged("addresses", layout in (0, 1), layout=layout)


def check_interpreter(needs: Needs) -> Iterator[CheckResult]:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    switched = {"gil": build.gil(), "jit": build.jit()}
    yield from judged("interpreter", bool(build.python_build()["debug"]), python=python, **switched)


# --- platform, disk and programs ---------------------------------------------------------


DISK_WARNING = 500 << 20
DISK_REFUSAL = 50 << 20


def check_platform(needs: Needs) -> Iterator[CheckResult]:
    """How much of memory can be attributed depends on what can be read from /proc."""
    yield from judged("proc", procfs.read("proc/slabinfo") is None)
    signs = environment.virtual()
    yield from judged("virtual", signs is not None, signs=signs)


def check_disk(needs: Needs) -> Iterator[CheckResult]:
    folders = (needs.folder, *needs.folder.absolute().parents)
    free = shutil.disk_usage(next(path for path in folders if path.exists())).free
    case = "disk" if free < DISK_REFUSAL else "disk-low"
    yield from judged(case, free < DISK_WARNING, free=size_words(free))


def check_tools(needs: Needs) -> Iterator[CheckResult]:
    yield from judged("wrk", shutil.which("wrk") is None)


CHECKS: tuple[Callable[[Needs], Iterator[CheckResult]], ...] = (
    check_platform,
    check_descriptors,
    check_ports,
    check_backlog,
    check_loopback,
    check_threads,
    check_processors,
    check_noise,
    check_memory,
    check_disk,
    check_tools,
    check_interpreter,
)

# Checks that can refuse a workload. They are quick, and run again before each workload.
LIMITS = (
    check_descriptors,
    check_ports,
    check_loopback,
    check_threads,
    check_memory,
    check_disk,
)
