"""How many sleeping threads one process can start, and which limit stops it."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
NEAR = 0.99
"""A limit of which so large a share is used is the one that was hit."""


def used() -> dict[str, int]:
    """How much of each limit is in use: threads of the machine, or mappings of this process."""
    loadavg = (procfs.read("proc/loadavg") or "").split()
    tasks = int(loadavg[3].partition("/")[2]) if len(loadavg) > 3 else 0
    maps = (procfs.read(f"proc/{os.getpid()}/maps") or "").count("\n")
    return {"threads_max": tasks, "pid_max": tasks, "max_map_count": maps}


def hit(limits: Mapping[str, int], in_use: Mapping[str, int]) -> str:
    """The limit that stopped the threads, in words."""
    shares = {name: in_use.get(name, 0) / limit for name, limit in limits.items() if limit}
    nearest = max(shares, key=lambda name: shares[name], default=None)
    if nearest is None or shares[nearest] < NEAR:
        return "no limit known here was hit"
    name = SYSCTL[nearest].replace("/", ".")
    return f"the limit hit is {name}: {in_use[nearest]:,} of {limits[nearest]:,} in use"


def measure() -> ExperimentResult:
    """Start threads that wait for a lock, until the target, an error, or little free memory."""
    gate = Lock()
    gate.acquire()
    result = ExperimentResult()
    started, failed = 0, False
    stopped_by = f"no error; the target of {TARGET:,} was reached"
    began = perf_counter()
    while started < TARGET:
        if started % LOOK_EVERY == 0 and psutil.virtual_memory().available < KEEP_FREE_BYTES:
            stopped_by = "less than 1 GiB of memory was free"
            break
        try:
            Thread(target=gate.acquire, daemon=True).start()
        except RuntimeError as error:
            stopped_by, failed = f"{type(error).__name__}: {error}", True
            break
        started += 1
    spent = perf_counter() - began
    limits = {
        name: limit
        for name in LIMITS
        if (limit := procfs.read_int(f"proc/sys/{SYSCTL[name]}")) is not None
    }
    if failed:
        stopped_by += f" after {started:,} threads; {hit(limits, used())}"
    result.values["started"] = float(started)
    result.values["failed"] = 100.0 * failed
    result.values["start_us"] = 1e6 * spent / max(started, 1)
    result.facts["note"] = stopped_by
    result.facts.update(limits)
    return result
