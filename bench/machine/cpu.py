"""Processor time of a process, and which processors it may run on.

The time comes from the process's CPU-time clock (``clock_getcpuclockid(3)``), which counts
nanoseconds. The kernel's split into user and system time is kept in clock ticks of 10 ms only.

Pinning gives a client with one thread one processor: it can use no more, and costs the same on
several. It keeps the server off the client's core and off its sibling hyper-thread. A client
with several threads gets all processors but the server's (:meth:`Pinning.unpinned`), because
nobody pins such a program, and on one processor a page costs it less than half.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace

from bench.machine import procfs
from bench.schema import SpreadOver

FAST_ENOUGH = 0.9  # of the fastest core: big.LITTLE and hybrid processors mix kinds


@dataclass(frozen=True, slots=True)
class Pinning:
    """Which processors each side gets; if the lists are empty, the reason for not pinning."""

    client: list[int]
    server: list[int]
    reason: str | None
    # The harness sleeps while a trial is timed, so it may share the server's core.
    harness: list[int] = field(default_factory=list)
    usable: list[int] = field(default_factory=list, compare=False)

    @property
    def shared(self) -> bool:
        return bool(set(self.client) & set(self.server))

    def unpinned(self) -> Pinning:
        """The same for a client with several threads: all processors but the server's.

        With two processors that would be one, so there the client shares the server's.
        """
        apart = self.spread("apart")
        return apart if len(apart.client) != 1 else replace(self, client=self.usable)

    def spread(self, how: SpreadOver, over: int | None = None) -> Pinning:
        """The same for a client that may use every processor, as far as the server lets it.

        ``apart`` leaves the server its core and, if there are others, its hyper-thread's
        sibling; with two processors one is left for the client. ``shared`` gives both
        sides every processor. ``over`` is the number of processors for a client ``apart``,
        all that are left without it; each is of another core as long as there are cores.
        Without pinning nothing changes.
        """
        if not self.client:
            return self
        if how == "shared":
            return replace(self, client=self.usable, server=self.usable)
        taken = {sibling for core in self.server for sibling in siblings(core)}
        left = [core for core in self.usable if core not in taken]
        if over is not None:
            left = sorted(by_core(left)[:over])
        return replace(self, client=left or self.client)


def by_core(processors: list[int]) -> list[int]:
    first: list[int] = []
    for number in processors:
        if not siblings(number) & set(first):
            first.append(number)
    return first + [number for number in processors if number not in first]


def total_clock(pid: int) -> float | None:
    """Seconds of processor time of ``pid``, ns resolution; None if it has ended.

    All threads, those that have ended too; no children. Calculates the clock's number like
    ``clock_getcpuclockid(3)`` in glibc and musl; the standard library offers that call only for
    threads of its own process.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except (OSError, OverflowError):
        return None


def ended_s(pid: int) -> float:
    """Seconds of the children that ``pid`` has waited for, in clock ticks; 0 if it has ended."""
    fields = (procfs.read(f"proc/{pid}/stat") or "").rpartition(")")[2].split()
    return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")


def usable_cores() -> list[int]:
    """Processors this process may run on, sorted; all where a list of what to measure is read."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def siblings(core: int) -> set[int]:
    """Processors that share a physical core with ``core``, itself included."""
    text = procfs.read(f"sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
    try:
        return set(procfs.processor_list(text or "")) | {core}
    except ValueError:
        return {core}


def speed(core: int) -> int:
    """The top speed of a core, comparable within one machine only; 0 if unknown."""
    folder = f"sys/devices/system/cpu/cpu{core}"
    return (
        procfs.read_int(f"{folder}/cpufreq/cpuinfo_max_freq")
        or procfs.read_int(f"{folder}/cpu_capacity")
        or 0
    )


def split_cores(cores: list[int] | None = None) -> Pinning:
    """One core for the client, another for the server, the rest for the harness.

    The server gets the first of the fast cores and the client the last, since
    interrupts go to the first by default. With two processors the harness shares the
    server's. With one nothing is pinned, and ``reason`` says what follows.
    """
    cores = usable_cores() if cores is None else cores
    if len(cores) < 2:
        return Pinning([], [], "only one processor: client and server compete for it")
    fastest = max(speed(core) for core in cores)
    fast = [core for core in cores if speed(core) >= FAST_ENOUGH * fastest]
    client = fast[-1]
    others = [core for core in fast + cores if core not in siblings(client)]
    reason = None
    if not others:
        others = [core for core in cores if core != client]
        reason = "client and server share one physical core (hyper-threads)"
    server = others[0]
    busy = siblings(client) | siblings(server)
    harness = [core for core in cores if core not in busy] or [server]
    return Pinning([client], [server], reason, harness, usable=cores)


def pin(pid: int, cores: list[int]) -> str | None:
    """Keep every thread of ``pid`` on ``cores``; returns None, or the reason for failing.

    Threads and children started later inherit the setting.
    """
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), cores)
    except OSError as error:
        return f"could not pin: {error.strerror}"
    return None
