"""Charts and tables of a fleet, from its records alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench import filesystem
from bench.fleet.charts import memory, ramp
from bench.fleet.schema import FleetTrialRecord
from bench.fleet.sentence import BUDGET, per_connection, sentence
from bench.fleet.store import FleetRecords
from bench.report.charts import Sheet
from bench.report.files import CHARTS, SUMMARY
from bench.store import StoreError
from bench.text import KIB, markdown_table, with_block

BLOCK = "fleet"
"""The name of the generated block in a Markdown file."""

COUNTERS = ("ListenOverflows", "TCPTimeouts", "RetransSegs")


def tables(records: FleetRecords) -> str:
    """All tables of a fleet, in Markdown."""
    environment = records.fleet.environment
    lines = [
        f"Fleet {records.fleet.fleet}: {environment.cpu_count} processors "
        f"({environment.cpu_model or 'model unknown'}), "
        f"{environment.memory_total_bytes / (1 << 30):.0f} GiB, {environment.kernel}, "
        f"{environment.python}, {environment.limits.get('nofile_hard')} descriptors per process, "
        f"{len(records.fleet.hosts)} host(s).",
    ]
    for part in (held_table, budget_table, refused_list):
        if found := part(records):
            lines += ["", *found]
    return "\n".join(lines) + "\n"


def held_table(records: FleetRecords) -> list[str]:
    """What was held, how fast, and what the kernel had to repeat."""
    head = ("backend", "connections", "workers", "opened in s", "released in s", *COUNTERS)
    rows = []
    for trial in records.ok("hold"):
        counters = [trial.kernel.get(name) for name in COUNTERS]
        rows.append(
            (
                trial.told,
                f"{trial.connections:,}",
                trial.workers,
                f"{trial.opened_s:.1f}",
                f"{trial.released_s:.1f}",
                *("not known" if value is None else f"{value:,}" for value in counters),
            )
        )
    return markdown_table(head, rows, len(head) - 1) if rows else []


def budget_table(records: FleetRecords) -> list[str]:
    """KiB per connection by owner, for the largest trial of each backend."""
    trials = list(largest(records.ok("hold")).values())
    if not trials:
        return []
    everything = tuple(part for _, parts in BUDGET for part in parts)
    totals = [kib(per_connection(trial, everything)) for trial in trials]
    rows = [
        (name, *(kib(per_connection(trial, parts)) for trial in trials)) for name, parts in BUDGET
    ]
    rows += [
        ("**sum, both ends**", *(f"**{total}**" for total in totals)),
        (
            "second method: free memory",
            *(kib(per_connection(trial, ("machine_drop_bytes",))) for trial in trials),
        ),
    ]
    head = ("owner", *(f"{trial.told}, {trial.connections:,}" for trial in trials))
    lines = ["Memory of one connection, in KiB:", "", *markdown_table(head, rows, len(trials))]
    reasons = {why for trial in trials if trial.growth for why in trial.growth.reasons.values()}
    return [*lines, "", f"Not measured: {'; '.join(sorted(reasons))}."] if reasons else lines


def kib(value: float | None) -> str:
    """Bytes in KiB, or "not measured"."""
    return "not measured" if value is None else f"{value / KIB:.2f}"


def largest(trials: Sequence[FleetTrialRecord]) -> dict[str, FleetTrialRecord]:
    """By label, the trial that held the most connections: plain HTTP and TLS apart."""
    found: dict[str, FleetTrialRecord] = {}
    for trial in trials:
        if trial.label not in found or trial.connections > found[trial.label].connections:
            found[trial.label] = trial
    return found


def refused_list(records: FleetRecords) -> list[str]:
    """The trials that do not count, with the reasons."""
    return [f"- {sentence(trial)}" for trial in records.trials if trial.status != "ok"]


def write(records: FleetRecords, folder: Path) -> list[Path]:
    """Draw every chart that has trials, and write the tables; returns the files.

    Raises :class:`bench.filesystem.FileError` if they cannot be written.
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
    filesystem.make_folder(charts)
    for module in (ramp, memory):
        drawn = Sheet(charts, backends, footer).draw(module.design(records))
        files += drawn.files.values()
    filesystem.write_text(folder / SUMMARY, tables(records))
    return [*files, folder / SUMMARY]


def fill(file: Path, records: FleetRecords) -> None:
    """Write the tables between the markers of a document.

    Raises :class:`bench.store.StoreError` if the document has no markers.
    """
    try:
        filled = with_block(filesystem.read_text(file), BLOCK, f"\n{tables(records)}")
    except ValueError as error:
        raise StoreError(f"{file}: {error}") from None
    filesystem.write_text(file, filled)
