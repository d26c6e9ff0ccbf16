"""One trial in a sentence, and the memory of one connection by owner."""

from __future__ import annotations

from collections.abc import Sequence

from bench.fleet.schema import FleetTrialRecord
from bench.text import KIB, plural

BUDGET: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("client, user", ("user_bytes",)),
    ("client, page tables", ("page_table_bytes",)),
    ("client, kernel stacks", ("kernel_stack_bytes",)),
    ("client, send buffers of threads", ("send_buffer_bytes",)),
    ("client, kernel: sockets", ("kernel_socket_bytes",)),
    ("client, kernel: files, epoll, ports", ("kernel_other_bytes",)),
    ("server, user", ("server_user_bytes", "server_page_table_bytes")),
    ("server, kernel", ("server_kernel_bytes",)),
)
"""Who holds the memory of a connection: words for the table, and parts of a record."""


def sentence(trial: FleetTrialRecord) -> str:
    """A trial in one line."""
    workers = plural(trial.workers, "worker")
    what = f"{trial.told}, {trial.connections:,} connections, {workers}"
    if trial.status != "ok":
        return f"{trial.status}: {what}: {trial.reason}"
    total = per_connection(trial, tuple(name for _, parts in BUDGET for name in parts))
    each = f", {total / KIB:.1f} KiB each with both ends" if total is not None else ""
    return (
        f"{what}: all held after {trial.opened_s:.1f} s, released in {trial.released_s:.1f} s{each}"
    )


def per_connection(trial: FleetTrialRecord, parts: Sequence[str]) -> float | None:
    """Bytes of some parts per connection; None if one of them was not measured."""
    if trial.growth is None:
        return None
    values = [getattr(trial.growth, name) for name in parts]
    if any(value is None for value in values):
        return None
    return float(sum(values)) / trial.connections
