"""How many sleeping threads one process can start, and what stops it."""

from __future__ import annotations

from threading import Lock, Thread
from time import perf_counter

import psutil

from bench.claims.experiments.result import ExperimentResult
from bench.machine.probes import procfs
from bench.machine.probes.environment import SYSCTL

TARGET = 30_000
"""Certainly "tens of thousands", and below the default ``pid_max`` of 32,768 for the whole
machine: more would keep every other program from starting a process."""
LOOK_EVERY = 500
KEEP_FREE_BYTES = 1 << 30
LIMITS = ("threads_max", "pid_max", "max_map_count")


def measure() -> ExperimentResult:
    """Start threads that wait for a lock, until the target, an error, or little free memory."""
    gate = Lock()
    gate.acquire()
    result = ExperimentResult()
    started, stopped_by = 0, f"the target of {TARGET:,} was reached"
    began = perf_counter()
    while started < TARGET:
        if started % LOOK_EVERY == 0 and psutil.virtual_memory().available < KEEP_FREE_BYTES:
            stopped_by = "less than 1 GiB of memory was free"
            break
        try:
            Thread(target=gate.acquire, daemon=True).start()
        except RuntimeError as error:
            stopped_by = f"{type(error).__name__}: {error}"
            break
        started += 1
    result.values["started"] = float(started)
    result.values["start_us"] = 1e6 * (perf_counter() - began) / max(started, 1)
    result.facts["note"] = stopped_by
    for name in LIMITS:
        limit = procfs.read_int(f"proc/sys/{SYSCTL[name]}")
        if limit is not None:
            result.facts[name] = limit
    return result
