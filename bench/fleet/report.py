"""Charts and tables of a fleet, from its record alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from bench.analysis.stats import Spread, spread
from bench.fleet.records import BUDGET, WHOLE, FleetTrial, faults, held, largest
from bench.report.charts import Design, Skip
from bench.show.figures import Axis, Figure, Line, LinePoint, Lines, Plot
from bench.show.table import Column, Row, Table, name
from bench.study.record import Run
from bench.study.report import Report, drawn
from bench.text import GIB, KIB, count, listing, size_words

RAMP: Final = "fleet-ramp"
MEMORY: Final = "fleet-memory"
COUNTERS: Final = ("ListenOverflows", "TCPTimeouts", "RetransSegs")
CLIENT: Final = [part for name, parts in BUDGET if name.startswith("client") for part in parts]
"""The parts of the client's side, including its half of the kernel memory."""

FLAT: Final = 0.1
"""A line that varies by less than a tenth counts as flat."""


def ramp(run: Run[FleetTrial]) -> Design | Skip:
    """Connections and memory against time, of a trial per label that held the most."""
    title = "Connections and memory against time, up to the summit"
    watched = [(label, t) for label, t in held(run) if t.opened_s and len(t.samples) > 1]
    most = max((trial.connections for _, trial in watched), default=0)
    trials = {label: trial for label, trial in watched if trial.connections == most}
    if not trials:
        return Skip(RAMP, title, "no valid trial that held connections")
    counted: dict[str, Line] = {}
    used: dict[str, Line] = {}
    for label, trial in trials.items():
        counted[label] = [LinePoint(s.at_s, exactly(s.connections)) for s in trial.samples]
        read = [(s.at_s, s.used_bytes) for s in trial.samples if s.used_bytes is not None]
        if read:
            used[label] = [LinePoint(at, exactly(max(value, 0) / GIB)) for at, value in read]
    x, y = Axis("seconds since the start"), Axis("")
    plots = [
        Plot(lines, x, y, name, marks={label: line[-1] for label, line in lines.items()})
        for name, lines in (
            ("connections held, counted by the servers", counted),
            ("additional memory of the machines, GiB", used),
        )
        if lines
    ]
    workers = listing([f"{trial.told} {len(trial.workers)}" for trial in trials.values()])
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
    return drawn(figure, f"fleet {run.head.run}", run.head)


def exactly(value: float) -> Spread:
    return Spread(value, value, value, 1)


def memory(run: Run[FleetTrial]) -> Design | Skip:
    """A connection's memory, one line per label, from the smallest fleet to the largest."""
    title = "Memory per connection against connections held"
    names: dict[str, str] = {}
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for label, trial in held(run):
        if value := trial.per_connection(CLIENT):
            names[label] = trial.told
            found[label][trial.connections].append(value / KIB)
    sizes = {
        label: {n: each for n in sorted(line) if (each := spread(line[n]))}
        for label, line in found.items()
    }
    if not sizes:
        return Skip(MEMORY, title, "no valid trial with memory by owner, which requires root")
    lines = {
        label: [LinePoint(n, each) for n, each in line.items()] for label, line in sizes.items()
    }
    said = [
        f"{names[label]} "
        + ", ".join(f"{size_words(KIB * v.median, 2)} at {count(n)}" for n, v in line.items())
        for label, line in sizes.items()
    ]
    x = Axis("connections that the whole fleet holds at once", "values")
    figure = Figure(
        name=MEMORY,
        title=title,
        headline=memory_headline(names, sizes),
        subtitle="The client’s side: all worker processes and their half of the kernel memory",
        told=f"Line chart: memory per connection. {'; '.join(said)}.",
        data=Lines([Plot(lines, x, Axis("", "values"), "KiB per connection")]),
        notes=("Without the memory of the processes before their first connection.",),
    )
    return drawn(figure, f"fleet {run.head.run}", run.head)


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


def held_table(trials: Sequence[FleetTrial]) -> Table:
    heads = ("connections", "workers", "opened in s", "released in s", *COUNTERS)
    rows: list[Row] = [
        [
            trial.told,
            f"{trial.connections:,}",
            str(len(trial.workers)),
            f"{trial.opened_s:.1f}",
            f"{trial.released_s:.1f}",
            *(
                "not known" if (value := trial.kernel.get(name)) is None else f"{value:,}"
                for name in COUNTERS
            ),
        ]
        for trial in trials
    ]
    return Table("Held at one barrier", [name("backend"), *map(Column, heads)], rows)


def budget_table(trials: Sequence[FleetTrial]) -> Table:
    owners = (
        *BUDGET,
        ("sum, both ends", WHOLE),
        ("second method: free memory", ("machine_drop_bytes",)),
    )

    def kib(value: float | None) -> str:
        return "not measured" if value is None else f"{value / KIB:.2f}"

    rows: list[Row] = [
        [owner, *(kib(trial.per_connection(parts)) for trial in trials)]
        for owner, parts in owners
        if trials
    ]
    heads = [Column(f"{trial.told}, {trial.connections:,}") for trial in trials]
    reasons = {why for trial in trials if trial.growth for why in trial.growth.reasons.values()}
    notes = [f"Not measured: {'; '.join(sorted(reasons))}."] if reasons else []
    return Table("Memory of one connection, in KiB", [name("owner"), *heads], rows, notes=notes)


def report(run: Run[FleetTrial]) -> Report:
    machine = run.head.environment
    hosts = max((len(trial.hosts) for _, trial in held(run)), default=0)
    return Report(
        title="Connections held by a fleet",
        about=f"Fleet {run.head.run}: {machine.cpu_count} processors "
        f"({machine.cpu_model or 'model unknown'}), "
        f"{machine.memory_total_bytes / GIB:.0f} GiB, {machine.kernel}, {machine.python}, "
        f"{machine.limits.get('nofile_hard')} descriptors per process, {hosts} host(s).",
        tables=[held_table([trial for _, trial in held(run)]), budget_table(largest(run))],
        designs=[ramp(run), memory(run)],
        backends=backends(run),
        notes=faults(run),
    )


def backends(run: Run[FleetTrial]) -> list[str]:
    """In the order that decides on the colours of the charts."""
    return list(dict.fromkeys(each.part.backend for each in run.samples if each.part))
