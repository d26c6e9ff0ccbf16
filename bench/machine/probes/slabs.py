"""The kernel objects behind a connection and a thread, counted in /proc/slabinfo.

Reading it requires root. Two traps, both seen in practice:

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

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.machine.probes import procfs
from bench.machine.probes.procfs import Slab

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

OTHER = (
    *WATCH,
    "tcp_bind_bucket",  # a connecting socket holds its port: one of each
    "tcp_bind2_bucket",
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
    """One reading of the caches of :data:`NAMES`."""

    caches: dict[str, Slab]  # listed name -> cache
    listed: dict[str, str]  # wanted name -> listed name; merged caches share one

    def size(self, names: Iterable[str]) -> int:
        """Total bytes of one object of each of ``names``; absent ones count as 0."""
        return sum(self.caches[self.listed[name]].size for name in names if name in self.listed)

    def growth(self, before: Slabs, names: Iterable[str]) -> int:
        """Bytes that the caches behind ``names`` gained since ``before``, each counted once."""
        distinct = {self.listed[name] for name in names if name in self.listed}
        return sum(
            self.caches[name].bytes - before.caches[name].bytes
            for name in distinct
            if name in before.caches
        )

    def grown(self, before: Slabs, name: str) -> int:
        """Objects that the cache behind ``name`` gained since ``before``."""
        listed = self.listed.get(name)
        if listed is None or listed not in before.caches:
            return 0
        return self.caches[listed].active - before.caches[listed].active


def read() -> Slabs | None:
    """Read the caches now; None if slabinfo cannot be read (not root, not Linux)."""
    text = procfs.read("proc/slabinfo")
    found = procfs.slabinfo(text) if text else {}
    if not found:
        return None
    listed = resolve(found, aliases({*NAMES, *found}))
    listed = {name: listed[name] for name in NAMES if name in listed}
    return Slabs({name: found[name] for name in set(listed.values())}, listed)
