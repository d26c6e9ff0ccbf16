"""Memory: whether the workload fits, and whether the kernel would distort its size."""

from __future__ import annotations

from collections.abc import Iterator

import psutil

from bench.machine.doctor.result import CheckResult, Level, Needs
from bench.machine.probes import cgroups, procfs
from bench.text import KIB

BYTES_PER_CONNECTION = 32 * KIB  # both ends, the most expensive model without its threads
BYTES_PER_THREAD = 96 * KIB  # stacks, page tables, task, send buffer, heap: see docs/method.md


def mib(size: float) -> str:
    """Bytes as MiB or GiB."""
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"


def available_bytes() -> int:
    """Memory that this process may still take: the machine's, or its control group's."""
    available = int(psutil.virtual_memory().available)
    limit = cgroups.memory_limit()
    return available if limit is None else min(available, limit)


def check_memory(needs: Needs) -> Iterator[CheckResult]:
    """The workload must fit, and must stay in memory."""
    need = needs.connections * BYTES_PER_CONNECTION + needs.threads * BYTES_PER_THREAD
    client, server = (needs.connections * each for each in (needs.tls_client, needs.tls_server))
    need += client + server
    available = available_bytes()
    found = f"{mib(available)} available"
    if need > available / 2:
        refused = need > available
        level: Level = "refusal" if refused else "warning"
        effect = (
            "the kernel would kill the worker or the harness"
            if refused
            else "the kernel starts to reclaim memory: memory figures are too low"
        )
        fix = "add memory, or hold fewer connections"
        tls = f" ({mib(client)} of the client and {mib(server)} of the server for TLS)"
        needed = f"{mib(need)} needed{tls if client + server else ''}"
        yield CheckResult("memory", level, f"{found}; {needed}", effect, fix)
    else:
        yield CheckResult("memory", "ok", found)
    swap = psutil.swap_memory()
    if swap.used:
        yield CheckResult(
            "swap",
            "warning",
            f"{mib(swap.used)} of {mib(swap.total)} in use",
            "paging stops a trial for milliseconds, and resident sizes are too low",
            "free memory, then: sudo swapoff -a && sudo swapon -a",
        )
    elif swap.total:
        found = f"{mib(swap.total)}, unused"
        yield CheckResult("swap", "note", found, "idle memory may be paged out")
    yield from check_paging()


def check_paging() -> Iterator[CheckResult]:
    """Kernel features that make a process look larger or smaller than it is."""
    text = procfs.read("sys/kernel/mm/transparent_hugepage/enabled") or ""
    if "[always]" in text:
        yield CheckResult(
            "huge pages",
            "warning",
            "transparent huge pages: always",
            "thread stacks and heaps are rounded up to 2 MiB: user memory per thread is too high",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    elif text:
        chosen = text.partition("[")[2].partition("]")[0]
        yield CheckResult("huge pages", "ok", f"transparent huge pages: {chosen}")
    states = (procfs.ROOT / "sys/kernel/mm/damon/admin/kdamonds").glob("*/state")
    reclaim = (procfs.read("sys/module/damon_reclaim/parameters/enabled") or "").strip() == "Y"
    if reclaim or any(
        (procfs.read(str(s.relative_to(procfs.ROOT))) or "") == "on\n" for s in states
    ):
        yield CheckResult(
            "cold memory",
            "note",
            "DAMON is active",
            "the kernel may drop pages that are not in use: resident sizes (RSS) mislead, "
            "private anonymous memory does not",
        )
