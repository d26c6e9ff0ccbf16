"""The machine's free memory, the second method, and waiting until it settles."""

from __future__ import annotations

import os
import time

from bench.machine.probes import procfs
from bench.text import KIB

SETTLE_POLL_S = 0.1
SETTLED_BYTES = 128 * KIB


def parse_cached_pages(zoneinfo: str) -> int:
    """Free pages on the processors' own lists, which MemFree leaves out."""
    pages = 0
    for line in zoneinfo.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "count:":
            pages += procfs.to_int(words[1]) or 0
    return pages


def machine_free(meminfo: str, zoneinfo: str, page: int) -> int | None:
    """Free bytes, page cache included.

    Not MemAvailable, which counts half or all of SReclaimable: that includes the
    inodes and dentries of open sockets, though nothing can reclaim them. Not
    MemFree alone, which leaves out the free pages that each processor keeps for
    itself: tens of megabytes, which the next program uses up first.
    """
    fields = procfs.kib_fields(meminfo)
    parts = [fields.get(name) for name in ("MemFree", "Buffers", "Cached")]
    if any(part is None for part in parts):
        return None
    return sum(part or 0 for part in parts) + parse_cached_pages(zoneinfo) * page


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
