"""Processor time of a process, and which processors it may run on.

:func:`times` counts every thread of a process, those that have ended included.
The total comes from the process's CPU-time clock (``clock_getcpuclockid(3)``),
which counts nanoseconds; the kernel's split into user and system time is kept
in clock ticks of 10 ms only, so each half is good to 5 ms. Sum them when small
differences matter.

Pinning keeps one processor for the client, because every model here is one
process behind one interpreter lock: a second processor would add migrations of
the lock, which differ between models, and no throughput. It keeps the server
off the client's core and off its sibling hyper-thread.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

import psutil

from bench.probes import procfs

FAST_ENOUGH = 0.9  # of the fastest core: big.LITTLE and hybrid processors mix kinds


@dataclass(frozen=True, slots=True)
class Pinning:
    """Which processors each side gets. Empty lists mean "not pinned", and why."""

    client: list[int]
    server: list[int]
    reason: str | None
    # The harness sleeps while a trial is timed, so it may share the server's core.
    harness: list[int] = field(default_factory=list)


def total_clock(pid: int) -> float | None:
    """Seconds of processor time of ``pid``, all threads, ns resolution; None off Linux.

    The clock's number is made as ``clock_getcpuclockid(3)`` makes it (glibc and
    musl alike); the standard library offers that call for own threads only.
    """
    if not os.path.isdir("/proc/self"):
        return None
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except (OSError, OverflowError):
        return None


def settle(user: float, system: float, total: float | None, tick: float) -> tuple[float, float]:
    """Share out ``total`` over the coarse ``user`` and ``system``, each cut down to a tick.

    Both lost between nothing and one tick to the cut. The remainder is shared
    equally, which is off by half a tick at most; the sum is exact.
    """
    if total is None:
        return user, system
    missing = total - user - system
    if not 0 <= missing <= 2 * tick:
        # Read a moment apart, or clocks that disagree: keep the kernel's ratio.
        whole = user + system
        return (total * user / whole, total * system / whole) if whole else (total, 0.0)
    return user + missing / 2, system + missing / 2


def times(pid: int) -> tuple[float, float]:
    """User and system seconds of ``pid``, every thread counted, since it started.

    The sum has nanosecond resolution on Linux, each part half a clock tick
    (5 ms); elsewhere both are what psutil gives (microseconds on macOS).
    Children are not counted. Raises psutil.NoSuchProcess when it has ended.
    """
    coarse = psutil.Process(pid).cpu_times()
    tick = 1 / os.sysconf("SC_CLK_TCK")
    return settle(float(coarse.user), float(coarse.system), total_clock(pid), tick)


def usable_cores() -> list[int]:
    """Processors this process may run on, sorted. macOS has no affinity: all of them."""
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
    """How fast a core can be, in units that compare cores of one machine; 0 unknown."""
    folder = f"sys/devices/system/cpu/cpu{core}"
    return (
        procfs.read_int(f"{folder}/cpufreq/cpuinfo_max_freq")
        or procfs.read_int(f"{folder}/cpu_capacity")
        or 0
    )


def split_cores(cores: list[int] | None = None) -> Pinning:
    """One core for the client, another for the server, the rest for the harness.

    The server gets the first of the fast cores and the client the last, since
    interrupts go to the first by default. With two processors the harness
    shares the server's; with one, or without affinity, nothing is pinned and
    the reason says what that does.
    """
    if not hasattr(os, "sched_setaffinity"):
        return Pinning([], [], "this platform cannot pin processes to processors")
    cores = usable_cores() if cores is None else cores
    if len(cores) < 2:
        return Pinning([], [], "one processor only: client and server compete for it")
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
    return Pinning([client], [server], reason, [c for c in cores if c not in busy] or [server])


def pin(pid: int, cores: list[int]) -> str | None:
    """Keep every thread of ``pid`` on ``cores``; None when done, else the reason why not.

    Threads and children started later inherit it.
    """
    if not hasattr(os, "sched_setaffinity"):
        return "this platform cannot pin processes to processors"
    if not cores:
        return "no processors given"
    try:
        threads = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        threads = [pid]
    try:
        for thread in threads:
            os.sched_setaffinity(thread, cores)
    except OSError as error:
        return f"could not pin: {error.strerror}"
    return None
