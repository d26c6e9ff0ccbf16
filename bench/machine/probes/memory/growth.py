"""What grew between two readings, by owner, and whether the free memory agrees."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.machine.probes import slabs
from bench.machine.probes.memory.processes import NO_PROC, send_buffer
from bench.machine.probes.memory.reading import Reading
from bench.machine.probes.slabs import Slabs
from bench.schema import Memory
from bench.text import KIB

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


def from_slabs(before: Slabs, held: Slabs, connections: int) -> KernelGrowth:
    """Split the growth of the slabs over both ends of ``connections`` loopback connections."""
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

    This is one number for sockets, files and threads, reported as ``other``, and
    only if the worker's group does not contain the server: an interrupt creates the
    accepted end of a connection and charges it to no group, so the sum of both ends
    cannot be halved. The reason then states the sum.
    """
    if before.cgroup is None or held.cgroup is None:
        why = NO_SLABINFO + "; no memory control group either"
        return KernelGrowth(reasons=dict.fromkeys(KERNEL_PARTS, why))
    source = held.cgroup.source
    grown = held.cgroup.slab - before.cgroup.slab
    if "v1" in source:  # one total: subtract what is known to be stacks and page tables
        grown -= gain(before.parts.kernel_stack_bytes, held.parts.kernel_stack_bytes) or 0
        grown -= gain(before.parts.page_table_bytes, held.parts.page_table_bytes) or 0
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
    """The kernel's growth between two readings, from the best source that both have."""
    if before.slabs is not None and held.slabs is not None:
        return from_slabs(before.slabs, held.slabs, connections)
    if held.parts.page_table_bytes is None:
        return KernelGrowth(reasons=dict.fromkeys(KERNEL_PARTS, NO_PROC))
    return from_cgroup(before, held, connections)


def gain(before: int | None, after: int | None) -> int | None:
    """The difference; None if either end is unknown."""
    return None if before is None or after is None else after - before


def memory(before: Reading, held: Reading, connections: int) -> Memory:
    """The memory that ``connections`` held connections take, by owner (in bytes)."""
    growth = kernel_growth(before, held, connections)
    # At the barrier every thread with a connection has sent its request. A thread
    # that serves all connections was there before, and keeps one buffer.
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


def server_growth(before: Reading, held: Reading, connections: int) -> int | None:
    """Growth of the server's side apart from sockets: user memory, page tables, files.

    For :func:`agreement` only; None if the server was not read.
    """
    if before.server is None or held.server is None:
        return None
    user = gain(before.server.user_bytes, held.server.user_bytes)
    tables = gain(before.server.page_table_bytes, held.server.page_table_bytes)
    other = kernel_growth(before, held, connections).server_other
    return sum(part or 0 for part in (user, tables, other))


def agreement(measured: Memory, server_bytes: int | None = None) -> float | None:
    """Sum of the parts of both sides over the drop in the machine's free memory.

    1 is perfect; 0.9 to 1.05 is usual with thousands of connections. With hundreds,
    other changes on the machine (page cache, other programs' kernel memory) are too
    large a share of the drop. ``server_bytes`` is :func:`server_growth`. None if a
    part is missing or the drop is not positive.
    """
    drop = measured.machine_drop_bytes
    total = server_bytes or 0
    own = ("user_bytes", "page_table_bytes", "kernel_stack_bytes", "send_buffer_bytes")
    for name in (*own, *KERNEL_PARTS):
        gained = gain(getattr(measured.before, name), getattr(measured.held, name))
        if gained is None:
            return None
        total += gained
    return total / drop if drop is not None and drop > 0 else None
