"""Memory by owner, read from outside at the barrier.

A worker holds its connections open while the server withholds the answers.
:class:`Reader` reads once before the first connection and once at the barrier;
:func:`memory` reports what grew, by owner:

=====================  ==========================================================
part                   source, best first
=====================  ==========================================================
user                   smaps_rollup Pss_Anon + SwapPss; psutil USS; status RssAnon
page tables            status VmPTE
kernel stacks          threads × the kernel's stack size
kernel sockets         slabinfo (root)
other kernel objects   slabinfo: inodes, dentries, files, epoll items, ports, tasks;
                       and the send buffers of threads, calculated.
                       Without root: the slab memory of the worker's control
                       group if the server is not in it; sockets included
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

Two traps if you change this package: listing /proc/PID/fd or /proc/PID/task makes
the kernel keep nearly 1 KB of inode and dentry per entry, which the next reading
then counts; and MemAvailable treats the inodes and dentries of open sockets as
reclaimable, which they are not (see :func:`machine_free`).

========================  ======================================================
``processes.py``          the memory of one process
``free.py``               the free memory of the machine, and waiting until it settles
``reading.py``            one look at worker, server and machine
``growth.py``             the difference of two looks, by owner
========================  ======================================================
"""

from __future__ import annotations

from bench.machine.probes.memory.free import free_memory, wait_until_settled
from bench.machine.probes.memory.growth import (
    KERNEL_PARTS,
    NO_SLABINFO,
    KernelGrowth,
    agreement,
    from_slabs,
    gain,
    memory,
    server_growth,
)
from bench.machine.probes.memory.processes import (
    NO_PROC,
    OwnMemory,
    descriptors,
    kernel_stack_bytes,
    own_memory,
    send_buffer,
    user_memory,
)
from bench.machine.probes.memory.reading import Reader, Reading

__all__ = [
    "KERNEL_PARTS",
    "NO_PROC",
    "NO_SLABINFO",
    "KernelGrowth",
    "OwnMemory",
    "Reader",
    "Reading",
    "agreement",
    "descriptors",
    "free_memory",
    "from_slabs",
    "gain",
    "kernel_stack_bytes",
    "memory",
    "own_memory",
    "send_buffer",
    "server_growth",
    "user_memory",
    "wait_until_settled",
]
