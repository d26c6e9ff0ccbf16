"""One look at a worker, at its server, and at the machine they share."""

from __future__ import annotations

from dataclasses import dataclass, field

import psutil

from bench.machine.probes import cgroups, procfs, slabs
from bench.machine.probes.memory.free import free_memory
from bench.machine.probes.memory.processes import (
    OwnMemory,
    kernel_stack_bytes,
    own_memory,
    process_parts,
    total,
)
from bench.machine.probes.slabs import Slabs
from bench.schema import MemoryParts


@dataclass(frozen=True, slots=True)
class Reading:
    """Memory at one moment.

    Machine-wide parts of ``parts`` are None here: only the difference of two
    readings means anything (:func:`bench.machine.probes.memory.memory`).
    """

    parts: MemoryParts
    sources: dict[str, str]
    reasons: dict[str, str]
    machine_free_bytes: int | None  # the second method; see others_anonymous
    slabs: Slabs | None = None
    cgroup: cgroups.KernelMemory | None = None
    cgroup_shared: bool = True  # the worker's control group contains the server too
    server: OwnMemory | None = None


def others_anonymous(meminfo: str, parts: MemoryParts, server: OwnMemory | None) -> int:
    """Anonymous bytes of every program except the worker and its server.

    Added to the free memory, so that other programs that start or end during a
    trial do not change it. 0 if one of the three is unknown.
    """
    machine = procfs.kib_fields(meminfo).get("AnonPages")
    if machine is None or parts.user_bytes is None or server is None or server.user_bytes is None:
        return 0
    return machine - parts.user_bytes - server.user_bytes


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the memory of a worker with its children and, if given, of its server.

    ``read`` raises psutil.NoSuchProcess if the worker has ended. It takes a few
    milliseconds, more with thousands of threads, and changes nothing.
    """

    worker_pid: int
    server_pid: int | None = None
    _stack: list[int | None] = field(default_factory=list)

    def read(self) -> Reading:
        """Look at the machine first, then at the processes."""
        sources: dict[str, str] = {}
        reasons: dict[str, str] = {}
        counted = slabs.read()
        charged = cgroups.kernel_memory(self.worker_pid) if counted is None else None
        meminfo, free = procfs.read("proc/meminfo") or "", free_memory()
        parts = self._own(sources, reasons)
        server = None if self.server_pid is None else own_memory(self.server_pid)
        if free is not None:
            free += others_anonymous(meminfo, parts, server)
        return Reading(
            parts=parts,
            sources=sources,
            reasons=reasons,
            machine_free_bytes=free,
            slabs=counted,
            cgroup=charged,
            cgroup_shared=self._shares_cgroup() if charged is not None else True,
            server=server,
        )

    def _own(self, sources: dict[str, str], reasons: dict[str, str]) -> MemoryParts:
        """What belongs to the worker and to its child processes."""
        worker = psutil.Process(self.worker_pid)
        if not self._stack:  # found once: readings to compare must use the same size
            self._stack.append(kernel_stack_bytes())
        found = [
            process_parts(process, self._stack[0], sources, reasons)
            for process in (worker, *worker.children(recursive=True))
        ]
        return found[0] if len(found) == 1 else total(found)

    def _shares_cgroup(self) -> bool:
        """Whether worker and server share a memory control group, or that is unknown."""
        if self.server_pid is None:
            return True
        mine, theirs = (cgroups.find("memory", p) for p in (self.worker_pid, self.server_pid))
        return mine is None or theirs is None or mine.path == theirs.path
