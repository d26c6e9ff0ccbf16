"""Is this machine fit to measure on? Each finding: what it does to the results, how to mend it.

``python -m bench doctor`` prints the findings; a campaign examines the machine
the same way before it starts, and asks :func:`refuse` before each workload. A
*warning* makes numbers worse or noisier than they look; a *refusal* means that
the workload cannot be held at all, and says which number is needed. Limits of
this process that may be raised without asking anyone are raised here.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import psutil

from bench.errors import BenchError
from bench.probes import cgroups, cpu, host, kernel, procfs

Level = Literal["ok", "note", "warning", "refusal"]

QUICK_CONNECTIONS = 10_000
"""What the quick profile holds at most, with as many threads: the default to examine for."""

SPARE_DESCRIPTORS = 128  # standard streams, modules, the control plane, epoll
SPARE_TASKS = 64
SPARE_MAPS = 1000  # libraries, heaps and arenas of an interpreter
MAPS_PER_THREAD = 2  # a stack and its guard page
BYTES_PER_CONNECTION = 32 * 1024  # both ends, the most expensive model without its threads
BYTES_PER_THREAD = 96 * 1024  # stacks, page tables, task, send buffer, heap: see docs/method.md
THREAD_STACK_BYTES = 8 << 20  # address space, unless RLIMIT_STACK says otherwise
BUSY_LOAD = 0.5
MANY_TIME_WAIT = 1000
STEAL_SHARE = 0.02  # of all processors' time; a clock tick in the look is 1 % of two
STEAL_LOOK_S = 0.5
DISK_WARNING = 500 << 20
DISK_REFUSAL = 50 << 20


class DoctorError(BenchError):
    """This machine cannot even be examined; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. ``effect`` and ``mend`` are empty when all is well."""

    check: str
    level: Level
    found: str
    effect: str = ""
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a workload asks of the machine."""

    connections: int = 0  # held at once by the worker, and again by the server
    threads: int = 0
    addresses: int = 1  # server (address, port) pairs the connections are spread over
    folder: Path = Path()  # where the records go


def raise_descriptor_limit(needed: int = 0) -> tuple[int, int]:
    """Raise the soft descriptor limit to the hard one; returns (before, after).

    Where ``needed`` is more than the hard limit, tries to raise that too, which
    root may do up to fs.nr_open. Counts for this process and what it starts.
    Never raises an error: the second number says what was reached.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    goals = [hard]
    if hard != resource.RLIM_INFINITY and needed > hard:
        goals.insert(0, needed)
    if hard == resource.RLIM_INFINITY:
        # macOS reports no limit and then refuses more than kern.maxfilesperproc.
        goals = [max(needed, 1 << 20), max(needed, 1 << 16), 24576, 10240]
    for goal in goals:
        if hard != resource.RLIM_INFINITY and goal <= soft and goal >= needed:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (goal, max(goal, hard)))
            break
        except (ValueError, OSError):
            continue
    return _known(soft), _known(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _known(limit: int) -> int:
    """A limit as a number that compares: "unlimited" is very large."""
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


def _count(limit: int) -> str:
    """A limit as people read it."""
    return "unlimited" if limit >= sys.maxsize else f"{limit:,}"


def _mib(size: float) -> str:
    """Bytes as MiB or GiB."""
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"


def check_platform(needs: Needs) -> Iterator[Finding]:
    """What of /proc can be read decides how much of the memory can be told apart."""
    if procfs.read("proc/self/status") is None:
        yield Finding(
            "proc",
            "note",
            f"no /proc on {sys.platform}",
            "memory in the kernel, network counters, pinning and most limits are not recorded",
            "use Linux for the figures that matter",
        )
        return
    smaps = procfs.read("proc/self/smaps_rollup") is not None
    slabinfo = procfs.read("proc/slabinfo") is not None
    if smaps and slabinfo:
        yield Finding("proc", "ok", "smaps_rollup and slabinfo are readable")
    if not smaps:
        yield Finding(
            "proc",
            "note",
            "no smaps_rollup",
            "user memory is taken from coarser sources",
            "Linux 4.14 or later",
        )
    if not slabinfo:
        yield Finding(
            "proc",
            "note",
            "slabinfo is not readable",
            "the kernel's sockets and other objects are told by control group, or not at all",
            "run as root, or: sudo chmod a+r /proc/slabinfo",
        )


def check_descriptors(needs: Needs) -> Iterator[Finding]:
    """Each side of a connection takes one descriptor in its process."""
    needed = needs.connections + SPARE_DESCRIPTORS
    before, after = raise_descriptor_limit(needed)
    found = f"soft limit {_count(after)}"
    if after != before:
        found += f", raised from {_count(before)}"
    if after < needed:
        yield Finding(
            "descriptors",
            "refusal",
            f"{found}; {needed:,} needed",
            "the worker and the server cannot open their sockets",
            f"ulimit -n {needed} as root, or LimitNOFILE= / limits.conf",
        )
    else:
        yield Finding("descriptors", "ok", found)
    file_max = procfs.read_int("proc/sys/fs/file-max")
    used = procfs.to_int((procfs.read("proc/sys/fs/file-nr") or "").partition("\t")[0])
    if file_max is not None and used is not None and file_max - used < 2 * needed:
        yield Finding(
            "files",
            "refusal",
            f"{file_max - used:,} files left of fs.file-max; {2 * needed:,} needed",
            "both ends of every connection are a file of this machine",
            f"sysctl fs.file-max={used + 2 * needed}",
        )


def check_ports(needs: Needs) -> Iterator[Finding]:
    """A connection holds an ephemeral port for its server address.

    TIME_WAIT keeps it for another 60 s, but for that one server port only, and
    on loopback tcp_tw_reuse gives it back after a second: sockets left by other
    servers are a nuisance, not a limit. There can be more of them than ports.
    """
    text = procfs.read("proc/sys/net/ipv4/ip_local_port_range")
    words = [procfs.to_int(word) for word in (text or "").split()]
    if len(words) != 2 or words[0] is None or words[1] is None:
        yield Finding(
            "ports",
            "note",
            "the ephemeral port range is not readable",
            "too many connections fail with EADDRNOTAVAIL, unannounced",
        )
        return
    waiting = kernel.time_wait() or 0
    each = words[1] - words[0] + 1
    found = f"{each:,} ephemeral ports, {waiting:,} in TIME_WAIT"
    if needs.connections > each * needs.addresses:
        yield Finding(
            "ports",
            "refusal",
            f"{found}; {needs.connections:,} needed",
            "connecting fails with EADDRNOTAVAIL",
            'sysctl net.ipv4.ip_local_port_range="1024 65535", or several server addresses',
        )
    elif waiting > MANY_TIME_WAIT:
        yield Finding(
            "ports",
            "note",
            found,
            "the search for a free port takes longer, and a server that listens on the "
            "same port again runs out of them",
            "wait 60 s; the campaign drains them between trials",
        )
    else:
        yield Finding("ports", "ok", found)


def check_backlog(needs: Needs) -> Iterator[Finding]:
    """Connections that arrive faster than they are accepted wait in two queues."""
    somaxconn = procfs.read_int("proc/sys/net/core/somaxconn")
    if somaxconn is None:
        return
    if needs.connections > somaxconn:
        yield Finding(
            "backlog",
            "warning",
            f"somaxconn {somaxconn:,} for {needs.connections:,} connections",
            "connecting all at once overflows the accept queue: a SYN is lost and "
            "repeated after 1 s, which looks like a slow backend",
            f"sysctl net.core.somaxconn={needs.connections}, or open connections at a paced rate",
        )
    else:
        yield Finding("backlog", "ok", f"somaxconn {somaxconn:,}")
    conntrack = procfs.read_int("proc/sys/net/netfilter/nf_conntrack_max")
    tracked = procfs.read_int("proc/sys/net/netfilter/nf_conntrack_count") or 0
    if conntrack is not None and needs.connections > conntrack - tracked:
        yield Finding(
            "conntrack",
            "warning",
            f"room for {conntrack - tracked:,} tracked connections; {needs.connections:,} needed",
            "a firewall that tracks loopback drops what does not fit",
            f"sysctl net.netfilter.nf_conntrack_max={2 * needs.connections + tracked}",
        )


def thread_limits() -> Iterator[tuple[str, int, str]]:
    """(name, threads that still fit, mend) for every limit that counts threads."""
    tasks = (procfs.read("proc/loadavg") or "").split()
    running = (procfs.to_int(tasks[3].partition("/")[2]) or 0) if len(tasks) > 3 else 0
    for name, path in (("threads-max", "threads-max"), ("pid_max", "pid_max")):
        most = procfs.read_int(f"proc/sys/kernel/{path}")
        if most is not None:
            yield f"kernel.{name}", most - running, f"sysctl kernel.{path}={{}}"
    left = cgroups.tasks_left()
    if left is not None:
        yield "control group pids.max", left, "raise the container's or unit's task limit to {}"
    maps = procfs.read_int("proc/sys/vm/max_map_count")
    if maps is not None:
        fit = (maps - SPARE_MAPS) // MAPS_PER_THREAD
        yield "vm.max_map_count", fit, "sysctl vm.max_map_count={maps}"
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if processes != resource.RLIM_INFINITY and os.geteuid() != 0:
        # Root is exempt. Counted for the user, all processes and threads together.
        yield "RLIMIT_NPROC", processes - _own_threads(), "ulimit -u {}"
    if procfs.read_int("proc/sys/vm/overcommit_memory") == 2:
        fields = procfs.kib_fields(procfs.read("proc/meminfo") or "")
        room = fields.get("CommitLimit", 0) - fields.get("Committed_AS", 0)
        yield "strict overcommit", room // THREAD_STACK_BYTES, "sysctl vm.overcommit_memory=0"


def _own_threads() -> int:
    """How many threads the processes of this user have."""
    fields = psutil.process_iter(["uids", "num_threads"])
    own = [process.info for process in fields if process.info["uids"]]
    return sum(info["num_threads"] or 0 for info in own if info["uids"].real == os.getuid())


def check_threads(needs: Needs) -> Iterator[Finding]:
    """The tightest of six limits decides how many threads can be started."""
    limits = sorted(thread_limits(), key=lambda limit: limit[1])
    if not limits:
        yield Finding(
            "threads", "note", "no limit is readable", "starting threads may fail, unannounced"
        )
        return
    needed = needs.threads + SPARE_TASKS
    for name, fit, mend in limits:
        if fit < needed:
            how = mend.format(needed * 2, maps=needed * MAPS_PER_THREAD + SPARE_MAPS)
            yield Finding(
                "threads",
                "refusal",
                f"{name} leaves room for {fit:,} threads; {needed:,} needed",
                "the thread model cannot start its threads",
                how,
            )
    name, fit, _ = limits[0]
    if fit >= needed:
        yield Finding("threads", "ok", f"room for {fit:,} threads ({name} is the tightest)")


def check_processors(needs: Needs) -> Iterator[Finding]:
    """Client and server need a processor each."""
    pinning = cpu.split_cores()
    cores = cpu.usable_cores()
    if not pinning.client:
        yield Finding(
            "processors",
            "warning",
            f"{len(cores)} usable: {pinning.reason}",
            "client and server take time from each other; every throughput is too low and noisy",
            "two processors or more, on Linux",
        )
    elif pinning.reason is not None:
        yield Finding(
            "processors",
            "warning",
            f"{len(cores)} usable: {pinning.reason}",
            "each slows the other by sharing execution units",
            "switch off SMT or allow a second core",
        )
    else:
        found = f"{len(cores)} usable; client on {pinning.client}, server on {pinning.server}"
        yield Finding("processors", "ok", found)
    quota = cgroups.cpu_quota()
    if quota is not None and quota < 2:
        yield Finding(
            "quota",
            "warning",
            f"{quota:g} processors' worth of time",
            "the scheduler stops client and server for the rest of each period: "
            "latencies of 50 ms and more that no backend causes",
            "lift the container's CPU limit to 2 or more",
        )


def check_noise(needs: Needs) -> Iterator[Finding]:
    """Other programs, other guests, and a clock that moves."""
    load = host.load1()
    if load is not None and load > BUSY_LOAD:
        yield Finding(
            "load",
            "warning",
            f"load average {load:.2f}",
            "other programs ran within the last minute; wide intervals, a high noise floor",
            "stop them, or wait until the load is below 0.5",
        )
    elif load is not None:
        yield Finding("load", "ok", f"load average {load:.2f}")
    before = host.steal()
    if before is not None:
        time.sleep(STEAL_LOOK_S)
        stolen = ((host.steal() or before) - before) / STEAL_LOOK_S / (os.cpu_count() or 1)
        up = time.clock_gettime(time.CLOCK_BOOTTIME) * (os.cpu_count() or 1)
        share = max(stolen, before / up)
        if share > STEAL_SHARE:
            yield Finding(
                "steal",
                "warning",
                f"{share:.1%} of processor time went to other guests",
                "trials lose time to neighbours at random",
                "a dedicated host, or more blocks",
            )
        else:
            yield Finding("steal", "ok", f"{share:.1%} of processor time stolen")
    yield from check_frequency()


def check_frequency() -> Iterator[Finding]:
    """A governor that ramps up makes the first trial of a block slow; turbo makes it fast."""
    governor = procfs.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor is None:
        yield Finding(
            "frequency",
            "note",
            "scaling is not visible",
            "usual in a virtual machine; the host probe around each trial shows if it moves",
        )
        return
    governor = governor.strip()
    if governor != "performance":
        yield Finding(
            "frequency",
            "warning",
            f"governor {governor}",
            "the processor speeds up only under load: short and idle trials run slower",
            "sudo cpupower frequency-set -g performance",
        )
    else:
        yield Finding("frequency", "ok", "governor performance")
    no_turbo = procfs.read_int("sys/devices/system/cpu/intel_pstate/no_turbo")
    boost = procfs.read_int("sys/devices/system/cpu/cpufreq/boost")
    if no_turbo == 0 or boost == 1:
        yield Finding(
            "turbo",
            "note",
            "on",
            "speed depends on temperature and on how many cores are busy",
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, "
            "or 0 > /sys/devices/system/cpu/cpufreq/boost",
        )


def check_memory(needs: Needs) -> Iterator[Finding]:
    """What is held must fit, and must stay in memory."""
    need = needs.connections * BYTES_PER_CONNECTION + needs.threads * BYTES_PER_THREAD
    available = int(psutil.virtual_memory().available)
    limit = cgroups.memory_limit()
    if limit is not None:
        available = min(available, limit)
    found = f"{_mib(available)} available"
    if need > available:
        yield Finding(
            "memory",
            "refusal",
            f"{found}; {_mib(need)} needed",
            "the kernel would end the worker or the harness",
            "more memory, or fewer connections",
        )
    elif need > available / 2:
        yield Finding(
            "memory",
            "warning",
            f"{found}; {_mib(need)} needed",
            "the kernel starts to reclaim: memory figures come out too low",
            "more memory, or fewer connections",
        )
    else:
        yield Finding("memory", "ok", found)
    swap = psutil.swap_memory()
    if swap.used:
        yield Finding(
            "swap",
            "warning",
            f"{_mib(swap.used)} of {_mib(swap.total)} in use",
            "paging stops a trial for milliseconds; resident sizes are too low",
            "free memory, then: sudo swapoff -a && sudo swapon -a",
        )
    elif swap.total:
        yield Finding("swap", "note", f"{_mib(swap.total)}, unused", "cold memory may be paged out")
    yield from check_paging()


def check_paging() -> Iterator[Finding]:
    """Kernel features that make a process look larger or smaller than it is."""
    text = procfs.read("sys/kernel/mm/transparent_hugepage/enabled") or ""
    if "[always]" in text:
        yield Finding(
            "huge pages",
            "warning",
            "transparent huge pages: always",
            "thread stacks and heaps are rounded up to 2 MiB; user memory per thread is too high",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    elif text:
        chosen = text.partition("[")[2].partition("]")[0]
        yield Finding("huge pages", "ok", f"transparent huge pages: {chosen}")
    states = (procfs.ROOT / "sys/kernel/mm/damon/admin/kdamonds").glob("*/state")
    reclaim = (procfs.read("sys/module/damon_reclaim/parameters/enabled") or "").strip() == "Y"
    if reclaim or any(
        (procfs.read(str(s.relative_to(procfs.ROOT))) or "") == "on\n" for s in states
    ):
        yield Finding(
            "cold memory",
            "note",
            "DAMON watches memory",
            "cold pages of files may be dropped: resident sizes (RSS) mislead, "
            "private anonymous memory does not",
        )


def check_disk(needs: Needs) -> Iterator[Finding]:
    """Records are appended and synced after each trial."""
    there = next(path for path in (needs.folder, *needs.folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < DISK_WARNING:
        yield Finding(
            "disk",
            "refusal" if free < DISK_REFUSAL else "warning",
            f"{_mib(free)} free",
            "a campaign's records and charts may not fit",
            "free some space, or choose another folder for results",
        )
    else:
        yield Finding("disk", "ok", f"{_mib(free)} free")


def check_tools(needs: Needs) -> Iterator[Finding]:
    """Programs that are not needed, but make a result stronger."""
    if shutil.which("wrk"):
        yield Finding("wrk", "ok", "installed")
    else:
        yield Finding(
            "wrk",
            "note",
            "not installed",
            "the server's ceiling is measured with the built-in client, which is slower: "
            "more trials may be called unclear",
            "apt install wrk, brew install wrk",
        )
    paranoid = procfs.read_int("proc/sys/kernel/perf_event_paranoid")
    if shutil.which("perf") and (paranoid is None or paranoid <= 2 or os.geteuid() == 0):
        yield Finding("perf", "ok", "installed (not needed)")


def check_interpreter(needs: Needs) -> Iterator[Finding]:
    """Two builds of one version differ by a third."""
    arguments = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    if sysconfig.get_config_var("Py_DEBUG"):
        yield Finding(
            "interpreter",
            "warning",
            "debug build",
            "several times slower, and not by the same factor everywhere",
            "use a release build",
        )
    elif arguments and "--enable-optimizations" not in arguments:
        yield Finding(
            "interpreter",
            "note",
            "built without profile-guided optimisation",
            "up to a third slower than most distributions' builds; "
            "ratios hold, absolute figures are this build's own",
            "use a build made with --enable-optimizations --with-lto",
        )
    else:
        yield Finding("interpreter", "ok", "optimised build" if arguments else "build unknown")


def check_container(needs: Needs) -> Iterator[Finding]:
    """Some limits can only be mended from outside."""
    marks = ("/.dockerenv", "/run/.containerenv")
    if any((procfs.ROOT / mark.lstrip("/")).exists() for mark in marks):
        yield Finding(
            "container",
            "note",
            "this is a container",
            "sysctl settings and slabinfo are usually the host's and out of reach",
            "docker run --sysctl net.core.somaxconn=65535 --ulimit nofile=200000",
        )


CHECKS: tuple[Callable[[Needs], Iterator[Finding]], ...] = (
    check_platform,
    check_descriptors,
    check_ports,
    check_backlog,
    check_threads,
    check_processors,
    check_noise,
    check_memory,
    check_disk,
    check_tools,
    check_interpreter,
    check_container,
)

# What can make a workload impossible; quick, so asked again before each workload.
LIMITS = (check_descriptors, check_ports, check_threads, check_memory, check_disk)


def require_proc() -> None:
    """Raise :class:`DoctorError` on a Linux without /proc, where next to nothing can be read."""
    if sys.platform.startswith("linux") and not Path("/proc/self").exists():
        raise DoctorError("no /proc here, so nothing can be measured: mount -t proc proc /proc")


def examine(connections: int = 0, threads: int = 0, folder: Path = Path()) -> list[Finding]:
    """Look at everything, for a workload of this size. Takes about half a second.

    ``folder`` is where the records go. Raises :class:`DoctorError` on a Linux without /proc.
    """
    require_proc()
    needs = Needs(connections, threads, folder=folder)
    return [finding for check in CHECKS for finding in check(needs)]


def refuse(
    connections: int = 0, threads: int = 0, addresses: int = 1, folder: Path = Path()
) -> str | None:
    """Why such a workload cannot be run here, with the numbers needed; None when it can.

    ``connections`` are held by the worker and again by the server, to one of
    ``addresses`` server addresses each; ``threads`` is what the worker starts,
    and ``folder`` is where the records go.
    """
    needs = Needs(connections, threads, addresses, folder)
    refusals = [
        f"{finding.check}: {finding.found} ({finding.mend})"
        for check in LIMITS
        for finding in check(needs)
        if finding.level == "refusal"
    ]
    return "; ".join(refusals) or None


COLOURS: dict[Level, str] = {"ok": "green", "note": "cyan", "warning": "yellow", "refusal": "red"}


def show(findings: Sequence[Finding]) -> None:
    """Print the findings, the grave ones last; colour on terminals only."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    order = list(COLOURS)
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in sorted(findings, key=lambda finding: order.index(finding.level)):
        level = Text(finding.level, style=COLOURS[finding.level])
        table.add_row(level, Text(finding.check), Text(finding.found))
        if finding.effect:
            table.add_row("", "", Text(finding.effect, style="dim"))
        if finding.mend:
            table.add_row("", "", Text(f"→ {finding.mend}"))
    Console(highlight=False).print(table)
    count = [sum(f.level == level for f in findings) for level in order]
    print(", ".join(f"{n} {level}" for n, level in zip(count, order, strict=True) if n))


def _number(text: str) -> int:
    """A count that is not negative, for argparse."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


_number.__name__ = "number"  # argparse names the type by it in its errors


def main(argv: Sequence[str] | None = None) -> int:
    """``python -m bench doctor``: 0 when the workload can be run, 1 when not, 2 for bad usage."""
    parser = argparse.ArgumentParser(
        prog="python -m bench doctor",
        description="Say whether this machine is fit to measure on, and how to mend it.",
        epilog=f"Without numbers: fit for the quick profile ({QUICK_CONNECTIONS:,} connections).",
    )
    parser.add_argument("--connections", type=_number, default=QUICK_CONNECTIONS, metavar="N")
    parser.add_argument(
        "--threads", type=_number, metavar="N", help="default: one for each connection"
    )
    parser.add_argument("--json", action="store_true", help="a list of findings, for programs")
    try:
        chosen = parser.parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    threads = chosen.connections if chosen.threads is None else chosen.threads
    findings = examine(chosen.connections, threads)
    if chosen.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    else:
        show(findings)
    return int(any(finding.level == "refusal" for finding in findings))
