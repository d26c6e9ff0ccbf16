"""Charts and tables of a fleet, from its records alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.charts import draw, fleet_memory, fleet_ramp, fleet_throughput
from bench.charts.style import Plan
from bench.fleet.schema import FleetTrialRecord
from bench.fleet.store import FleetRecords
from bench.output import CHARTS, SUMMARY
from bench.store import StoreError

BEGIN, END = "<!-- fleet tables: begin -->", "<!-- fleet tables: end -->"
KIB = 1024

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
"""Owners of a connection's memory, in the order of the table."""

COUNTERS = ("ListenOverflows", "TCPTimeouts", "RetransSegs")


def sentence(trial: FleetTrialRecord) -> str:
    """What became of a trial, in one line."""
    who = f"{trial.backend}, {trial.connections:,} connections, {trial.workers} workers"
    if trial.workload == "crawl":
        who = (
            f"{trial.backend}, {trial.workers} workers × {trial.connections // trial.workers} slots"
        )
    if trial.status != "ok":
        return f"{trial.status}: {who}: {trial.reason}"
    if trial.workload == "crawl":
        return (
            f"{who}: {trial.pages:,} pages once each in {trial.elapsed_s:.1f} s, "
            f"{trial.pages_per_s:,.0f} pages/s, {trial.rounds} rounds"
        )
    total = per_connection(trial, tuple(name for _, parts in BUDGET for name in parts))
    each = f", {total / KIB:.1f} KiB each with both ends" if total is not None else ""
    return (
        f"{who}: all held after {trial.opened_s:.1f} s, released in {trial.released_s:.1f} s{each}"
    )


def per_connection(trial: FleetTrialRecord, parts: Sequence[str]) -> float | None:
    """Bytes of some parts for one connection; None where one of them was not measured."""
    if trial.growth is None:
        return None
    values = [getattr(trial.growth, name) for name in parts]
    if any(value is None for value in values):
        return None
    return float(sum(values)) / trial.connections


def row(cells: Sequence[object]) -> str:
    """One row of a Markdown table."""
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def heading(cells: Sequence[str], numbers: int) -> Iterator[str]:
    """The first two rows; the last ``numbers`` columns are numbers."""
    yield row(cells)
    yield row(["---"] * (len(cells) - numbers) + ["---:"] * numbers)


def tables(records: FleetRecords) -> str:
    """Everything a reader needs, in Markdown."""
    environment = records.fleet.environment
    lines = [
        f"Fleet {records.fleet.fleet}: {environment.cpu_count} processors "
        f"({environment.cpu_model or 'model unknown'}), "
        f"{environment.memory_total_bytes / (1 << 30):.0f} GiB, {environment.kernel}, "
        f"{environment.python}, {environment.limits.get('nofile_hard')} descriptors per process, "
        f"{len(records.fleet.hosts)} host(s).",
    ]
    for part in (held_table, budget_table, crawl_table, refused_list):
        if found := list(part(records)):
            lines += ["", *found]
    return "\n".join(lines) + "\n"


def held_table(records: FleetRecords) -> Iterator[str]:
    """What was held, how fast, and what the kernel had to repeat."""
    trials = records.ok("hold")
    if not trials:
        return
    yield from heading(
        ("backend", "connections", "workers", "opened in s", "released in s", *COUNTERS), 4 + 3
    )
    for trial in trials:
        counters = [trial.kernel.get(name) for name in COUNTERS]
        yield row(
            (
                trial.backend,
                f"{trial.connections:,}",
                trial.workers,
                f"{trial.opened_s:.1f}",
                f"{trial.released_s:.1f}",
                *("not known" if value is None else f"{value:,}" for value in counters),
            )
        )


def budget_table(records: FleetRecords) -> Iterator[str]:
    """KiB per connection by owner, the largest trial of each backend."""
    trials = list(largest(records.ok("hold")).values())
    if not trials:
        return
    yield "Memory of one connection, in KiB:"
    yield ""
    yield from heading(
        ("owner", *(f"{trial.backend}, {trial.connections:,}" for trial in trials)), len(trials)
    )
    for name, parts in BUDGET:
        yield row((name, *(kib(per_connection(trial, parts)) for trial in trials)))
    everything = tuple(part for _, parts in BUDGET for part in parts)
    totals = [per_connection(trial, everything) for trial in trials]
    yield row(("**sum, both ends**", *(f"**{kib(total)}**" for total in totals)))
    drops = [per_connection(trial, ("machine_drop_bytes",)) for trial in trials]
    yield row(("second method: free memory", *(kib(drop) for drop in drops)))
    reasons = {
        reason for trial in trials if trial.growth for reason in trial.growth.reasons.values()
    }
    if reasons:
        yield ""
        yield f"Not measured: {'; '.join(sorted(reasons))}."


def kib(value: float | None) -> str:
    """Bytes in KiB, or that they are not known."""
    return "not measured" if value is None else f"{value / KIB:.2f}"


def largest(trials: Sequence[FleetTrialRecord]) -> dict[str, FleetTrialRecord]:
    """The trial of each backend that held the most."""
    found: dict[str, FleetTrialRecord] = {}
    for trial in trials:
        if trial.backend not in found or trial.connections > found[trial.backend].connections:
            found[trial.backend] = trial
    return found


def crawl_table(records: FleetRecords) -> Iterator[str]:
    """Shared crawls: throughput, and what sharing took."""
    trials = records.ok("crawl")
    if not trials:
        return
    yield from heading(
        ("backend", "workers", "pages", "pages/s", "rounds", "URLs handed over", "server's share"),
        6,
    )
    for trial in trials:
        share = "not known" if trial.server_share is None else f"{trial.server_share:.0%}"
        yield row(
            (
                trial.backend,
                trial.workers,
                f"{trial.pages:,}",
                f"{trial.pages_per_s:,.0f}",
                trial.rounds,
                f"{trial.handed_over:,}",
                share,
            )
        )


def refused_list(records: FleetRecords) -> Iterator[str]:
    """What was not held, and why."""
    for trial in records.trials:
        if trial.status != "ok":
            yield f"- {sentence(trial)}"


def write(records: FleetRecords, folder: Path) -> list[Path]:
    """Draw the charts that there are trials for, and write the tables; returns the files.

    Raises :class:`bench.store.StoreError` when they cannot be written.
    """
    environment = records.fleet.environment
    backends = list(dict.fromkeys(trial.backend for trial in records.trials))
    footer = [
        f"fleet {records.fleet.fleet} · commit {(environment.commit or 'unknown')[:10]} · "
        f"{environment.python} · {environment.kernel} · "
        f"{environment.cpu_count} × {environment.cpu_model or environment.machine}"
    ]
    charts = folder / CHARTS
    files: list[Path] = []
    try:
        charts.mkdir(parents=True, exist_ok=True)
        for module in (fleet_ramp, fleet_memory, fleet_throughput):
            plan = module.plan(records)
            if isinstance(plan, Plan):
                drawn = draw(plan, charts, backends, footer, themes=("light", "dark"))
                files += drawn.values()
        (folder / SUMMARY).write_text(tables(records))
    except OSError as error:
        raise StoreError(f"{error.filename or folder}: {error.strerror}") from None
    return [*files, folder / SUMMARY]


def fill(file: Path, records: FleetRecords) -> None:
    """Put the tables between the markers of a document.

    Raises :class:`bench.store.StoreError` when it has none.
    """
    try:
        text = file.read_text()
        before, begin, rest = text.partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise StoreError(f"{file}: no {BEGIN} … {END} in it")
        file.write_text(f"{before}{BEGIN}\n\n{tables(records)}\n{END}{after}")
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}") from None
