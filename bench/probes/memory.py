"""Whose memory is whose, read from outside at the barrier.

A worker holds its connections open while the server withholds the answers;
:class:`Reader` reads once before the first connection and once at the barrier,
and :func:`memory` says what grew, by owner:

=====================  ==========================================================
part                   source, best first
=====================  ==========================================================
user                   smaps_rollup Pss_Anon + SwapPss; psutil USS; status RssAnon
page tables            status VmPTE
kernel stacks          threads × the kernel's stack size
kernel sockets         slabinfo (root)
other kernel objects   slabinfo: inodes, dentries, files, epoll items, ports, tasks;
                       and the send buffers of threads, by the kernel's rule.
                       Without root: the slab memory of the worker's control
                       group, when the server is not in it; sockets included
=====================  ==========================================================

What belongs to a process (user, page tables, stacks, threads, descriptors) is
absolute in both readings, and summed over the worker and the processes that it
has started. What the kernel only counts for the whole machine is
the growth since the ``before`` reading, where it is 0 by definition.

Both ends of a connection are on this machine, so slabs hold two of everything.
A socket, its inode, dentry and file are the same size on either end and are
split in half. The fixture server registers each connection with epoll once;
that much of the epoll items is the server's. The rest (client's epoll items,
ports of the connecting side, threads) is the client's.

**Send buffers.** Every thread that has sent on a TCP socket keeps the page it
last copied into: 32 KiB in ``task_struct.task_frag`` until it ends
(``sk_page_frag`` in include/net/sock.h, ``skb_page_frag_refill`` in
net/core/sock.c). One loop that sends for all keeps one; a thread for each
connection keeps one for each connection, and that is a third of what it costs.
No counter has it: not slabinfo, not meminfo, no control group. It is therefore
reckoned as threads × 32 KiB and proved by the second method, the machine's free
memory, which does not add up without it.

Two traps for whoever changes this file: listing /proc/PID/fd or /proc/PID/task
makes the kernel keep nearly 1 KB of inode and dentry for each entry, which is
then measured; and MemAvailable takes the inodes and dentries of open sockets
for reclaimable, which they are not (see :func:`machine_free`).
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil

from bench.probes import cgroups, procfs, slabs
from bench.probes.slabs import Slabs
from bench.schema import Memory, MemoryParts

STACK_BYTES = {"x86_64": 16 * 1024, "aarch64": 16 * 1024}
"""THREAD_SIZE of common kernels, where meminfo does not let us find it."""

SEND_BUFFER_BYTES = 32 * 1024
"""SKB_FRAG_PAGE_ORDER in bytes; one page where it is larger or high orders are disabled."""

NO_PROC = "this platform has no /proc"
NO_SLABINFO = "/proc/slabinfo is readable by root only"


@dataclass(frozen=True, slots=True)
class ServerSide:
    """The server's own memory at the same moment, in bytes."""

    user_bytes: int | None
    page_table_bytes: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at a worker, at its server, and at the machine they share.

    Machine-wide parts of ``parts`` are None here: only a difference of two
    readings means anything, and :func:`memory` makes it.
    """

    parts: MemoryParts
    sources: dict[str, str]
    reasons: dict[str, str]
    machine_free_bytes: int | None  # the second method: machine_free and others_anonymous
    slabs: Slabs | None = None
    cgroup: cgroups.KernelMemory | None = None
    cgroup_shared: bool = True  # the worker's cgroup holds the server too
    server: ServerSide | None = None


def stack_size(meminfo: str, loadavg: str, machine: str) -> int | None:
    """Bytes of one kernel stack: KernelStack ÷ tasks, to the nearest power of two.

    ``loadavg`` holds the tasks of the machine ("1/89"). Falls back to
    :data:`STACK_BYTES` when the quotient is out of bounds, None when unknown.
    """
    total = procfs.kib_fields(meminfo).get("KernelStack")
    words = loadavg.split()
    tasks = procfs.to_int(words[3].partition("/")[2]) if len(words) > 3 else None
    if total and tasks:
        size = 2 ** round(math.log2(total / tasks))
        if 4096 <= size <= 65536:
            return int(size)
    return STACK_BYTES.get(machine)


def parse_cached_pages(zoneinfo: str) -> int:
    """Free pages kept on the processors' own lists, which MemFree leaves out."""
    pages = 0
    for line in zoneinfo.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "count:":
            pages += procfs.to_int(words[1]) or 0
    return pages


def machine_free(meminfo: str, zoneinfo: str, page: int) -> int | None:
    """Bytes nothing holds, page cache included: the second method looks at its drop.

    Not MemAvailable, which counts half or all of SReclaimable, and the inodes
    and dentries of open sockets are in there though nothing can reclaim them.
    Not MemFree alone, which leaves out the free pages a processor keeps for
    itself: tens of megabytes, used up first by the next program.
    """
    fields = procfs.kib_fields(meminfo)
    parts = [fields.get(name) for name in ("MemFree", "Buffers", "Cached")]
    if any(part is None for part in parts):
        return None
    return sum(part or 0 for part in parts) + parse_cached_pages(zoneinfo) * page


def others_anonymous(meminfo: str, parts: MemoryParts, server: ServerSide | None) -> int:
    """Anonymous bytes of every program but the worker and its server.

    Added to the free memory, so that a program that starts or ends somewhere
    during a trial does not move it. 0 where one of the three is unknown.
    """
    machine = procfs.kib_fields(meminfo).get("AnonPages")
    if machine is None or parts.user_bytes is None or server is None or server.user_bytes is None:
        return 0
    return machine - parts.user_bytes - server.user_bytes


def send_buffer() -> int:
    """Bytes of the buffer a thread keeps once it has sent on a TCP socket."""
    page = os.sysconf("SC_PAGE_SIZE")
    if procfs.read_int("proc/sys/net/core/high_order_alloc_disable"):
        return page
    return max(SEND_BUFFER_BYTES, page)


def user_memory(pid: int) -> tuple[int | None, str]:
    """Private anonymous bytes of a process, and the source of the number or the lack of it."""
    fields = procfs.kib_fields(procfs.read(f"proc/{pid}/smaps_rollup") or "")
    if "Pss_Anon" in fields:
        # What was swapped out is still the process's; most machines show 0 here.
        return fields["Pss_Anon"] + fields.get("SwapPss", 0), "smaps_rollup Pss_Anon"
    try:
        return int(psutil.Process(pid).memory_full_info().uss), "psutil USS"
    except (psutil.AccessDenied, AttributeError):
        pass
    fields = procfs.kib_fields(procfs.read(f"proc/{pid}/status") or "")
    if "RssAnon" in fields:
        return fields["RssAnon"], "status RssAnon"
    return None, "smaps_rollup, USS and RssAnon are all unreadable"


def descriptors(pid: int) -> tuple[int | None, str]:
    """Open descriptors of a process, and the source or the lack of it.

    Linux 6.2 and later tell by the size of the folder. Listing it would leave
    an inode and a dentry behind for every entry, so it is the last resort.
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
        sources["kernel_stack_bytes"] = f"threads × {stack // 1024} KiB"
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


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the memory of a worker with its children and, when given, of its server.

    ``read`` raises psutil.NoSuchProcess when the worker has ended. It takes
    a few milliseconds, more with thousands of threads, and changes nothing.
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
        meminfo = procfs.read("proc/meminfo") or ""
        free = machine_free(meminfo, procfs.read("proc/zoneinfo") or "", os.sysconf("SC_PAGE_SIZE"))
        parts = self._own(meminfo, sources, reasons)
        server = self._server()
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

    def _own(self, meminfo: str, sources: dict[str, str], reasons: dict[str, str]) -> MemoryParts:
        """What belongs to the worker and to the processes that it has started."""
        worker = psutil.Process(self.worker_pid)
        stack = self._stack_size(meminfo)
        found = [
            process_parts(process, stack, sources, reasons)
            for process in (worker, *worker.children(recursive=True))
        ]
        return found[0] if len(found) == 1 else total(found)

    def _stack_size(self, meminfo: str) -> int | None:
        """Found once: the readings to compare must use the same size."""
        if not self._stack:
            loadavg = procfs.read("proc/loadavg") or ""
            machine = platform.machine() if meminfo else ""
            self._stack.append(stack_size(meminfo, loadavg, machine))
        return self._stack[0]

    def _shares_cgroup(self) -> bool:
        """Whether the worker's memory cgroup is the server's too (or unknown)."""
        if self.server_pid is None:
            return True
        mine, theirs = (cgroups.find("memory", p) for p in (self.worker_pid, self.server_pid))
        return mine is None or theirs is None or mine.path == theirs.path

    def _server(self) -> ServerSide | None:
        """The server's own memory, None without a server or when it has ended."""
        if self.server_pid is None:
            return None
        try:
            user, _ = user_memory(self.server_pid)
        except psutil.NoSuchProcess:
            return None
        status = procfs.kib_fields(procfs.read(f"proc/{self.server_pid}/status") or "")
        return ServerSide(user, status.get("VmPTE"))


@dataclass(frozen=True, slots=True)
class KernelGrowth:
    """What the kernel holds more than before, by owner, in bytes; None where unknown."""

    sockets: int | None = None  # the client's
    other: int | None = None  # the client's
    server_sockets: int | None = None
    server_other: int | None = None
    sources: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


KERNEL_PARTS = ("kernel_socket_bytes", "kernel_other_bytes", "server_socket_bytes")
"""The parts that only a reading of the kernel's own accounts gives."""


def from_slabs(before: Slabs, held: Slabs, connections: int) -> KernelGrowth:
    """Split what the slabs gained over the two ends of ``connections`` loopback connections."""
    sockets = held.growth(before, slabs.SOCKET)
    inodes = held.grown(before, slabs.INODE)
    files = inodes * held.size((slabs.INODE, *slabs.FILE))
    watched = connections * held.size(slabs.WATCH)
    rest = held.growth(before, slabs.OTHER)
    halved = "slabinfo TCP, half of both ends"
    return KernelGrowth(
        sockets=sockets // 2,
        other=files // 2 + rest - watched,
        server_sockets=sockets // 2,
        server_other=files // 2 + watched,
        sources={
            "kernel_socket_bytes": halved,
            "server_socket_bytes": halved,
            "kernel_other_bytes": "slabinfo: half of socket inodes with file and dentry; "
            "epoll items, ports, tasks and mappings less the server's epoll items",
        },
    )


def from_cgroup(before: Reading, held: Reading, connections: int) -> KernelGrowth:
    """Without slabinfo: the slab memory charged to the worker's control group.

    One number for sockets, files and threads, so it is given as ``other``, and
    only where the worker has a group without the server in it: a connection's
    accepted end is made by an interrupt, which is charged to no group, so the
    sum of both ends cannot be halved. The reason then holds the sum.
    """
    if before.cgroup is None or held.cgroup is None:
        why = NO_SLABINFO + "; no memory control group either"
        return KernelGrowth(reasons=dict.fromkeys(KERNEL_PARTS, why))
    source = held.cgroup.source
    grown = held.cgroup.slab - before.cgroup.slab
    if "v1" in source:  # one total: take off what is known to be stacks and page tables
        grown -= _gain(before.parts.kernel_stack_bytes, held.parts.kernel_stack_bytes) or 0
        grown -= _gain(before.parts.page_table_bytes, held.parts.page_table_bytes) or 0
    if held.cgroup_shared:
        each = grown // max(1, connections)
        why = (
            f"{NO_SLABINFO}; {source} grew by {each} bytes for each connection, both ends "
            "together and the accepted socket not among them, which cannot be split"
        )
        return KernelGrowth(reasons=dict.fromkeys(KERNEL_PARTS, why))
    return KernelGrowth(
        other=grown,
        sources={"kernel_other_bytes": f"{source}, sockets included"},
        reasons={
            "kernel_socket_bytes": f"{NO_SLABINFO}; included in kernel_other_bytes",
            "server_socket_bytes": "the server is in another control group",
        },
    )


def kernel_growth(before: Reading, held: Reading, connections: int) -> KernelGrowth:
    """The kernel's growth between two readings from the best source both have."""
    if before.slabs is not None and held.slabs is not None:
        return from_slabs(before.slabs, held.slabs, connections)
    if held.parts.page_table_bytes is None:
        return KernelGrowth(reasons=dict.fromkeys(KERNEL_PARTS, NO_PROC))
    return from_cgroup(before, held, connections)


def _gain(before: int | None, after: int | None) -> int | None:
    """The difference, None where either end is unknown."""
    return None if before is None or after is None else after - before


def memory(before: Reading, held: Reading, connections: int) -> Memory:
    """What ``connections`` held connections take, by owner (all in bytes)."""
    growth = kernel_growth(before, held, connections)
    # At the barrier every thread that serves a connection has sent its request.
    # A thread that serves all of them was there before, and keeps one buffer.
    senders = max(0, min(held.parts.threads - before.parts.threads, connections))
    linux = held.parts.page_table_bytes is not None
    start = {
        "send_buffer_bytes": 0 if linux else None,
        "kernel_socket_bytes": 0 if growth.sockets is not None else None,
        "kernel_other_bytes": 0 if growth.other is not None else None,
        "server_socket_bytes": 0 if growth.server_sockets is not None else None,
    }
    gained = {
        "send_buffer_bytes": senders * send_buffer() if linux else None,
        "kernel_socket_bytes": growth.sockets,
        "kernel_other_bytes": growth.other,
        "server_socket_bytes": growth.server_sockets,
    }
    sources = held.sources | growth.sources
    reasons = held.reasons | growth.reasons
    if linux:
        sources["send_buffer_bytes"] = f"reckoned: threads that sent × {send_buffer() // 1024} KiB"
    else:
        reasons["send_buffer_bytes"] = NO_PROC
    drop = _gain(held.machine_free_bytes, before.machine_free_bytes)
    if drop is None:
        reasons["machine_drop_bytes"] = NO_PROC
    else:
        sources["machine_drop_bytes"] = (
            "meminfo MemFree + Buffers + Cached, the processors' own free pages, "
            "and other programs' anonymous memory"
        )
    return Memory(
        connections=connections,
        before=before.parts.model_copy(update=start),
        held=held.parts.model_copy(update=gained),
        machine_drop_bytes=drop,
        sources=sources,
        reasons=reasons,
    )


def server_growth(before: Reading, held: Reading, connections: int) -> int | None:
    """What the server's side gained beside its sockets: user memory, page tables, files.

    Needed by :func:`agreement` only; None when the server was not read.
    """
    if before.server is None or held.server is None:
        return None
    user = _gain(before.server.user_bytes, held.server.user_bytes)
    tables = _gain(before.server.page_table_bytes, held.server.page_table_bytes)
    other = kernel_growth(before, held, connections).server_other
    return sum(part or 0 for part in (user, tables, other))


def agreement(measured: Memory, server_bytes: int | None = None) -> float | None:
    """Sum of the parts of both sides over the drop in the machine's free memory.

    1 is perfect. Between 0.9 and 1.05 is usual with thousands of connections;
    with hundreds the drop is too small for what else moves on a machine (page
    cache, other programs' kernel memory), which moves the drop, not the parts.
    ``server_bytes`` is :func:`server_growth`. None when a part is missing
    or when the drop is not positive.
    """
    drop = measured.machine_drop_bytes
    total = server_bytes or 0
    own = ("user_bytes", "page_table_bytes", "kernel_stack_bytes", "send_buffer_bytes")
    for name in (*own, *KERNEL_PARTS):
        gained = _gain(getattr(measured.before, name), getattr(measured.held, name))
        if gained is None:
            return None
        total += gained
    return total / drop if drop is not None and drop > 0 else None


SETTLE_POLL_S = 0.1
SETTLED_BYTES = 128 * 1024


def settle(deadline_s: float = 3.0) -> float:
    """Wait until the kernel has freed what the last trial left; returns the seconds waited.

    Sockets, files and stacks are freed after a grace period (RCU), in batches.
    Call it before the ``before`` reading. Settled means that unreclaimable
    slabs and kernel stacks moved by less than 128 KiB between two looks 0.1 s
    apart, twice. Returns at once where there is no /proc.
    """
    started = time.monotonic()
    last: int | None = None
    calm = 0
    while True:
        fields = procfs.kib_fields(procfs.read("proc/meminfo") or "")
        waited = time.monotonic() - started
        if "SUnreclaim" not in fields:
            return waited
        now = fields["SUnreclaim"] + fields.get("KernelStack", 0)
        calm = calm + 1 if last is not None and abs(now - last) < SETTLED_BYTES else 0
        if calm == 2 or waited >= deadline_s:
            return waited
        last = now
        time.sleep(SETTLE_POLL_S)
