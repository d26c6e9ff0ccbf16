"""How noisy the host is around a trial: a fixed loop, stolen time, load, frequency.

The loop is the same Python code before and after every trial. If its time changes,
the machine changed, not the backend.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

from bench.machine import procfs
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


def steal(processors: Sequence[int] | None = None) -> float | None:
    """Seconds since boot that the hypervisor gave to other guests, in ticks of 10 ms.

    Summed over these processors, or over all; None where one of them is unknown.
    """
    rows = {row[0]: row for row in map(str.split, (procfs.read("proc/stat") or "").splitlines())}
    names = ["cpu"] if processors is None else [f"cpu{number}" for number in processors]
    counters = [rows.get(name, []) for name in names]
    if not counters or any(len(row) < 9 for row in counters):
        return None
    return sum(int(row[8]) for row in counters) / os.sysconf("SC_CLK_TCK")


def mhz() -> float | None:
    """Mean frequency of the processors now; None where it is unknown (many ARM kernels).

    In a virtual machine this is usually the nominal frequency and never changes.
    """
    with suppress(NotImplementedError, OSError):
        if frequency := psutil.cpu_freq():
            return float(frequency.current)
    return None


@dataclass(frozen=True, slots=True)
class Before:
    probe_s: float
    steal_s: float | None
    load1: float


def start() -> Before:
    """Probe the host before a trial (about 30 ms)."""
    return Before(spin(), steal(), os.getloadavg()[0])


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
