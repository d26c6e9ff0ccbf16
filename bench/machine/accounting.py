"""Kernel memory as the own control group counts it: what a user can read instead of slabinfo.

Every session of systemd and every container is a control group (version 2) with a ``memory.stat``,
whose ``slab`` are the kernel objects of all processes in it: harness, client and server, so both
ends of a connection. :func:`ends` tells the ends apart. It opens sockets of this process step by
step and sees what the group counts for each step, so no size is assumed. Before Linux 6.12 the
group is not charged for all that is accepted, so there the ends cannot be told apart.

Other programs of the group are counted too, and files that they open leave entries behind.
"""

from __future__ import annotations

import mmap
import os
import re
import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

from bench.machine import procfs
from bench.text import KIB

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
        found = re.search(r"^slab (\d+)$", procfs.read(f"{group}/memory.stat") or "", re.MULTILINE)
    return int(found[1]) if found else None


@cache
def ends(group: str) -> Ends | None:
    """What a group counts for the objects of a connection; None if it does not count both ends."""
    here: list[socket.socket] = []
    there: list[socket.socket] = []
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=TRIED))
        poll = stack.enter_context(select.epoll())

        def connect(number: int) -> None:
            here[number].connect(server.getsockname())
            there.append(stack.enter_context(server.accept()[0]))
            # A reset leaves no TIME_WAIT behind.
            here[number].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        steps: tuple[Callable[[int], object], ...] = (
            lambda _: here.append(stack.enter_context(socket.socket())),
            lambda number: here[number].bind(("127.0.0.1", 0)),
            connect,
            lambda number: poll.register(there[number]),
        )
        slab_bytes(group)  # the first reading opens files, which leaves entries behind
        counts = [slab_bytes(group) or 0]
        for step in steps:
            try:
                for number in range(TRIED):
                    step(number)
            except OSError:  # too few descriptors or ports
                return None
            counts.append(slab_bytes(group) or 0)
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
