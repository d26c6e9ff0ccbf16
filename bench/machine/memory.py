"""Memory by owner, read from outside at the barrier.

A worker holds its connections open while the server withholds the answers.
:class:`Reader` reads once before the first connection and once at the barrier;
:func:`memory` reports what grew, by owner:

=====================  ==========================================================
part                   source, best first
=====================  ==========================================================
user                   smaps_rollup Pss_Anon + SwapPss; status RssAnon
page tables            status VmPTE
kernel stacks          threads × the kernel's stack size
kernel sockets         slabinfo (root)
other kernel objects   slabinfo (root): inodes, dentries, files, epoll items,
                       ports, tasks; and the send buffers of threads, calculated
=====================  ==========================================================

The parts that belong to a process (user, page tables, stacks, threads,
descriptors) are absolute in both readings, and summed over the worker and its
child processes. The parts that the kernel only counts for the whole machine are
the growth since the ``before`` reading, where they are 0 by definition.

Both ends of a connection are on this machine, so slabs hold two of everything.
A socket, its inode, dentry and file have the same size at either end and are
split in half. The fixture server registers each connection with epoll once, so
one epoll item per connection is the server's. The rest (the client's epoll items,
ports of the connecting side, threads) is the client's.

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
reclaimable, which they are not (see :func:`machine_free`).

Two more in /proc/slabinfo, which requires root:

* **Merged caches.** The allocator merges caches of one size under the name of
  one of them: ``eventpoll_epi`` may hold every ``tcp_bind_bucket`` too and then
  grows three times as fast as epoll items do. The aliases are the symbolic
  links in /sys/kernel/slab; :func:`resolve` follows them, so a merged cache is
  counted once.
* **Objects not yet used.** ``active`` counts every object in the slabs that a
  processor holds ready, so it moves in steps of a slab (13 sockets, say) and
  misses the first few dozen new objects. Fit a slope over several numbers of
  connections; a single small difference is not a measurement.
"""

from __future__ import annotations

import math
import os
import platform
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from bench.machine import procfs
from bench.machine.procfs import Slab
from bench.schema import Memory, MemoryParts
from bench.text import KIB

# --- one process -------------------------------------------------------------------------


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
    meminfo, loadavg = procfs.read("proc/meminfo") or "", procfs.read("proc/loadavg") or ""
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
    # Without smaps_rollup: of another user's process, or before Linux 5.4.
    found = procfs.status(pid).get("RssAnon")
    return found, "smaps_rollup and RssAnon are unreadable" if found is None else "status RssAnon"


def own_memory(pid: int) -> OwnMemory | None:
    """What a process holds for itself now; None if it has ended."""
    status = procfs.status(pid)
    if "VmPTE" not in status:  # ended, and perhaps not collected yet
        return None
    return OwnMemory(user_memory(pid)[0], status["VmPTE"], status.get("Threads", 1))


def descriptors(process: psutil.Process) -> tuple[int | None, str]:
    """Open descriptors of a process, and the source or the reason for its absence.

    On Linux 6.2 and later, the size of the folder is their number. Listing the
    folder would leave an inode and a dentry behind for every entry, so that is the
    last resort.
    """
    with suppress(OSError):
        if size := os.stat(procfs.ROOT / f"proc/{process.pid}/fd").st_size:
            return size, "size of /proc/PID/fd"
    try:
        return int(process.num_fds()), "list of /proc/PID/fd"
    except psutil.AccessDenied:
        return None, "descriptors of another user's process"


def process_parts(
    process: psutil.Process,
    stack: int | None,
    sources: dict[str, str],
    reasons: dict[str, str],
) -> MemoryParts:
    """What belongs to one process, whose threads have kernel stacks of ``stack`` bytes."""
    found: dict[str, int | None] = dict.fromkeys(MemoryParts.model_fields)

    def note(name: str, value: int | None, source: str, reason: str) -> None:
        found[name] = value
        (reasons if value is None else sources)[name] = reason if value is None else source

    status = procfs.status(process.pid)
    threads = status.get("Threads") or int(process.num_threads())
    user, where = user_memory(process.pid)
    note("user_bytes", user, where, where)
    note("page_table_bytes", status.get("VmPTE"), "status VmPTE", NO_PROC)
    opened, where = descriptors(process)
    note("descriptors", opened, where, where)
    note(
        "kernel_stack_bytes",
        None if stack is None else threads * stack,
        f"threads × {(stack or 0) // KIB} KiB",
        "the size of a kernel stack is unknown here",
    )
    found["rss_bytes"] = status.get("VmRSS") or int(process.memory_info().rss)
    found["threads"] = threads
    return MemoryParts.model_validate(found)


def total(processes: Sequence[MemoryParts]) -> MemoryParts:
    def add(name: str) -> int | None:
        values = [getattr(parts, name) for parts in processes]
        return None if None in values else sum(values)

    return processes[0].model_copy(update={name: add(name) for name in MemoryParts.model_fields})


# --- the machine -------------------------------------------------------------------------


SETTLE_POLL_S = 0.1
SETTLED_BYTES = 128 * KIB


def parse_cached_pages(zoneinfo: str) -> int:
    """Free pages on the processors' own lists, which MemFree leaves out."""
    return sum(map(int, re.findall(r"^\s+count: +(\d{1,18})$", zoneinfo, re.MULTILINE | re.ASCII)))


def machine_free(meminfo: str, zoneinfo: str, page: int) -> int | None:
    """Free bytes, page cache included.

    Not MemAvailable, which counts half or all of SReclaimable: that includes the
    inodes and dentries of open sockets, though nothing can reclaim them. Not
    MemFree alone, which leaves out the free pages that each processor keeps for
    itself: tens of megabytes, which the next program uses up first.
    """
    fields = procfs.kib_fields(meminfo)
    if not {"MemFree", "Buffers", "Cached"} <= fields.keys():
        return None
    free = fields["MemFree"] + fields["Buffers"] + fields["Cached"]
    return free + parse_cached_pages(zoneinfo) * page


def free_memory(or_anonymous: bool = False) -> int | None:
    """Bytes of this machine that are free now, or free or anonymous.

    Counting anonymous memory as free hides what other programs do meanwhile; the
    caller adds back what its own processes took. None without /proc.
    """
    meminfo, zoneinfo = procfs.read("proc/meminfo") or "", procfs.read("proc/zoneinfo") or ""
    free = machine_free(meminfo, zoneinfo, os.sysconf("SC_PAGE_SIZE"))
    if free is None or not or_anonymous:
        return free
    return free + procfs.kib_fields(meminfo).get("AnonPages", 0)


def wait_until_settled(deadline_s: float = 3.0) -> float:
    """Wait until the kernel has freed the last trial's memory; returns the seconds waited.

    Sockets, files and stacks are freed after a grace period (RCU), in batches, so
    call this before the ``before`` reading. Memory has settled when unreclaimable
    slabs and kernel stacks moved by less than 128 KiB within 0.1 s, twice in a row.
    Returns at once where there is no /proc.
    """
    started, last, calm = time.monotonic(), math.inf, 0
    while True:
        fields = procfs.kib_fields(procfs.read("proc/meminfo") or "")
        waited = time.monotonic() - started
        now = fields.get("SUnreclaim", 0) + fields.get("KernelStack", 0)
        calm = calm + 1 if abs(now - last) < SETTLED_BYTES else 0
        if not fields or calm == 2 or waited >= deadline_s:
            return waited
        last = now
        time.sleep(SETTLE_POLL_S)


# --- kernel objects ----------------------------------------------------------------------


SOCKET = ("TCP", "TCPv6")
"""The protocol's part of a socket: one object for each end of a connection."""

INODE = "sock_inode_cache"
FILE = ("filp", "dentry", "lsm_inode_cache", "lsm_file_cache")
"""Objects that the kernel creates along with each socket's inode (``sock_alloc_file``).

Counted by the number of inodes, not by their own growth, because any program that
opens a file or looks up a path changes it.
"""

WATCH = ("eventpoll_epi", "eventpoll_pwq", "ep_head")
"""The objects behind one registration with epoll."""

PORT = ("tcp_bind_bucket", "tcp_bind2_bucket")
"""What a connecting socket holds for its port: one of each."""

OTHER = (
    *WATCH,
    *PORT,
    "task_struct",  # from here on: what one thread takes
    "pid",
    "vm_area_struct",
    "anon_vma",
    "anon_vma_chain",
    "maple_node",
    "vmap_area",
)
"""Objects counted by their growth: epoll items, port bindings, threads and their stacks."""

NAMES = (*SOCKET, INODE, *FILE, *OTHER)


def aliases(names: Iterable[str]) -> dict[str, str]:
    """Cache → the id of the physical cache behind it (``:A-0000128``), else its own name."""
    found = {}
    for name in names:
        try:
            found[name] = os.readlink(procfs.ROOT / "sys/kernel/slab" / name)
        except OSError:
            found[name] = name
    return found


def resolve(caches: Iterable[str], links: Mapping[str, str]) -> dict[str, str]:
    """Wanted name → the name its cache is listed under; leaves out names without a cache.

    ``caches`` are the listed names; ``links`` comes from :func:`aliases` for these and
    the wanted names.
    """
    own = set(caches)
    behind = {links[name]: name for name in sorted(own) if name in links}
    found = {}
    for name, link in links.items():
        if name in own:
            found[name] = name
        elif link in behind:
            found[name] = behind[link]
    return found


@dataclass(frozen=True, slots=True)
class Slabs:
    caches: dict[str, Slab]  # listed name -> cache
    listed: dict[str, str]  # wanted name -> listed name; merged caches share one

    def size(self, names: Iterable[str]) -> int:
        return sum(self.caches[self.listed[name]].size for name in names if name in self.listed)

    def growth(self, before: Slabs, names: Iterable[str]) -> int:
        distinct = {self.listed[name] for name in names if name in self.listed}
        return sum(
            self.caches[name].bytes - before.caches[name].bytes
            for name in distinct
            if name in before.caches
        )

    def grown(self, before: Slabs, name: str) -> int:
        listed = self.listed.get(name)
        if listed is None or listed not in before.caches:
            return 0
        return self.caches[listed].active - before.caches[listed].active


def read_slabs() -> Slabs | None:
    """Read the caches now; None if slabinfo cannot be read (not root, not Linux)."""
    text = procfs.read("proc/slabinfo")
    found = procfs.slabinfo(text) if text else {}
    if not found:
        return None
    listed = resolve(found, aliases({*NAMES, *found}))
    listed = {name: listed[name] for name in NAMES if name in listed}
    return Slabs({name: found[name] for name in set(listed.values())}, listed)


# --- a reading ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reading:
    """Memory at one moment.

    Machine-wide parts of ``parts`` are None here: only the difference of two
    readings means anything (:func:`memory`).
    """

    parts: MemoryParts
    sources: dict[str, str]
    reasons: dict[str, str]
    machine_free_bytes: int | None  # the second method; see others_anonymous
    slabs: Slabs | None = None
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
    # Found once: readings to compare must use the same size.
    stack_bytes: int | None = field(default_factory=kernel_stack_bytes)

    def read(self) -> Reading:
        """Look at the machine first, then at the processes."""
        sources: dict[str, str] = {}
        reasons: dict[str, str] = {}
        counted = read_slabs()
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
            server=server,
        )

    def _own(self, sources: dict[str, str], reasons: dict[str, str]) -> MemoryParts:
        worker = psutil.Process(self.worker_pid)
        found = [
            process_parts(process, self.stack_bytes, sources, reasons)
            for process in (worker, *worker.children(recursive=True))
        ]
        return found[0] if len(found) == 1 else total(found)


# --- what grew ---------------------------------------------------------------------------


NO_SLABINFO = "/proc/slabinfo is readable by root only"


@dataclass(frozen=True, slots=True)
class KernelGrowth:
    """What the kernel holds in addition, by owner, in bytes; None where unknown."""

    sockets: int | None = None  # the client's
    other: int | None = None  # the client's
    server_sockets: int | None = None
    server_other: int | None = None
    sources: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


KERNEL_PARTS = ("kernel_socket_bytes", "kernel_other_bytes", "server_socket_bytes")
"""The parts that only the kernel's own accounts show."""


def from_slabs(
    before: Slabs, held: Slabs, connections: int, theirs: Sequence[str] = WATCH
) -> KernelGrowth:
    """Split the growth of the slabs over both ends of ``connections`` loopback connections.

    The other end has one of each of ``theirs``: a fixture server watches each connection, and the
    load of a server under test has a port for it.
    """
    sockets = held.growth(before, SOCKET)
    inodes = held.grown(before, INODE)
    files = inodes * held.size((INODE, *FILE))
    beyond = connections * held.size(theirs)
    rest = held.growth(before, OTHER)
    halved = "slabinfo TCP, half of both ends"
    return KernelGrowth(
        sockets=sockets // 2,
        other=files // 2 + rest - beyond,
        server_sockets=sockets // 2,
        server_other=files // 2 + beyond,
        sources={
            "kernel_socket_bytes": halved,
            "server_socket_bytes": halved,
            "kernel_other_bytes": "slabinfo: half of socket inodes with file and dentry; "
            "epoll items, ports, tasks and mappings less the "
            + ("server's epoll items" if theirs == WATCH else "load's ports"),
        },
    )


def kernel_growth(
    before: Reading, held: Reading, connections: int, theirs: Sequence[str] = WATCH
) -> KernelGrowth:
    if before.slabs is not None and held.slabs is not None:
        return from_slabs(before.slabs, held.slabs, connections, theirs)
    why = NO_PROC if held.parts.page_table_bytes is None else NO_SLABINFO
    return KernelGrowth(reasons=dict.fromkeys(KERNEL_PARTS, why))


def gain(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def memory(
    before: Reading, held: Reading, connections: int, theirs: Sequence[str] = WATCH
) -> Memory:
    """What holding the connections added; ``theirs`` is as in :func:`from_slabs`."""
    growth = kernel_growth(before, held, connections, theirs)
    # At the barrier every thread with a connection has sent its request. A thread
    # that serves all connections was there before, and keeps one buffer.
    senders = max(0, min(held.parts.threads - before.parts.threads, connections))
    linux = held.parts.page_table_bytes is not None
    gained = {
        "send_buffer_bytes": senders * send_buffer() if linux else None,
        "kernel_socket_bytes": growth.sockets,
        "kernel_other_bytes": growth.other,
        "server_socket_bytes": growth.server_sockets,
    }
    start = {name: None if value is None else 0 for name, value in gained.items()}
    sources = held.sources | growth.sources
    reasons = held.reasons | growth.reasons
    if linux:
        sources["send_buffer_bytes"] = f"calculated: threads that sent × {send_buffer() // KIB} KiB"
    else:
        reasons["send_buffer_bytes"] = NO_PROC
    drop = gain(held.machine_free_bytes, before.machine_free_bytes)
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


def agreement(
    before: Reading, held: Reading, connections: int, theirs: Sequence[str] = WATCH
) -> dict[str, float | None]:
    """What the second method says: for the ``extra`` of a record.

    ``memory_agreement`` is the sum of the parts of both sides over the drop in the machine's
    free memory. 1 is perfect; 0.9 to 1.05 is usual with thousands of connections. With hundreds,
    other changes on the machine (page cache, other programs' kernel memory) are too large a share
    of the drop. None if a part is missing or the drop is not positive. ``server_growth_bytes`` is
    the server's side of it apart from sockets: user memory, page tables, files.
    """
    measured, server = memory(before, held, connections, theirs), None
    if before.server is not None and held.server is not None:
        user = gain(before.server.user_bytes, held.server.user_bytes)
        tables = gain(before.server.page_table_bytes, held.server.page_table_bytes)
        other = kernel_growth(before, held, connections, theirs).server_other
        server = sum(part or 0 for part in (user, tables, other))
    own = ("user_bytes", "page_table_bytes", "kernel_stack_bytes", "send_buffer_bytes")
    parts = [
        gain(getattr(measured.before, name), getattr(measured.held, name))
        for name in (*own, *KERNEL_PARTS)
    ]
    drop, share = measured.machine_drop_bytes, None
    if drop is not None and drop > 0 and None not in parts:
        share = sum(part or 0 for part in (server, *parts)) / drop
    return {"server_growth_bytes": server, "memory_agreement": share}
