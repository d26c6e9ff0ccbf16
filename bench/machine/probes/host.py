"""How noisy the host is around a trial: a fixed loop, stolen time, load, frequency.

The loop is the same Python code before and after every trial. If its time changes,
the machine changed, not the backend.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from bench.machine.probes import procfs
from bench.schema import HostNoise

LOOP = 100_000  # steps: roughly 10 ms on a 2020s processor
REPEATS = 3


def loop(steps: int) -> int:
    """A fixed piece of integer work (a linear congruential generator)."""
    x = 1
    for _ in range(steps):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def spin() -> float:
    """Seconds of the fixed loop, the best of three.

    The best, because this is about the speed of the processor; ``steal_s`` and load
    show whether something else took it away for a moment.
    """
    best = float("inf")
    for _ in range(REPEATS):
        started = time.perf_counter()
        loop(LOOP)
        best = min(best, time.perf_counter() - started)
    return best


def parse_steal(text: str) -> int | None:
    """Stolen clock ticks of all processors together, from /proc/stat; None if absent."""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["cpu"] and len(words) > 8:
            return procfs.to_int(words[8])
    return None


def steal() -> float | None:
    """Seconds since boot that the hypervisor gave to other guests, summed over processors."""
    ticks = parse_steal(procfs.read("proc/stat") or "")
    return ticks / os.sysconf("SC_CLK_TCK") if ticks is not None else None


def parse_mhz(text: str) -> float | None:
    """Mean of the ``cpu MHz`` lines of /proc/cpuinfo; None without any (ARM has none)."""
    found = []
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip() == "cpu MHz":
            try:
                found.append(float(value))
            except ValueError:
                continue
    return sum(found) / len(found) if found else None


def mhz() -> float | None:
    """Mean frequency of the processors now, from cpufreq or /proc/cpuinfo; None without both.

    In a virtual machine this is usually the nominal frequency and never changes.
    """
    kilohertz = [
        value
        for core in range(os.cpu_count() or 1)
        if (value := procfs.read_int(f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq"))
    ]
    if kilohertz:
        return sum(kilohertz) / len(kilohertz) / 1000
    return parse_mhz(procfs.read("proc/cpuinfo") or "")


def load1() -> float | None:
    """Load average over one minute; None where the platform has none."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Before:
    """The host before a trial; hand it to :func:`finish`."""

    probe_s: float
    steal_s: float | None
    load1: float | None


def start() -> Before:
    """Probe the host before a trial (about 30 ms)."""
    return Before(spin(), steal(), load1())


def finish(before: Before) -> HostNoise:
    """Probe it again and report what happened in between.

    ``load1`` is from before the trial; afterwards, the trial itself dominates it.
    """
    stolen = steal()
    return HostNoise(
        probe_before_s=before.probe_s,
        probe_after_s=spin(),
        steal_s=None if stolen is None or before.steal_s is None else stolen - before.steal_s,
        load1=before.load1,
        mhz=mhz(),
    )
