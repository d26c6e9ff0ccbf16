"""Connections and memory against time, while a barrier fills up and opens.

Watched cheaply from outside: the server reports how many connections are open, and
``/proc/PID/status`` how much memory the worker has. That file costs the same with
ten thousand threads as with one, whereas smaps_rollup walks every mapping and is
read only once, at the barrier. Memory here is therefore a little less exact (the
kernel counts RssAnon in batches).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from bench.machine.probes import memory, procfs
from bench.schema import Ramp
from bench.text import KIB

KEPT = 100
"""Samples that a record keeps of one trial: as many as a chart can show."""


@dataclass(slots=True)
class Watch:
    """Samples of one trial, from ``go`` on."""

    pid: int
    _stack: int | None = field(init=False)
    _began: float = field(init=False)
    _samples: list[tuple[int, int, int | None]] = field(default_factory=list)
    _opened_ms: int | None = None

    def __post_init__(self) -> None:
        self._stack = memory.kernel_stack_bytes()
        self._began = time.monotonic()

    def look(self, connections: int) -> None:
        """Add a sample: ``connections`` at the server, and the worker's memory now."""
        self._samples.append((self._now_ms(), connections, own_kib(self.pid, self._stack)))

    def opens(self) -> None:
        """Note that the barrier opens now."""
        self._opened_ms = self._now_ms()

    def _now_ms(self) -> int:
        return round(1000 * (time.monotonic() - self._began))

    def ramp(self) -> Ramp | None:
        """The samples, thinned; None without any."""
        if not self._samples:
            return None
        kept = thinned([connections for _, connections, _ in self._samples])
        times, connections, own = zip(*(self._samples[i] for i in kept), strict=True)
        return Ramp(
            at_ms=list(times),
            connections=list(connections),
            own_kib=list(own),
            opened_ms=self._opened_ms,
        )


def thinned(connections: list[int], most: int = KEPT) -> list[int]:
    """Indexes of at most ``most`` samples: evenly spread, plus the peak's two ends and the last."""
    if len(connections) <= most:
        return list(range(len(connections)))
    top = max(connections)
    first = connections.index(top)
    last = len(connections) - 1 - connections[::-1].index(top)
    edges = {first, last, len(connections) - 1}
    step = math.ceil(len(connections) / (most - len(edges)))
    return sorted({*range(0, len(connections), step), *edges})


def own_kib(pid: int, stack_bytes: int | None) -> int | None:
    """User memory, page tables and kernel stacks of a process in KiB; None if unreadable."""
    fields = procfs.kib_fields(procfs.read(f"proc/{pid}/status") or "")
    user, tables, threads = (fields.get(name) for name in ("RssAnon", "VmPTE", "Threads"))
    if user is None or tables is None or threads is None or stack_bytes is None:
        return None
    return (user + tables + threads * stack_bytes) // KIB
