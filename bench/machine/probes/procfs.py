"""Reading and parsing the text files of /proc and /sys.

Every parser takes text, so you can test it on text captured from another machine.
Only :func:`read` and :func:`read_int` touch the file system; they return ``None``
if a file is missing or unreadable. Formats:
``man 5 proc`` and the kernel's Documentation/filesystems/proc.rst.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
    """``int(text)``, or None if it is not a plain decimal integer."""
    try:
        return int(text)
    except ValueError:
        return None


def kib_fields(text: str) -> dict[str, int]:
    """Parse ``Name:  123 kB`` lines (meminfo, status, smaps_rollup) into bytes.

    Skips lines without a number; keeps numbers without ``kB`` as they are
    (``Threads: 4``).
    """
    fields: dict[str, int] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if not colon or not words:
            continue
        value = to_int(words[0])
        if value is None:
            continue
        fields[name.strip()] = value * KIB if words[1:2] == ["kB"] else value
    return fields


def paired_lines(text: str) -> dict[str, dict[str, int]]:
    """Parse /proc/net/snmp and /proc/net/netstat: a line of names, then a line of numbers.

    Returns ``{"Tcp": {"RetransSegs": 12, ...}, ...}``. Skips pairs
    that do not match (a truncated read).
    """
    groups: dict[str, dict[str, int]] = {}
    names: dict[str, list[str]] = {}
    for line in text.splitlines():
        group, colon, rest = line.partition(":")
        if not colon:
            continue
        words = rest.split()
        if group not in names:
            names[group] = words
            continue
        numbers = [to_int(word) for word in words]
        if len(numbers) == len(names[group]):
            groups[group] = {
                name: number
                for name, number in zip(names[group], numbers, strict=True)
                if number is not None
            }
    return groups


def sockstat(text: str) -> dict[str, dict[str, int]]:
    """Parse /proc/net/sockstat: ``TCP: inuse 5 orphan 0 tw 3 alloc 6 mem 1``."""
    groups: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        group, colon, rest = line.partition(":")
        if not colon:
            continue
        words = rest.split()
        values = groups.setdefault(group.strip(), {})
        for name, word in zip(words[::2], words[1::2], strict=False):
            number = to_int(word)
            if number is not None:
                values[name] = number
    return groups


@dataclass(frozen=True, slots=True)
class Slab:
    """One cache of /proc/slabinfo."""

    active: int  # objects in use, plus those on per-processor slabs (see slabs.py)
    size: int  # bytes of one object, padding included
    per_slab: int  # objects in one slab: the step in which `active` moves

    @property
    def bytes(self) -> int:
        """Bytes in use."""
        return self.active * self.size


def slabinfo(text: str) -> dict[str, Slab]:
    """Parse /proc/slabinfo 2.x; skips lines of any other shape."""
    slabs: dict[str, Slab] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 6 or line.startswith(("#", "slabinfo")):
            continue
        active, size, per_slab = (to_int(words[i]) for i in (1, 3, 4))
        if active is not None and size is not None and per_slab is not None:
            slabs[words[0]] = Slab(active, size, per_slab)
    return slabs


def processor_list(text: str) -> list[int]:
    """Parse a kernel list of processors: ``0-3,8`` is ``[0, 1, 2, 3, 8]``.

    Raises ValueError for anything else.
    """
    found: set[int] = set()
    for part in text.strip().split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        found.update(range(int(first), int(last if dash else first) + 1))
    return sorted(found)
