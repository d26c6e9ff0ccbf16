"""Charts and tables of a fleet, from its record alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from bench.analysis.stats import Spread, spread
from bench.fleet.trial import BUDGET, WHOLE, FleetTrial, Moment, held, largest, words_of
from bench.show.figures import Axis, Figure, Line, LinePoint, Lines, Plot, line
from bench.show.table import CellMakers, Column, Row, Table, name, tabled
from bench.study.record import Run
from bench.study.report import Report, drawn
from bench.text import GIB, KIB, count, listing, number

RAMP: Final = "fleet-ramp"
MEMORY: Final = "fleet-memory"
COUNTERS: Final = ("ListenOverflows", "TCPTimeouts", "RetransSegs")
CLIENT: Final = [part for name, parts in BUDGET if name.startswith("client") for part in parts]
"""The parts of the client's side, including its half of the kernel memory."""
FLAT: Final = 0.1
"""A line that varies by less than a tenth counts as flat."""


def ramp(run: Run[FleetTrial]) -> Figure | str:
    """Connections and memory against time, of a trial per label that held the most."""
    most = max((trial.connections for trial in held(run)), default=0)
    trials = {trial.label: trial for trial in held(run) if trial.connections == most}
    if not trials:
        return "no valid trial that held connections"
    curves: Mapping[str, Callable[[Moment], float | None]] = {
        "connections held, counted by the servers": lambda moment: moment.connections,
        "additional memory of the machines, GiB": lambda moment: moment.used_gib,
    }
    plots = []
    for panel, value in curves.items():
        lines = {label: known for label, trial in trials.items() if (known := curve(trial, value))}
        x = Axis("time since the start", words=lambda value: f"{number(value)} s")
        marks = {label: line[-1] for label, line in lines.items()}
        if lines:
            plots.append(Plot(lines, x, Axis(""), panel, marks=marks))
    workers = [f"{words_of(label)} {len(trial.workers)}" for label, trial in trials.items()]
    label, first = next(iter(trials.items()))
    figure = Figure(
        name=RAMP,
        title="Connections and memory against time, up to the summit",
        headline=f"{words_of(label)}: {count(most)} connections open at once, "
        f"after {first.opened_s:.0f} s",
        subtitle="The backends that held this many, with their workers: " + listing(workers),
        data=Lines(plots),
        notes=("Memory of both ends: clients, servers and the kernel.",),
    )
    return drawn(figure, f"fleet {run.head.run}", run.head)


def curve(trial: FleetTrial, value: Callable[[Moment], float | None]) -> list[LinePoint]:
    points = ((moment.at_s, value(moment)) for moment in trial.samples)
    # Of all that one trial saw: a line leads to no single trial.
    count = len(trial.samples)
    return [LinePoint(at, Spread(y, y, y, count)) for at, y in points if y is not None]


def memory(run: Run[FleetTrial]) -> Figure | str:
    """A connection's memory, one line per label, from the smallest fleet to the largest."""
    sizes: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trial in sorted(held(run), key=lambda trial: trial.connections):
        if value := trial.per_connection(CLIENT):
            sizes[trial.label][trial.connections].append(value / KIB)
    lines = {
        label: line((connections, spread(values)) for connections, values in by_size.items())
        for label, by_size in sizes.items()
    }
    if not lines:
        return "no valid trial in which all of the client's memory could be read"
    x = Axis("connections that the whole fleet holds at once", "values")
    figure = Figure(
        name=MEMORY,
        title="Memory per connection against connections held",
        headline=memory_headline(lines),
        subtitle="The client’s side: all worker processes and their half of the kernel memory",
        data=Lines([Plot(lines, x, Axis("", "values"), "KiB per connection")]),
        notes=("Without the memory of the processes before their first connection.",),
    )
    return drawn(figure, f"fleet {run.head.run}", run.head)


def memory_headline(lines: Mapping[str, Line]) -> str | None:
    """Of the label with the most connections, if each takes as much as with the fewest."""
    label, points = max(lines.items(), key=lambda item: item[1][-1].x)
    few, many = points[0], points[-1]
    values = [point.y.median for point in points]
    if few is many or max(values) / min(values) - 1 > FLAT:
        return None
    return (
        f"A connection of {words_of(label)} uses as much memory with {count(many.x)} open "
        f"as with {count(few.x)}"
    )


def risen(counter: str, trial: FleetTrial) -> str:
    rise = trial.counted(counter)
    return "not known" if rise is None else f"{rise:,}"


HELD: Final[CellMakers[FleetTrial]] = [
    (name("backend"), lambda trial: trial.words),
    (Column("connections"), lambda trial: f"{trial.connections:,}"),
    (Column("workers"), lambda trial: f"{len(trial.workers):,}"),
    (Column("opened in s"), lambda trial: f"{trial.opened_s:.1f}"),
    (Column("released in s"), lambda trial: f"{trial.released_s:.1f}"),
    *((Column(counter), partial(risen, counter)) for counter in COUNTERS),
]


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
    heads = [Column(f"{trial.words}, {trial.connections:,}") for trial in trials]
    hosts = (host for trial in trials for host in trial.hosts)
    reasons = {why for host in hosts for why in host.reasons.values()}
    notes = [f"Not measured: {'; '.join(sorted(reasons))}."] if reasons else []
    return Table("Memory of one connection, in KiB", [name("owner"), *heads], rows, notes=notes)


def report(run: Run[FleetTrial]) -> Report:
    machine = run.head.environment
    hosts = max((len(trial.hosts) for trial in held(run)), default=0)
    return Report(
        title="Connections held by a fleet",
        about=f"Fleet {run.head.run}: {machine.cpu_count} processors "
        f"({machine.cpu_model or 'model unknown'}), "
        f"{machine.memory_total_bytes / GIB:.0f} GiB, {machine.kernel}, {machine.python}, "
        f"{machine.limits.get('nofile_hard')} descriptors per process, {hosts} host(s).",
        tables=[tabled("Held at one barrier", HELD, held(run)), budget_table(largest(run))],
        designs=[ramp(run), memory(run)],
        backends=backends(run),
        notes=run.faults(),
    )


def backends(run: Run[FleetTrial]) -> list[str]:
    """In the order that decides on the colours of the charts."""
    return list(dict.fromkeys(each.part.backend for each in run.samples if each.part))
