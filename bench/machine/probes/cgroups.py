"""Control groups, versions 1 and 2: quotas, limits and the kernel memory of a process's group.

Only read, never written: a benchmark should not rearrange the groups it runs in.
Formats: Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.machine.probes import procfs

UNLIMITED = 1 << 62  # version 1 says "no limit" with a number near 2**63


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The control group of a process for one controller."""

    version: int  # 1 or 2
    mount: str  # where the hierarchy is mounted
    path: str  # the group's folder, below or equal to mount

    def read(self, name: str) -> str | None:
        """The text of one of the group's files; None if missing."""
        return procfs.read(f"{self.path}/{name}")

    def upward(self, name: str) -> list[str]:
        """The file's text in this group and in every group above it: all of their limits apply."""
        texts = []
        folder = self.path
        while True:
            text = procfs.read(f"{folder}/{name}")
            if text is not None:
                texts.append(text.strip())
            if folder == self.mount or "/" not in folder.lstrip("/"):
                return texts
            folder = folder.rsplit("/", 1)[0]


def mounts(text: str) -> dict[str, tuple[int, str]]:
    """Parse /proc/self/mounts into ``{controller: (1, mount)}``; version 2 is ``""``."""
    found: dict[str, tuple[int, str]] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 4:
            continue
        if words[2] == "cgroup2":
            found.setdefault("", (2, words[1]))
        elif words[2] == "cgroup":
            for option in words[3].split(","):
                found.setdefault(option, (1, words[1]))
    return found


def membership(text: str) -> dict[str, str]:
    """Parse /proc/PID/cgroup into ``{controller: path}``; version 2 is ``""``."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            for controller in controllers.split(","):
                found[controller] = path
    return found


def find(controller: str, pid: int | str = "self") -> ControlGroup | None:
    """The group of ``pid`` for ``controller`` ("memory", "cpu", "pids"), None without one.

    If the controller is mounted as version 1, that is used: a controller belongs to
    one hierarchy only. In a container without its own cgroup namespace, the path is
    the host's and does not exist here; the mount itself is then the group.
    """
    mounted = mounts(procfs.read("proc/self/mounts") or "")
    groups = membership(procfs.read(f"proc/{pid}/cgroup") or "")
    for name in (controller, ""):
        if name in mounted and name in groups:
            version, mount = mounted[name]
            path = mount + groups[name].rstrip("/")
            if not (procfs.ROOT / path.lstrip("/")).is_dir():
                path = mount
            return ControlGroup(version, mount, path)
    return None


def quota(texts: list[str]) -> float | None:
    """The tightest of several ``cpu.max`` texts (``"150000 100000"``), in processors."""
    shares = []
    for text in texts:
        words = text.split()
        limit, period = (procfs.to_int(w) for w in words) if len(words) == 2 else (None, None)
        if limit is not None and period and limit > 0:
            shares.append(limit / period)
    return min(shares, default=None)


def cpu_quota() -> float | None:
    """How many processors' time this process may use; None without a quota."""
    group = find("cpu")
    if group is None:
        return None
    if group.version == 2:
        return quota(group.upward("cpu.max"))
    limits = group.upward("cpu.cfs_quota_us")
    periods = group.upward("cpu.cfs_period_us")
    return quota([f"{a} {b}" for a, b in zip(limits, periods, strict=False)])


def memory_limit() -> int | None:
    """Bytes that this process's group may use in total; None without a limit."""
    group = find("memory")
    if group is None:
        return None
    texts = group.upward("memory.max" if group.version == 2 else "memory.limit_in_bytes")
    limits = [limit for text in texts if (limit := procfs.to_int(text)) is not None]
    return min((limit for limit in limits if limit < UNLIMITED), default=None)


def tasks_left() -> int | None:
    """Threads and processes that ``pids.max`` still allows; None without a limit."""
    group = find("pids")
    if group is None:
        return None
    left = []
    for limit, used in zip(group.upward("pids.max"), group.upward("pids.current"), strict=False):
        most, now = procfs.to_int(limit), procfs.to_int(used)
        if most is not None and now is not None:
            left.append(most - now)
    return min(left, default=None)


@dataclass(frozen=True, slots=True)
class KernelMemory:
    """Kernel memory charged to a group, in bytes. Read as a difference.

    Charges are made in batches of 64 pages per processor, so a difference is
    good to about 256 KiB × processors.
    """

    slab: int
    source: str


def kernel_memory(pid: int) -> KernelMemory | None:
    """Slab memory charged to the group of ``pid``: version 2's ``slab`` of memory.stat.

    Version 1 gives one total (``memory.kmem.usage_in_bytes``) with kernel
    stacks and page tables in it, which the caller subtracts; ``source`` tells which.
    """
    group = find("memory", pid)
    if group is None:
        return None
    if group.version == 2:
        for line in (group.read("memory.stat") or "").splitlines():
            name, _, number = line.partition(" ")
            value = procfs.to_int(number)
            if name == "slab" and value is not None:
                return KernelMemory(value, "cgroup v2 memory.stat slab")
        return None
    total = procfs.to_int((group.read("memory.kmem.usage_in_bytes") or "").strip())
    return KernelMemory(total, "cgroup v1 kmem") if total is not None else None
