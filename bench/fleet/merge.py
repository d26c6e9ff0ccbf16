"""Merges many results into one, exactly: adds counts, never averages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from bench.fleet.schema import Growth
from bench.histograms import MIN_BEYOND, encode, merge_histograms
from bench.machine.probes import memory
from bench.schema import Handshakes, Latency, Ledger

OWN_PARTS = (
    *("user_bytes", "page_table_bytes", "kernel_stack_bytes", "send_buffer_bytes"),
    *("server_user_bytes", "server_page_table_bytes"),
)
"""Parts that belong to a process, and can therefore be added over processes."""


def latencies(parts: Iterable[Latency | None]) -> Latency | None:
    """One distribution of all samples, from their histograms; None without any."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    merged = merge_histograms(part.hdr for part in found)
    count = sum(part.count for part in found)
    at = merged.at_ms
    return Latency(
        count=count,
        min_ms=min(part.min_ms for part in found),
        mean_ms=sum(part.mean_ms * part.count for part in found) / count,
        p50_ms=at(50),
        p90_ms=at(90),
        p99_ms=at(99),
        p99_9_ms=at(99.9) if count >= 1000 * MIN_BEYOND else None,
        max_ms=max(part.max_ms for part in found),
        hdr=encode(merged.counts),
    )


def ledgers(parts: Sequence[Ledger]) -> Ledger:
    """What all servers saw together.

    Each has a site of its own, so distinct URLs add up. The peaks add up too, if the
    trial held everything at one barrier, because they then occurred at the same time.
    """
    return Ledger(
        requests=sum(part.requests for part in parts),
        distinct=sum(part.distinct for part in parts),
        repeated=sum(part.repeated for part in parts),
        connections_opened=sum(part.connections_opened for part in parts),
        peak_connections=sum(part.peak_connections for part in parts),
        peak_in_flight=sum(part.peak_in_flight for part in parts),
        requests_per_connection_max=max(
            (part.requests_per_connection_max for part in parts), default=0
        ),
        handshakes=handshakes([part.handshakes for part in parts]),
    )


def handshakes(parts: Sequence[Handshakes | None]) -> Handshakes | None:
    """All handshakes; None unless every server counted some, which none does on plain HTTP."""
    found = [part for part in parts if part is not None]
    if not found or len(found) != len(parts):
        return None
    return Handshakes(
        full=sum(part.full for part in found),
        resumed=sum(part.resumed for part in found),
        failed=sum(part.failed for part in found),
    )


def digests(parts: Iterable[tuple[int, str | None]]) -> str | None:
    """SHA-256 over every worker's number and digest; None if a digest is missing."""
    lines = []
    for number, digest in sorted(parts):
        if digest is None:
            return None
        lines.append(f"{number} {digest}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def kernel_counters(parts: Iterable[dict[str, int | None]]) -> dict[str, int | None]:
    """The sums of counters of several network namespaces; None if one of them lacks it."""
    total: dict[str, int | None] = {}
    for part in parts:
        for name, value in part.items():
            earlier = total.get(name, 0)
            total[name] = None if value is None or earlier is None else earlier + value
    return total


def growth(
    processes: Sequence[Growth], kernels: Sequence[memory.KernelGrowth], drop: int | None
) -> Growth:
    """What the whole trial took: its processes and each machine's kernel.

    ``drop`` is how much the free or anonymous memory of all machines shrank. Adding
    what the trial's processes took gives the sum of the second method.
    """
    values: dict[str, int | None] = {}
    for name in OWN_PARTS:
        # A worker has no server parts, and a server no worker parts: absent, not unknown.
        found = [value for part in processes if (value := getattr(part, name)) is not None]
        values[name] = sum(found) if found else None
    reasons: dict[str, str] = {}
    for name, parts in (
        ("kernel_socket_bytes", [kernel.sockets for kernel in kernels]),
        ("kernel_other_bytes", [kernel.other for kernel in kernels]),
        (
            "server_kernel_bytes",
            [
                None if k.server_sockets is None or k.server_other is None
                else k.server_sockets + k.server_other
                for k in kernels
            ],
        ),
    ):  # fmt: skip
        known = [part for part in parts if part is not None]
        values[name] = sum(known) if kernels and len(known) == len(kernels) else None
        if values[name] is None:
            reasons[name] = memory.NO_SLABINFO
    own = [values["user_bytes"], values["server_user_bytes"]]
    if drop is None or None in own:
        reasons["machine_drop_bytes"] = memory.NO_PROC
    else:
        values["machine_drop_bytes"] = drop + sum(part or 0 for part in own)
    return Growth(**values, reasons=reasons)
