"""Descriptors and threads: the limits that decide how large a workload can be."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from bench.machine.doctor.result import CheckResult, Needs
from bench.machine.probes import cgroups, kernel, procfs

SPARE_DESCRIPTORS = 128  # standard streams, modules, the control plane, epoll
SPARE_TASKS = 64
SPARE_MAPS = 1000  # libraries, heaps and arenas of an interpreter
MAPS_PER_THREAD = 2  # a stack and its guard page
THREAD_STACK_BYTES = 8 << 20  # address space, unless RLIMIT_STACK says otherwise
MAX_MAP_COUNT = "vm.max_map_count"


def raise_descriptor_limit(needed: int = 0) -> tuple[int, int]:
    """Raise the soft descriptor limit to the hard one; returns (before, after).

    If ``needed`` exceeds the hard limit, tries to raise that too, which root may
    do up to fs.nr_open. Applies to this process and to those it starts. Never
    raises an error: compare the second number with what you need.
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
    return _comparable(soft), _comparable(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _comparable(limit: int) -> int:
    """A limit as a number that can be compared: "unlimited" becomes very large."""
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


def _words(limit: int) -> str:
    """A limit for display."""
    return "unlimited" if limit >= sys.maxsize else f"{limit:,}"


def check_descriptors(needs: Needs) -> Iterator[CheckResult]:
    """Each end of a connection takes one descriptor in its process."""
    needed = needs.connections + SPARE_DESCRIPTORS
    before, after = raise_descriptor_limit(needed)
    found = f"soft limit {_words(after)}"
    if after != before:
        found += f", raised from {_words(before)}"
    if after < needed:
        yield CheckResult(
            "descriptors",
            "refusal",
            f"{found}; {needed:,} needed",
            "the worker and the server cannot open their sockets",
            f"run ulimit -n {needed} as root, or set LimitNOFILE= or limits.conf",
        )
    else:
        yield CheckResult("descriptors", "ok", found)
    used, file_max = kernel.files()
    if used is not None and file_max is not None and file_max - used < 2 * needed:
        yield CheckResult(
            "files",
            "refusal",
            f"{file_max - used:,} files left of fs.file-max; {2 * needed:,} needed",
            "each end of a connection counts as an open file on this machine",
            f"sysctl fs.file-max={used + 2 * needed}",
        )


@dataclass(frozen=True, slots=True)
class ThreadLimit:
    """A limit on the number of threads, and how many more it allows.

    ``fix`` is a template: ``{}`` stands for the number of threads, ``{maps}``
    for the number of memory mappings.
    """

    name: str
    left: int
    fix: str


def thread_limits() -> Iterator[ThreadLimit]:
    """Every limit on the number of threads that this machine shows."""
    tasks = (procfs.read("proc/loadavg") or "").split()
    running = (procfs.to_int(tasks[3].partition("/")[2]) or 0) if len(tasks) > 3 else 0
    for name in ("threads-max", "pid_max"):
        most = procfs.read_int(f"proc/sys/kernel/{name}")
        if most is not None:
            yield ThreadLimit(f"kernel.{name}", most - running, f"sysctl kernel.{name}={{}}")
    left = cgroups.tasks_left()
    if left is not None:
        fix = "raise the task limit of the container or systemd unit to {}"
        yield ThreadLimit("control group pids.max", left, fix)
    maps = procfs.read_int("proc/sys/vm/max_map_count")
    if maps is not None:
        fit = (maps - SPARE_MAPS) // MAPS_PER_THREAD
        yield ThreadLimit(MAX_MAP_COUNT, fit, f"sysctl {MAX_MAP_COUNT}={{maps}}")
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if processes != resource.RLIM_INFINITY and os.geteuid() != 0:
        # Root is exempt. The limit counts all processes and threads of the user.
        yield ThreadLimit("RLIMIT_NPROC", processes - _own_threads(), "ulimit -u {}")
    if procfs.read_int("proc/sys/vm/overcommit_memory") == 2:
        fields = procfs.kib_fields(procfs.read("proc/meminfo") or "")
        room = fields.get("CommitLimit", 0) - fields.get("Committed_AS", 0)
        fit = room // THREAD_STACK_BYTES
        yield ThreadLimit("strict overcommit", fit, "sysctl vm.overcommit_memory=0")


def _own_threads() -> int:
    """How many threads the processes of this user have."""
    fields = psutil.process_iter(["uids", "num_threads"])
    own = [process.info for process in fields if process.info["uids"]]
    return sum(info["num_threads"] or 0 for info in own if info["uids"].real == os.getuid())


def check_threads(needs: Needs) -> Iterator[CheckResult]:
    """Several limits count threads; the tightest decides how many can be started."""
    limits = sorted(thread_limits(), key=lambda limit: limit.left)
    if not limits:
        yield CheckResult(
            "threads", "note", "no limit is readable", "starting threads may fail without warning"
        )
        return
    needed = needs.threads + SPARE_TASKS
    for limit in limits:
        if limit.left < needed:
            yield CheckResult(
                "threads",
                "refusal",
                f"{limit.name} leaves room for {limit.left:,} threads; {needed:,} needed",
                "the thread model cannot start its threads",
                limit.fix.format(needed * 2, maps=needed * MAPS_PER_THREAD + SPARE_MAPS),
            )
    tightest = limits[0]
    if tightest.left >= needed:
        found = f"room for {tightest.left:,} threads ({tightest.name} is the tightest limit)"
        yield CheckResult("threads", "ok", found)
