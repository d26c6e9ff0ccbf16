"""Charts and tables of a fleet, from its records alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.analysis.stats import Spread, spread
from bench.fleet.records import (
    BUDGET,
    WHOLE,
    FleetRecords,
    FleetTrialRecord,
    per_connection,
    sentence,
)
from bench.report import study
from bench.report.charts import Design, Skip
from bench.show.figures import Axis, Figure, Line, Lines, Plot, Point
from bench.text import GIB, KIB, count, listing, markdown_table, size_words

RAMP: Final = "fleet-ramp"
MEMORY: Final = "fleet-memory"
COUNTERS: Final = ("ListenOverflows", "TCPTimeouts", "RetransSegs")
CLIENT: Final = [part for name, parts in BUDGET if name.startswith("client") for part in parts]
"""The parts of the client's side, including its half of the kernel memory."""

FLAT: Final = 0.1
"""A line that varies by less than a tenth counts as flat."""


def below(records: FleetRecords) -> tuple[str, str]:
    """What stands below a chart: the fleet, which is no campaign."""
    fleet = records.fleet
    return study.origin(f"fleet {fleet.fleet}", fleet.environment, fleet.created)


def ramp(records: FleetRecords) -> Design | Skip:
    """Connections and memory against time, of a trial per label that held the most."""
    title = "Connections and memory against time, up to the summit"
    watched = [t for t in records.held if t.opened_s is not None and len(t.samples) > 1]
    most = max((trial.connections for trial in watched), default=0)
    trials = {trial.label: trial for trial in watched if trial.connections == most}
    if not trials:
        return Skip(RAMP, title, "no valid trial that held connections")
    held: dict[str, Line] = {}
    used: dict[str, Line] = {}
    for label, trial in trials.items():
        held[label] = [Point(s.at_s, exactly(s.connections)) for s in trial.samples]
        read = [(s.at_s, s.used_bytes) for s in trial.samples if s.used_bytes is not None]
        if read:
            used[label] = [Point(at, exactly(max(value, 0) / GIB)) for at, value in read]
    x, y = Axis("seconds since the start"), Axis("")
    plots = [
        Plot(lines, x, y, name, marks={label: line[-1] for label, line in lines.items()})
        for name, lines in (
            ("connections held, counted by the servers", held),
            ("additional memory of the machines, GiB", used),
        )
        if lines
    ]
    workers = listing([f"{trial.told} {trial.workers}" for trial in trials.values()])
    first = next(iter(trials.values()))
    opened = [
        f"{t.told} held {count(t.connections)} connections after {t.opened_s:.1f} s"
        for t in trials.values()
    ]
    figure = Figure(
        name=RAMP,
        title=title,
        headline=f"{first.told}: {count(most)} connections open at once, "
        f"after {first.opened_s:.0f} s",
        subtitle=f"The backends that held this many, with their workers: {workers}",
        told=f"Two line charts against time. {'; '.join(opened)}.",
        data=Lines(plots),
        notes=("Memory of both ends: clients, servers and the kernel.",),
    )
    return study.drawn(figure, below(records))


def exactly(value: float) -> Spread:
    return Spread(value, value, value, 1)


def memory(records: FleetRecords) -> Design | Skip:
    """A connection's memory, one line per label, from the smallest fleet to the largest."""
    title = "Memory per connection against connections held"
    names = {trial.label: trial.told for trial in records.held}
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trial in sorted(records.held, key=lambda trial: trial.connections):
        if value := per_connection(trial, CLIENT):
            found[trial.label][trial.connections].append(value / KIB)
    sizes = {
        label: {n: each for n, values in found[label].items() if (each := spread(values))}
        for label in names
        if label in found
    }
    if not sizes:
        return Skip(MEMORY, title, "no valid trial with memory by owner, which requires root")
    lines = {label: [Point(n, each) for n, each in line.items()] for label, line in sizes.items()}
    said = [
        f"{names[label]} "
        + ", ".join(f"{size_words(KIB * v.median, 2)} at {count(n)}" for n, v in line.items())
        for label, line in sizes.items()
    ]
    figure = Figure(
        name=MEMORY,
        title=title,
        headline=memory_headline(names, sizes),
        subtitle="The client’s side: all worker processes and their half of the kernel memory",
        told=f"Line chart: memory per connection. {'; '.join(said)}.",
        data=Lines(
            [
                Plot(
                    lines,
                    Axis("connections that the whole fleet holds at once", "values"),
                    Axis("", "values"),
                    "KiB per connection",
                )
            ]
        ),
        notes=("Without the memory of the processes before their first connection.",),
    )
    return study.drawn(figure, below(records))


def memory_headline(
    names: Mapping[str, str], sizes: Mapping[str, Mapping[int, Spread]]
) -> str | None:
    """Of the label with the most connections: whether each costs as much as with the fewest."""
    label, longest = max(sizes.items(), key=lambda item: max(item[1]))
    first, last = min(longest), max(longest)
    if first == last:
        return None
    values = [each.median for each in longest.values()]
    if max(values) / min(values) - 1 <= FLAT:
        takes = f"as much memory with {count(last)} open as with {count(first)}"
    else:
        one, other = (size_words(KIB * longest[n].median, 2) for n in (first, last))
        takes = f"{one} with {count(first)} open, {other} with {count(last)}"
    return f"A connection of {names[label]} takes {takes}"


def tables(records: FleetRecords) -> str:
    environment = records.fleet.environment
    lines = [
        f"Fleet {records.fleet.fleet}: {environment.cpu_count} processors "
        f"({environment.cpu_model or 'model unknown'}), "
        f"{environment.memory_total_bytes / GIB:.0f} GiB, {environment.kernel}, "
        f"{environment.python}, {environment.limits.get('nofile_hard')} descriptors per process, "
        f"{len(records.fleet.hosts)} host(s).",
    ]
    bad = [f"- {sentence(trial)}" for trial in records.trials if trial.status != "ok"]
    for part in (held_table(records.held), budget_table(records.largest), bad):
        lines += ["", *part] if part else []
    return "\n".join(lines) + "\n"


def held_table(trials: Sequence[FleetTrialRecord]) -> list[str]:
    head = ("backend", "connections", "workers", "opened in s", "released in s", *COUNTERS)
    rows = [
        (
            trial.told,
            f"{trial.connections:,}",
            trial.workers,
            f"{trial.opened_s:.1f}",
            f"{trial.released_s:.1f}",
            *(
                "not known" if (value := trial.kernel.get(name)) is None else f"{value:,}"
                for name in COUNTERS
            ),
        )
        for trial in trials
    ]
    return markdown_table(head, rows, len(head) - 1) if rows else []


def budget_table(trials: Sequence[FleetTrialRecord]) -> list[str]:
    if not trials:
        return []

    def row(name: str, parts: Sequence[str], cell: str = "{}") -> list[str]:
        values = (per_connection(trial, parts) for trial in trials)
        words = ("not measured" if value is None else f"{value / KIB:.2f}" for value in values)
        return [name, *map(cell.format, words)]

    rows = [row(name, parts) for name, parts in BUDGET]
    rows.append(row("**sum, both ends**", WHOLE, "**{}**"))
    rows.append(row("second method: free memory", ("machine_drop_bytes",)))
    head = ("owner", *(f"{trial.told}, {trial.connections:,}" for trial in trials))
    lines = ["Memory of one connection, in KiB:", "", *markdown_table(head, rows, len(trials))]
    reasons = {why for trial in trials if trial.growth for why in trial.growth.reasons.values()}
    return [*lines, "", f"Not measured: {'; '.join(sorted(reasons))}."] if reasons else lines


def write(records: FleetRecords, folder: Path) -> list[Path]:
    """Draw every chart that has trials, and write the tables; returns the files."""
    backends = list(dict.fromkeys(trial.backend for trial in records.trials))
    return study.write(folder, tables(records), (ramp(records), memory(records)), backends)
