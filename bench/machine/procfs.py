"""Reading and parsing the text files of /proc and /sys, those of control groups included.

Every parser takes text, so you can test it on text captured from another machine.
Only :func:`read` and :func:`read_int` touch the file system; they return ``None``
if a file is missing or unreadable. Formats: ``man 5 proc``, the kernel's
Documentation/filesystems/proc.rst, and cgroup-v1 and cgroup-v2.rst in its admin-guide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bench.text import KIB

ROOT = Path("/")
"""The parent of ``proc`` and ``sys``. Tests point it to a folder of captured files."""


def read(path: str) -> str | None:
    """The text of ``/path`` (say ``"proc/meminfo"``), or None if it cannot be read."""
    try:
        return (ROOT / path.lstrip("/")).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def read_int(path: str) -> int | None:
    """The integer in a file; None if the file is missing or says ``max``."""
    text = read(path)
    return to_int(text.strip()) if text is not None else None


def to_int(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def fields(text: str) -> Iterator[tuple[str, list[str]]]:
    """The lines that have a name and a colon: each name, and the words behind it."""
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        if colon:
            yield name.strip(), rest.split()


def kib_fields(text: str) -> dict[str, int]:
    """Parse ``Name:  123 kB`` lines (meminfo, status, smaps_rollup) into bytes.

    Skips lines without a number; keeps numbers without ``kB`` as they are
    (``Threads: 4``).
    """
    values: dict[str, int] = {}
    for name, words in fields(text):
        value = to_int(words[0]) if words else None
        if value is not None:
            values[name] = value * KIB if words[1:2] == ["kB"] else value
    return values


def status(pid: int) -> dict[str, int]:
    return kib_fields(read(f"proc/{pid}/status") or "")


def tasks() -> int | None:
    """Threads on this machine: 89 where loadavg says "0.07 0.20 0.18 1/89 23069"."""
    words = (read("proc/loadavg") or "").split()
    return to_int(words[3].partition("/")[2]) if len(words) > 3 else None


def paired_lines(text: str) -> dict[str, dict[str, int]]:
    """Parse /proc/net/snmp and /proc/net/netstat: a line of names, then a line of numbers.

    Returns ``{"Tcp": {"RetransSegs": 12, ...}, ...}``. Skips pairs
    that do not match (a truncated read).
    """
    names: dict[str, list[str]] = {}
    groups: dict[str, dict[str, int]] = {}
    for group, words in fields(text):
        if group not in names:
            names[group] = words
        elif len(words) == len(names[group]):
            groups[group] = numbers(names[group], words)
    return groups


def sockstat(text: str) -> dict[str, dict[str, int]]:
    """Parse /proc/net/sockstat: ``TCP: inuse 5 orphan 0 tw 3 alloc 6 mem 1``."""
    return {group: numbers(words[::2], words[1::2]) for group, words in fields(text)}


def numbers(names: list[str], words: list[str]) -> dict[str, int]:
    pairs = zip(names, map(to_int, words), strict=False)
    return {name: number for name, number in pairs if number is not None}


@dataclass(frozen=True, slots=True)
class Slab:
    active: int  # objects in use, plus those on per-processor slabs (see memory.py)
    size: int  # bytes of one object, padding included

    @property
    def bytes(self) -> int:
        return self.active * self.size


def slabinfo(text: str) -> dict[str, Slab]:
    """Parse /proc/slabinfo 2.x; skips lines of any other shape."""
    slabs: dict[str, Slab] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 6:
            continue
        active, size = to_int(words[1]), to_int(words[3])
        if active is not None and size is not None:
            slabs[words[0]] = Slab(active, size)
    return slabs


def processor_list(text: str) -> list[int]:
    """Parse a kernel list of processors: ``0-3,8`` is ``[0, 1, 2, 3, 8]``.

    Raises ValueError for anything else.
    """
    processors: set[int] = set()
    for part in text.strip().split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        processors.update(range(int(first), int(last if dash else first) + 1))
    return sorted(processors)


# --- control groups ----------------------------------------------------------------------
#
# Versions 1 and 2. Only read: a benchmark should not rearrange the groups that it runs in.


UNLIMITED = 1 << 62  # version 1 says "no limit" with a number near 2**63


def cgroup_mounts(text: str) -> dict[str, tuple[int, str]]:
    """Parse /proc/self/mounts into ``{controller: (1, mount)}``; version 2 is ``""``."""
    mounts: dict[str, tuple[int, str]] = {}
    for words in map(str.split, text.splitlines()):
        if len(words) < 4:
            continue
        if words[2] == "cgroup2":
            mounts.setdefault("", (2, words[1]))
        elif words[2] == "cgroup":
            for option in words[3].split(","):
                mounts.setdefault(option, (1, words[1]))
    return mounts


def cgroup_membership(text: str) -> dict[str, str]:
    """Parse /proc/PID/cgroup into ``{controller: path}``; version 2 is ``""``."""
    groups: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            for controller in controllers.split(","):
                groups[controller] = path
    return groups


def cgroup_limits(
    controller: str, first: Sequence[str], second: Sequence[str]
) -> Iterator[tuple[str, list[int]]]:
    """The numbers in files of this process's group, and of every group above: all limits apply.

    ``first`` and ``second`` are the names of the files in each version. A group without a limit
    is left out, the others come with their folders. If the controller is mounted as version 1,
    that is used: a controller belongs to one hierarchy only. In a container without its own cgroup
    namespace, the path is the host's and does not exist here; the mount itself is then the group.
    """
    mounted = cgroup_mounts(read("proc/self/mounts") or "")
    groups = cgroup_membership(read("proc/self/cgroup") or "")
    name = next((name for name in (controller, "") if name in mounted and name in groups), None)
    if name is None:
        return
    version, mount = mounted[name]
    below = PurePosixPath(groups[name].lstrip("/"))
    if not (ROOT / mount.lstrip("/") / below).is_dir():
        below = PurePosixPath()
    for folder in (f"{mount}/{group}" for group in (below, *below.parents)):
        texts = [read(f"{folder}/{file}") for file in (first if version == 1 else second)]
        numbers = [to_int(word) for text in texts for word in (text or "max").split()]
        known = [number for number in numbers if number is not None]
        if len(known) == len(numbers):
            yield folder, known


def cgroup_stat(folder: str, controller: str) -> dict[str, int]:
    words = (read(f"{folder}/{controller}.stat") or "").split()
    return numbers(words[::2], words[1::2])


def quotas() -> dict[str, float]:
    """Group -> its limit, in processors."""
    limits = cgroup_limits("cpu", ("cpu.cfs_quota_us", "cpu.cfs_period_us"), ("cpu.max",))
    return {group: limit / period for group, (limit, period) in limits if limit > 0}


def cpu_quota() -> float | None:
    """The tightest limit, in processors."""
    return min(quotas().values(), default=None)


def throttled_us() -> int | None:
    """For how long these limits have stopped processors of the groups; None without a limit."""
    stats = [cgroup_stat(group, "cpu") for group in quotas()]
    times = [s.get("throttled_usec", s.get("throttled_time", 0) // 1000) for s in stats]
    return sum(times) if times else None


def memory_limits() -> dict[str, int]:
    limits = cgroup_limits("memory", ("memory.limit_in_bytes",), ("memory.max",))
    return {group: limit for group, (limit,) in limits if limit < UNLIMITED}


def memory_limit() -> int | None:
    return min(memory_limits().values(), default=None)


def memory_left() -> int | None:
    """What the tightest limit leaves: the kernel drops cached files, but no other memory."""
    of = [(most, cgroup_stat(group, "memory")) for group, most in memory_limits().items()]
    return min((most - s.get("anon", s.get("total_rss", 0)) for most, s in of), default=None)


def tasks_left() -> int | None:
    files = ("pids.max", "pids.current")
    return min((most - now for _, (most, now) in cgroup_limits("pids", files, files)), default=None)
