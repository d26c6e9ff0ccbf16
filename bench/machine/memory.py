"""Memory by owner, read from outside at the barrier.

A worker holds its connections open while the server withholds the answers.
:class:`Reader` reads once before the first connection and once at the barrier;
:func:`memory` reports what grew, by owner; :data:`PARTS` has the source of each part.

The parts that belong to a process (user, page tables, stacks, threads,
descriptors) are absolute in both readings, and summed over the worker and its
child processes. The parts that the kernel only counts for the whole machine are
the growth since the ``before`` reading, where they are 0 by definition.

Both ends of a connection are on this machine; :mod:`bench.machine.objects` splits
what the kernel holds for them.

**Send buffers.** Every thread that has sent on a TCP socket keeps the page it
last copied into: 32 KiB in ``task_struct.task_frag`` until it ends
(``sk_page_frag`` in include/net/sock.h, ``skb_page_frag_refill`` in
net/core/sock.c). One loop that sends for all connections keeps one; a thread per
connection keeps one per connection, a third of what such a thread costs. No
counter shows it: not slabinfo, not meminfo, no control group. It is therefore
calculated as threads × 32 KiB, and checked by the second method, the drop in the
machine's free memory, which does not add up without it.

Two traps if you change this file: listing /proc/PID/fd or /proc/PID/task makes
the kernel keep nearly 1 KB of inode and dentry per entry, which the next reading
then counts; and MemAvailable treats the inodes and dentries of open sockets as
reclaimable, which they are not (see :func:`free_memory`).
"""

from __future__ import annotations

import math
import os
import platform
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import psutil

from bench.machine import objects, procfs
from bench.machine.objects import WATCH, GroupMemory, KernelGrowth, Slabs
from bench.schema import Memory, MemoryParts
from bench.text import KIB

NO_PROC: Final = "this platform has no /proc"
NO_SLABINFO: Final = (
    "/proc/slabinfo is readable by root only, and harness, client and server share no control "
    "group (version 2) that counts both ends of a connection (Linux 6.12)"
)
BY_GROUP: Final = "memory.stat slab of the control group of harness, client and server"

PARTS: Final = {
    "user_bytes": ("smaps_rollup Pss_Anon and Pss_Shmem", NO_PROC),
    "page_table_bytes": ("status VmPTE", NO_PROC),
    "kernel_stack_bytes": ("threads × kernel stack", "the size of a kernel stack is unknown here"),
    "send_buffer_bytes": ("calculated: threads that sent × send buffer", NO_PROC),
    "kernel_socket_bytes": ("slabinfo TCP, half of both ends", NO_SLABINFO),
    "kernel_other_bytes": (
        "slabinfo: half of socket inodes with file and dentry; "
        "epoll items, ports, tasks and mappings less those of the other end",
        NO_SLABINFO,
    ),
    "server_socket_bytes": ("slabinfo TCP, half of both ends", NO_SLABINFO),
    "machine_drop_bytes": (
        "meminfo MemFree + Buffers + Cached, the processors' own free pages, "
        "and other programs' anonymous memory",
        NO_PROC,
    ),
}
"""Part -> its source, and the reason where it has none."""

A_SOCKET: Final = "a socket with inode, dentry and file, as the harness measured its own"
OF_GROUP: Final = {
    "kernel_socket_bytes": f"{BY_GROUP}: {A_SOCKET}",
    "kernel_other_bytes": f"{BY_GROUP}: its growth less the client's sockets and the other end, "
    "as the harness measured its own",
    "server_socket_bytes": f"{BY_GROUP}: {A_SOCKET}",
}
"""The same for parts that a control group counted."""

# --- one process -------------------------------------------------------------------------


STACK_BYTES = {"x86_64": 16 * KIB, "aarch64": 16 * KIB}
"""THREAD_SIZE of common kernels, used if meminfo does not reveal it."""

SEND_BUFFER_BYTES = 32 * KIB
"""SKB_FRAG_PAGE_ORDER in bytes; one page where that is larger or high orders are disabled."""


def kernel_stack_bytes() -> int | None:
    """Bytes of one kernel stack: KernelStack ÷ tasks, to the nearest power of two.

    Falls back to :data:`STACK_BYTES` if the quotient is out of bounds; None if unknown.
    """
    stacks = procfs.kib_fields(procfs.read("proc/meminfo") or "").get("KernelStack")
    tasks = procfs.tasks()
    if not stacks or not tasks:
        return None
    size = int(2 ** round(math.log2(stacks / tasks)))
    return size if 4 * KIB <= size <= 64 * KIB else STACK_BYTES.get(platform.machine())


def send_buffer() -> int:
    """Bytes of the buffer that a thread keeps once it has sent on a TCP socket."""
    disabled = procfs.read_int("proc/sys/net/core/high_order_alloc_disable")
    return max(0 if disabled else SEND_BUFFER_BYTES, os.sysconf("SC_PAGE_SIZE"))


def user_memory(pid: int) -> int | None:
    """Anonymous bytes of a process, shared ones by its part of them; None without smaps_rollup."""
    fields = procfs.kib_fields(procfs.read(f"proc/{pid}/smaps_rollup") or "")
    if "Pss_Anon" not in fields:
        return None
    # Swapped memory still belongs to the process; most machines show 0 here.
    return fields["Pss_Anon"] + fields.get("Pss_Shmem", 0) + fields.get("SwapPss", 0)


def descriptors(process: psutil.Process) -> int:
    """Open descriptors of a process.

    On Linux 6.2 and later, the size of the folder is their number. Listing the
    folder would leave an inode and a dentry behind for every entry, so that is the
    last resort.
    """
    with suppress(OSError):
        if size := os.stat(procfs.ROOT / f"proc/{process.pid}/fd").st_size:
            return size
    try:
        return int(process.num_fds())
    except psutil.AccessDenied:  # of a process of ours that has just ended, and has none
        return 0


def process_parts(process: psutil.Process, stack: int | None) -> MemoryParts:
    """What belongs to one process, whose threads have kernel stacks of ``stack`` bytes."""
    threads = int(process.num_threads())
    own = {
        "user_bytes": user_memory(process.pid),
        "rss_bytes": int(process.memory_info().rss),
        "page_table_bytes": procfs.status(process.pid).get("VmPTE"),
        "kernel_stack_bytes": None if stack is None else threads * stack,
        "threads": threads,
        "descriptors": descriptors(process),
    }
    return MemoryParts.model_validate(dict.fromkeys(MemoryParts.model_fields) | own)


def total(processes: Sequence[MemoryParts]) -> MemoryParts:
    return MemoryParts.model_validate(
        {
            name: added(getattr(parts, name) for parts in processes)
            for name in MemoryParts.model_fields
        }
    )


# --- the machine -------------------------------------------------------------------------


SETTLE_POLL_S = 0.1
SETTLED_BYTES = 128 * KIB


def free_memory(or_anonymous: bool = False) -> int | None:
    """Bytes of this machine that are free now, or free or anonymous; None without /proc.

    Page cache counts as free. Not MemAvailable, which counts half or all of SReclaimable: that
    includes the inodes and dentries of open sockets, though nothing can reclaim them. Not
    MemFree alone, which leaves out the free pages that each processor keeps for
    itself: tens of megabytes, which the next program uses up first.

    Counting anonymous memory as free hides what other programs do meanwhile; the
    caller adds back what its own processes took.
    """
    fields = procfs.kib_fields(procfs.read("proc/meminfo") or "")
    names = ("MemFree", "Buffers", "Cached", *(["AnonPages"] if or_anonymous else []))
    if not {*names} <= fields.keys():
        return None
    of_processors = re.findall(
        r"^\s+count: +(\d{1,18})$", procfs.read("proc/zoneinfo") or "", re.MULTILINE | re.ASCII
    )
    free = sum(fields[name] for name in names)
    return free + sum(map(int, of_processors)) * os.sysconf("SC_PAGE_SIZE")


def wait_until_settled(deadline_s: float = 3.0) -> None:
    """Wait until the kernel has freed the last trial's memory.

    Sockets, files and stacks are freed after a grace period (RCU), in batches, so
    call this before the ``before`` reading. Memory has settled when unreclaimable
    slabs and kernel stacks moved by less than 128 KiB within 0.1 s, twice in a row.
    Returns at once where there is no /proc.
    """
    until, last, calm = time.monotonic() + deadline_s, math.inf, 0
    while fields := procfs.kib_fields(procfs.read("proc/meminfo") or ""):
        now = fields.get("SUnreclaim", 0) + fields.get("KernelStack", 0)
        calm = calm + 1 if abs(now - last) < SETTLED_BYTES else 0
        if calm == 2 or time.monotonic() >= until:
            return
        last = now
        time.sleep(SETTLE_POLL_S)


# --- a reading ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Memory at one moment.

    The parts that only the kernel counts are None in ``own``: the difference of two
    readings has them (:func:`memory`).
    """

    own: MemoryParts
    other: MemoryParts | None = None  # the process at the other end
    free: int | None = None  # of the machine, anonymous memory included
    kernel: Slabs | GroupMemory | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the memory of workers with their children and, if given, of their servers.

    ``read`` raises psutil.NoSuchProcess if one of them has ended. It takes a few
    milliseconds, more with thousands of threads, and changes nothing.
    """

    workers: Sequence[int]  # process numbers
    servers: Sequence[int] = ()
    # Found once: readings to compare must use the same size.
    stack_bytes: int | None = field(default_factory=kernel_stack_bytes)

    def read(self) -> Snapshot:
        """Look at the machine first, then at the processes."""
        slabs, free = objects.read_slabs(), free_memory(or_anonymous=True)
        processes = [psutil.Process(pid) for pid in self.workers]
        children = [child for worker in processes for child in worker.children(recursive=True)]
        own = self._parts([*processes, *children])
        servers = [psutil.Process(pid) for pid in self.servers]
        other = self._parts(servers) if servers else None
        counted = slabs or objects.counted(*self.workers, *self.servers)
        return Snapshot(own, other, free, counted)

    def _parts(self, processes: Sequence[psutil.Process]) -> MemoryParts:
        return total([process_parts(process, self.stack_bytes) for process in processes])


# --- what grew ---------------------------------------------------------------------------


def gain(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def grown(before: MemoryParts, held: MemoryParts, names: Iterable[str]) -> dict[str, int | None]:
    return {name: gain(getattr(before, name), getattr(held, name)) for name in names}


def added(values: Iterable[int | None]) -> int | None:
    """The sum; None without any value, or if one of them is unknown."""
    every = list(values)
    known = [value for value in every if value is not None]
    return sum(known) if known and len(known) == len(every) else None


def send_buffers(before: MemoryParts, held: MemoryParts, connections: int) -> int | None:
    """What the threads keep that were started for these connections; None without /proc.

    At the barrier every thread with a connection has sent its request. A thread
    that serves all connections was there before, and keeps one buffer.
    """
    if held.page_table_bytes is None:
        return None
    return max(0, min(held.threads - before.threads, connections)) * send_buffer()


def kernel_growth(
    before: Snapshot, held: Snapshot, connections: int, theirs: Sequence[str] = WATCH
) -> KernelGrowth:
    """What the kernel gained, split over both ends of ``connections`` loopback connections.

    The other end has one of each of ``theirs``: a fixture server watches each connection, and the
    load of a server under test has a port for it.
    """
    match before.kernel, held.kernel:
        case (Slabs() as empty, Slabs() as full):
            return full.since(empty, connections, theirs)
        case (GroupMemory() as empty, GroupMemory() as full):
            return full.since(empty, connections, theirs)
    return KernelGrowth()


def second_method(before: Snapshot, held: Snapshot) -> int | None:
    """How much the machine's free memory shrank, whatever other programs did meanwhile.

    Anonymous memory counts as free in a reading, so that of the two processes is added.
    """
    if before.other is None or held.other is None:
        return None
    both = ((before.own, held.own), (before.other, held.other))
    users = (gain(empty.user_bytes, full.user_bytes) for empty, full in both)
    return added((gain(held.free, before.free), *users))


def memory(
    before: Snapshot, held: Snapshot, connections: int, theirs: Sequence[str] = WATCH
) -> Memory:
    """What holding the connections added; ``theirs`` is as in :func:`kernel_growth`."""
    kernel = kernel_growth(before, held, connections, theirs)
    sources = {name: source for name, (source, _) in PARTS.items()}
    sources |= OF_GROUP if isinstance(held.kernel, GroupMemory) else {}
    gained = {
        "send_buffer_bytes": send_buffers(before.own, held.own, connections),
        "kernel_socket_bytes": kernel.sockets,
        "kernel_other_bytes": kernel.other,
        "server_socket_bytes": kernel.server_sockets,
    }
    start = {name: None if value is None else 0 for name, value in gained.items()}
    parts = held.own.model_copy(update=gained)
    drop = second_method(before, held)
    known = parts.model_dump() | {"machine_drop_bytes": drop}
    return Memory(
        connections=connections,
        before=before.own.model_copy(update=start),
        held=parts,
        machine_drop_bytes=drop,
        sources={name: source for name, source in sources.items() if known[name] is not None},
        reasons={name: why for name, (_, why) in PARTS.items() if known[name] is None},
    )
