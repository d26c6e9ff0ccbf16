"""What belongs to one process: its memory, its threads and its descriptors."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from bench.machine.probes import procfs
from bench.schema import MemoryParts
from bench.text import KIB

STACK_BYTES = {"x86_64": 16 * KIB, "aarch64": 16 * KIB}
"""THREAD_SIZE of common kernels, used if meminfo does not reveal it."""

SEND_BUFFER_BYTES = 32 * KIB
"""SKB_FRAG_PAGE_ORDER in bytes; one page where that is larger or high orders are disabled."""

NO_PROC = "this platform has no /proc"


@dataclass(frozen=True, slots=True)
class OwnMemory:
    """What a process holds for itself at one moment; None where unknown."""

    user_bytes: int | None
    page_table_bytes: int | None
    threads: int


def stack_size(meminfo: str, loadavg: str, machine: str) -> int | None:
    """Bytes of one kernel stack: KernelStack ÷ tasks, to the nearest power of two.

    ``loadavg`` holds the number of tasks ("1/89"). Falls back to
    :data:`STACK_BYTES` if the quotient is out of bounds; None if unknown.
    """
    total = procfs.kib_fields(meminfo).get("KernelStack")
    words = loadavg.split()
    tasks = procfs.to_int(words[3].partition("/")[2]) if len(words) > 3 else None
    if total and tasks:
        size = 2 ** round(math.log2(total / tasks))
        if 4096 <= size <= 65536:
            return int(size)
    return STACK_BYTES.get(machine)


def kernel_stack_bytes() -> int | None:
    """Bytes of one kernel stack on this machine; None without /proc."""
    meminfo = procfs.read("proc/meminfo") or ""
    loadavg = procfs.read("proc/loadavg") or ""
    return stack_size(meminfo, loadavg, platform.machine() if meminfo else "")


def send_buffer() -> int:
    """Bytes of the buffer that a thread keeps once it has sent on a TCP socket."""
    page = os.sysconf("SC_PAGE_SIZE")
    if procfs.read_int("proc/sys/net/core/high_order_alloc_disable"):
        return page
    return max(SEND_BUFFER_BYTES, page)


def user_memory(pid: int) -> tuple[int | None, str]:
    """Private anonymous bytes of a process, and the source or the reason for its absence."""
    fields = procfs.kib_fields(procfs.read(f"proc/{pid}/smaps_rollup") or "")
    if "Pss_Anon" in fields:
        # Swapped memory still belongs to the process; most machines show 0 here.
        return fields["Pss_Anon"] + fields.get("SwapPss", 0), "smaps_rollup Pss_Anon"
    try:
        return int(psutil.Process(pid).memory_full_info().uss), "psutil USS"
    except (psutil.AccessDenied, AttributeError):
        pass
    fields = procfs.kib_fields(procfs.read(f"proc/{pid}/status") or "")
    if "RssAnon" in fields:
        return fields["RssAnon"], "status RssAnon"
    return None, "smaps_rollup, USS and RssAnon are all unreadable"


def own_memory(pid: int) -> OwnMemory | None:
    """What a process holds for itself now; None if it has ended."""
    try:
        user, _ = user_memory(pid)
    except psutil.NoSuchProcess:
        return None
    status = procfs.kib_fields(procfs.read(f"proc/{pid}/status") or "")
    return OwnMemory(user, status.get("VmPTE"), status.get("Threads", 1))


def descriptors(pid: int) -> tuple[int | None, str]:
    """Open descriptors of a process, and the source or the reason for its absence.

    On Linux 6.2 and later, the size of the folder is their number. Listing the
    folder would leave an inode and a dentry behind for every entry, so that is the
    last resort.
    """
    try:
        size = os.stat(procfs.ROOT / f"proc/{pid}/fd").st_size
        if size:
            return size, "size of /proc/PID/fd"
    except OSError:
        pass
    try:
        return int(psutil.Process(pid).num_fds()), "list of /proc/PID/fd"
    except (psutil.AccessDenied, AttributeError):
        return None, "descriptors of another user's process"


def process_parts(
    process: psutil.Process,
    stack: int | None,
    sources: dict[str, str],
    reasons: dict[str, str],
) -> MemoryParts:
    """What belongs to one process, whose threads have kernel stacks of ``stack`` bytes."""
    pid = process.pid
    status = procfs.kib_fields(procfs.read(f"proc/{pid}/status") or "")
    user, where = user_memory(pid)
    (reasons if user is None else sources)["user_bytes"] = where
    page_tables = status.get("VmPTE")
    if page_tables is None:
        reasons["page_table_bytes"] = NO_PROC
    else:
        sources["page_table_bytes"] = "status VmPTE"
    threads = status.get("Threads") or int(process.num_threads())
    if stack is None:
        reasons["kernel_stack_bytes"] = "the size of a kernel stack is unknown here"
    else:
        sources["kernel_stack_bytes"] = f"threads × {stack // KIB} KiB"
    opened, where = descriptors(pid)
    (reasons if opened is None else sources)["descriptors"] = where
    return MemoryParts(
        user_bytes=user,
        rss_bytes=status.get("VmRSS") or int(process.memory_info().rss),
        page_table_bytes=page_tables,
        kernel_stack_bytes=None if stack is None else threads * stack,
        kernel_socket_bytes=None,
        send_buffer_bytes=None,
        kernel_other_bytes=None,
        server_socket_bytes=None,
        threads=threads,
        descriptors=opened,
    )


def total(processes: Sequence[MemoryParts]) -> MemoryParts:
    """The parts of several processes together; None where one of them is unknown."""

    def add(name: str) -> int | None:
        values = [getattr(parts, name) for parts in processes]
        return None if None in values else sum(values)

    return processes[0].model_copy(update={name: add(name) for name in MemoryParts.model_fields})
