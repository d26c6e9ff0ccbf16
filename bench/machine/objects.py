"""Kernel memory of connections, counted by one of two sources, and split over both ends.

:class:`Slabs` is /proc/slabinfo, which only root reads. :class:`GroupMemory` is what an ordinary
user can read instead: the ``slab`` of the own control group (version 2), the kernel objects of all
processes in it, as every session of systemd and every container is one. Harness, client and server
share it, so both sources have both ends of each connection, and either splits what it gained with
``since``.

**The slabs.** A socket, its inode, dentry and file have the same size at either end and are split
in half. More than one at the other end for each connection is the client's. The fixture server
registers each connection with epoll once, so one epoll item per connection is the server's. The
rest (the client's epoll items, ports of the connecting side, threads) is the client's. Two traps:

* **Merged caches.** The allocator merges caches of one size under the name of one of them:
  ``eventpoll_epi`` may hold every ``tcp_bind_bucket`` too and then grows three times as fast as
  epoll items do. The aliases are the symbolic links in /sys/kernel/slab; :func:`cache_id` follows
  them, so a merged cache is counted once.
* **Objects not yet used.** ``active`` counts every object in the slabs that a processor holds
  ready, so it moves in steps of a slab (13 sockets, say) and misses the first few dozen new
  objects. Fit a slope over several numbers of connections; a single small difference is not a
  measurement.

**The group.** :func:`ends` tells the ends apart. It opens sockets of this process step by step and
sees what the group counts for each step, so no size is assumed. Before Linux 6.12 the group is not
charged for all that is accepted, so there the ends cannot be told apart. Other programs of the
group are counted too, and files that they open leave entries behind.
"""

from __future__ import annotations

import mmap
import os
import select
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

from bench.machine import procfs
from bench.machine.procfs import Slab
from bench.text import KIB

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

MAPPING = ("vm_area_struct", "anon_vma", "anon_vma_chain", "maple_node", "vmap_area")
OTHER = (*WATCH, *PORT, "task_struct", "pid", *MAPPING)
"""Objects counted by their growth: epoll items, port bindings, threads and their stacks."""

NAMES = (*SOCKET, INODE, *FILE, *OTHER)


@dataclass(frozen=True, slots=True)
class KernelGrowth:
    """What the kernel holds in addition, by owner, in bytes; None where unknown."""

    sockets: int | None = None  # the client's
    other: int | None = None  # the client's
    server_sockets: int | None = None
    server_other: int | None = None


# --- slabinfo ----------------------------------------------------------------------------


def cache_id(name: str) -> str:
    """The physical cache behind a name (``:A-0000128``), else the name itself."""
    try:
        return os.readlink(procfs.ROOT / "sys/kernel/slab" / name)
    except OSError:
        return name


@dataclass(frozen=True, slots=True)
class Slabs:
    caches: dict[str, Slab]  # physical cache -> its objects
    behind: dict[str, str]  # wanted name -> physical cache; merged ones share it

    def size(self, names: Iterable[str]) -> int:
        return sum(self.caches[self.behind[name]].size for name in names if name in self.behind)

    def growth(self, before: Slabs, names: Iterable[str]) -> int:
        caches = {self.behind[name] for name in names if name in self.behind}
        return sum(
            self.caches[cache].bytes - before.caches[cache].bytes
            for cache in caches & before.caches.keys()
        )

    def since(self, before: Slabs, connections: int, theirs: Sequence[str]) -> KernelGrowth:
        def both(names: Sequence[str], each: int) -> tuple[int, int]:
            grew = self.growth(before, names)
            own = max(grew // 2, grew - connections * each)
            return own, grew - own

        sockets, their_sockets = both(SOCKET, self.size(SOCKET[:1]))
        inode = self.size((INODE,))
        file = self.size((INODE, *FILE)) / (inode or 1)
        files, their_files = (round(size * file) for size in both((INODE,), inode))
        beyond = connections * self.size(theirs)
        rest = self.growth(before, OTHER)
        return KernelGrowth(sockets, files + rest - beyond, their_sockets, their_files + beyond)


def read_slabs() -> Slabs | None:
    """Read the caches now; None if slabinfo cannot be read (not root, not Linux)."""
    slabs = procfs.slabinfo(procfs.read("proc/slabinfo") or "")
    if not slabs:
        return None
    caches = {cache_id(name): slab for name, slab in slabs.items()}
    behind = {name: cache for name in NAMES if (cache := cache_id(name)) in caches}
    return Slabs({cache: caches[cache] for cache in behind.values()}, behind)


# --- the control group -------------------------------------------------------------------


TRIED: Final = 200
"""Connections that :func:`ends` opens: two descriptors each."""

ALIKE: Final = 0.9
"""An accepted socket is counted like the other end's if it has this share of its bytes."""

FREED_S: Final = 3.0
FREED_BYTES: Final = 64 * KIB

BATCH: Final = 64
"""MEMCG_CHARGE_BATCH of the kernel: see :func:`slab_bytes`."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Bytes that a group counts for the objects of one connection."""

    socket: float  # at either end, with inode, dentry and file
    port: float  # of the connecting end
    accepted: float  # as ``socket``, of the end that accepted
    watch: float  # a registration with epoll


@dataclass(frozen=True, slots=True)
class GroupMemory:
    """The kernel objects of a group at one moment, in bytes."""

    slab: int
    ends: Ends

    def since(self, before: GroupMemory, connections: int, theirs: Sequence[str]) -> KernelGrowth:
        ends = before.ends
        here, there = ends.socket, ends.accepted + ends.watch
        if theirs == PORT:
            here, there = ends.accepted, ends.socket + ends.port
        own = self.slab - before.slab - round(connections * there)
        sockets = round(connections * here)
        return KernelGrowth(sockets, own - sockets, round(connections * there))


def common_group(*pids: int) -> str | None:
    """The folder of the group that this process shares with others; None if there is none.

    The root has a memory.stat, too, but no ``memory.current``: its own objects are not counted.
    """
    members = {
        procfs.cgroup_membership(procfs.read(f"proc/{pid}/cgroup") or "").get("")
        for pid in ("self", *pids)
    }
    mounted = procfs.cgroup_mounts(procfs.read("proc/self/mounts") or "").get("")
    if len(members) > 1 or None in members or mounted is None:
        return None
    folder = f"{mounted[1]}/{str(members.pop()).lstrip('/')}"
    return folder if procfs.read_int(f"{folder}/memory.current") is not None else None


def slab_bytes(group: str) -> int | None:
    """Bytes of the kernel objects of a group that this process is in; None without memory.stat.

    The kernel adds up what its processors counted every two seconds, or when somebody reads and
    :data:`BATCH` pages have changed for each processor. So change more than that.
    """
    pages = 2 * BATCH * ((os.cpu_count() or 1) + 1)
    with mmap.mmap(-1, pages * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        for page in range(pages):
            memory[page * mmap.PAGESIZE] = 1
        return procfs.cgroup_stat(group, "memory").get("slab")


def opening() -> Iterator[None]:
    """Open :data:`TRIED` connections in steps, one for each of :class:`Ends`; then close them."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=TRIED))
        poll = stack.enter_context(select.epoll())
        yield
        here = [stack.enter_context(socket.socket()) for _ in range(TRIED)]
        yield
        for client in here:
            client.bind(("127.0.0.1", 0))
        yield
        there = []
        for client in here:
            client.connect(server.getsockname())
            there.append(stack.enter_context(server.accept()[0]))
            # A reset leaves no TIME_WAIT behind.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        yield
        for accepted in there:
            poll.register(accepted)
        yield


@cache
def ends(group: str) -> Ends | None:
    """What a group counts for the objects of a connection; None if it does not count both ends."""
    slab_bytes(group)  # the first reading opens files, which leaves entries behind
    try:
        counts = [slab_bytes(group) or 0 for _ in opening()]
    except OSError:  # too few descriptors or ports
        return None
    # The kernel frees some of it after a while, which a reading must not meet.
    deadline = time.monotonic() + FREED_S
    while (slab_bytes(group) or 0) > counts[0] + FREED_BYTES and time.monotonic() < deadline:
        time.sleep(FREED_S / 100)
    sizes = Ends(*((after - before) / TRIED for before, after in pairwise(counts)))
    return sizes if sizes.accepted > ALIKE * sizes.socket else None


def counted(*pids: int) -> GroupMemory | None:
    """What the group of this process and these counts now; None if they share none."""
    group = common_group(*pids)
    of_each = ends(group) if group else None
    slab = slab_bytes(group) if group else None
    return GroupMemory(slab, of_each) if slab is not None and of_each else None
