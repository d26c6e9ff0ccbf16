"""How many threads one process can start, all asleep, and what stops it."""

from __future__ import annotations

from threading import Lock, Thread
from time import perf_counter

import psutil

from bench.claims.experiments.outcome import Outcome
from bench.probes import procfs
from bench.probes.environment import SYSCTL

TARGET = 30_000
"""Comfortably "tens of thousands", and below the default ``pid_max`` of 32,768, which is the
whole machine's: more would keep every other program from starting a process meanwhile."""
LOOK_EVERY = 500
KEEP_FREE_BYTES = 1 << 30
LIMITS = ("threads_max", "pid_max", "max_map_count")


def measure() -> Outcome:
    """Start threads that wait for a lock, until the target, an error, or little free memory."""
    gate = Lock()
    gate.acquire()
    outcome = Outcome()
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
    outcome.values["started"] = float(started)
    outcome.values["start_us"] = 1e6 * (perf_counter() - began) / max(started, 1)
    outcome.facts["note"] = stopped_by
    for name in LIMITS:
        limit = procfs.read_int(f"proc/sys/{SYSCTL[name]}")
        if limit is not None:
            outcome.facts[name] = limit
    return outcome
