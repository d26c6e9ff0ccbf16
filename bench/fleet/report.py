"""The chart and the tables of a fleet, from its record alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from bench.analysis.stats import Spread
from bench.fleet.trial import BUDGET, WHOLE, FleetTrial, Moment, held, largest, words_of
from bench.machine.memory import added
from bench.show.figures import Axis, Figure, LinePoint, Lines, Plot
from bench.show.table import CellMakers, Column, Row, Table, name, tabled
from bench.study.record import Run
from bench.study.report import Report, drawn
from bench.text import GIB, KIB, count, listing, number

RAMP: Final = "fleet-ramp"
COUNTERS: Final = ("ListenOverflows", "TCPTimeouts", "RetransSegs")
CLIENT: Final = [part for name, parts in BUDGET if name.startswith("client") for part in parts]
"""The parts of the client's side, including its half of the kernel memory."""


def ramp(run: Run[FleetTrial]) -> Figure | str:
    """Connections and memory against time, of a trial per label that held the most."""
    most = max((trial.connections for trial in held(run)), default=0)
    trials = {trial.label: trial for trial in held(run) if trial.connections == most}
    if not trials:
        return "no valid trial that held connections"
    panels: Mapping[str, Callable[[Moment], float | None]] = {
        "connections held, counted by the servers": lambda moment: moment.connections,
        "additional memory of the machines, GiB": lambda moment: (
            None if moment.used_bytes is None else max(moment.used_bytes, 0) / GIB
        ),
    }
    x = Axis("time since the start", words=lambda value: f"{number(value)} s")
    plots = []
    for panel, value in panels.items():
        curves = {label: curve(trial, value) for label, trial in trials.items()}
        lines = {label: line for label, line in curves.items() if line}
        marks = {label: line[-1] for label, line in lines.items()}
        plots += [Plot(lines, x, Axis(""), panel, marks=marks)] if lines else []
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
    seen = len(trial.samples)
    return [LinePoint(at, Spread(y, y, y, seen)) for at, y in points if y is not None]


def risen(counter: str, trial: FleetTrial) -> str:
    """By how much a counter of the kernel rose, added over hosts."""
    rise = added(host.kernel.get(counter) for host in trial.hosts)
    return "not known" if rise is None else f"{rise:,}"


def kib(parts: Sequence[str], trial: FleetTrial) -> str:
    """Of one connection."""
    value = trial.per_connection(parts)
    return "not measured" if value is None else f"{value / KIB:.2f}"


HELD: Final[CellMakers[FleetTrial]] = [
    (name("backend"), lambda trial: trial.words),
    (Column("connections"), lambda trial: f"{trial.connections:,}"),
    (Column("workers"), lambda trial: f"{len(trial.workers):,}"),
    (Column("opened in s"), lambda trial: f"{trial.opened_s:.1f}"),
    (Column("released in s"), lambda trial: f"{trial.released_s:.1f}"),
    (Column("client, KiB each"), partial(kib, CLIENT)),
    *((Column(counter), partial(risen, counter)) for counter in COUNTERS),
]


def budget_table(trials: Sequence[FleetTrial]) -> Table:
    both = ("sum, both ends", WHOLE), ("second method: free memory", ("machine_drop_bytes",))
    rows: list[Row] = [
        [owner, *(kib(parts, trial) for trial in trials)] for owner, parts in (*BUDGET, *both)
    ]
    heads = [Column(f"{trial.words}, {trial.connections:,}") for trial in trials]
    hosts = (host for trial in trials for host in trial.hosts)
    reasons = {why for host in hosts for why in host.reasons.values()}
    notes = [f"Not measured: {'; '.join(sorted(reasons))}."] if reasons else []
    caption = "Memory of one connection, in KiB"
    return Table(caption, [name("owner"), *heads], rows if trials else [], notes=notes)


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
        designs=[ramp(run)],
        backends=backends(run),
        notes=run.faults(),
    )


def backends(run: Run[FleetTrial]) -> list[str]:
    """In the order that decides on the colours of the charts."""
    return list(dict.fromkeys(each.part.backend for each in run.samples if each.part))
