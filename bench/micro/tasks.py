"""Waiting tasks: memory of one that has no connection, and its spawn, switch and cancel.

A fresh process (:mod:`bench.micro.child`) for each kind and number, read from outside.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count as counting
from pathlib import Path
from typing import Final

from pydantic import Field
from rich.console import Console

from bench.analysis import stats
from bench.analysis.stats import Spread
from bench.machine import cpu, doctor, memory
from bench.machine.doctor import Needs, available_bytes, mib
from bench.machine.memory import Reader, Reading
from bench.micro.child import KINDS, Kind
from bench.micro.prices import Run, answer, head, save
from bench.report import study
from bench.report.charts import Design, Skip
from bench.run.process import Child
from bench.schema import Record
from bench.show.figures import Bars, Figure, Panel, Unit
from bench.show.table import MISSING, Cell, Column, Table, name, words
from bench.terminal import Phases
from bench.text import KIB, count, significant

FILE_NAME: Final = "tasks.json"


class Held(Record):
    """One process that held so many tasks: bytes that they added, seconds for one of them.

    ``kernel_other_bytes`` is read for threads only: the machine's own counters, of which a quiet
    machine is a condition.
    """

    count: int
    user_bytes: int | None
    page_table_bytes: int | None
    kernel_stack_bytes: int | None
    kernel_other_bytes: int | None
    spawn_s: float
    cancel_s: float


class KindRecord(Record):
    """Everything about one kind; ``missing`` says why there is nothing."""

    missing: str | None = None
    held: list[Held] = Field(default_factory=list)
    refused: dict[int, str] = Field(default_factory=dict)  # number of tasks -> why
    switches_s: list[float] = Field(default_factory=list)
    # Records of before 1.0 have the instructions of a switch.
    instructions: float | None = None
    not_counted: str | None = None


class TasksRecord(Run):
    tool: str | None = None  # what counted the instructions
    sources: dict[str, str]  # part of the memory -> where it was read
    kinds: dict[str, KindRecord]


TITLES: Final = {
    "user_bytes": "user",
    "page_table_bytes": "page tables",
    "kernel_stack_bytes": "kernel stacks",
    "kernel_other_bytes": "other kernel",
}
"""The parts of a task's memory in tables."""
FEWEST: Final = 2
"""Numbers of tasks for a slope."""


@dataclass(frozen=True, slots=True)
class Line:
    """One kind. ``parts`` and ``total`` are bytes for one more task; times are in microseconds.

    ``at`` is the number of tasks at which spawning and cancelling was timed.
    """

    kind: Kind
    parts: dict[str, float]
    total: float | None
    interval: tuple[float, float] | None
    highest: int
    at: int
    spawn: Spread | None
    cancel: Spread | None
    switch: Spread | None


def lines(record: TasksRecord) -> list[Line]:
    return [
        _line(KINDS[name], record)
        for name, found in record.kinds.items()
        if name in KINDS and (found.held or found.switches_s)
    ]


def _line(kind: Kind, record: TasksRecord) -> Line:
    mine = record.kinds[kind.name]
    slopes = {name: slope[0] for name in TITLES if (slope := fit(mine.held, [name]))}
    whole = fit(mine.held, list(slopes)) if slopes else None
    at = reference(mine.held, kind)
    return Line(
        kind=kind,
        parts={TITLES[name]: slope for name, slope in slopes.items()},
        total=whole[0] if whole else None,
        interval=whole[1:] if whole else None,
        highest=max((each.count for each in mine.held), default=0),
        at=max((each.count for each in at), default=0),
        spawn=stats.spread(1e6 * each.spawn_s for each in at),
        cancel=stats.spread(1e6 * each.cancel_s for each in at),
        switch=stats.spread(1e6 * each for each in mine.switches_s),
    )


def fit(held: Sequence[Held], names: Sequence[str]) -> tuple[float, float, float] | None:
    """The slope of these parts together and its interval; None where one was not read."""
    points = [
        (each.count, sum(found))
        for each in held
        if len(found := [v for name in names if (v := getattr(each, name)) is not None])
        == len(names)
    ]
    if len({count for count, _ in points}) < FEWEST:
        return None
    slope, _, low, high = stats.theil_sen([x for x, _ in points], [y for _, y in points])
    return slope, low, high


def reference(held: Sequence[Held], kind: Kind) -> list[Held]:
    """The runs at which times are read: of one number of tasks, the same for all but threads."""
    counts = {each.count for each in held}
    at = kind.reference if kind.reference in counts else max(counts, default=0)
    return [each for each in held if each.count == at]


CHILD = "bench.micro.child"
PATIENCE_S = 600.0
"""The longest that a process may take for one step; ten thousand threads take their time."""

MOST_BYTES = 16 * KIB
"""What a task may take, with some to spare, when it is decided whether so many fit."""

TASKS, TURNS = 100, 2000
"""A switch is measured with so many tasks, each of which yields so often."""

SOURCES = {
    "user_bytes": "private anonymous memory of the process",
    "page_table_bytes": "VmPTE of the process",
    "kernel_stack_bytes": "threads × kernel stack",
    "kernel_other_bytes": "slabinfo: growth of task structures, mappings and the like",
}


def run(
    out: Path,
    repeats: int,
    console: Console,
    names: Sequence[str] = tuple(KINDS),
    counts: Callable[[Kind], Sequence[int]] = lambda kind: kind.counts,
    turns: int = TURNS,
) -> TasksRecord:
    """Measure every kind, and write the record at the end.

    Each repeat has every kind at every number in a random order. Raises
    :class:`bench.micro.prices.MicroError` if a process fails.
    """
    doctor.raise_descriptor_limit()
    kinds = {name: KindRecord(missing=KINDS[name].missing) for name in names}
    usable = [KINDS[name] for name, found in kinds.items() if found.missing is None]
    todo: list[tuple[Kind, int | None]] = [(kind, None) for kind in usable]
    for kind in usable:
        for wanted in counts(kind):
            if reason := refused(kind, wanted, out):
                kinds[kind.name].refused[wanted] = reason
            else:
                todo.append((kind, wanted))
    shuffled = random.Random(1)
    pinning = cpu.split_cores()
    progress, done = Phases(console), counting()
    progress.phase("waiting tasks", repeats * len(todo))
    with closing(progress):
        for _ in range(repeats):
            shuffled.shuffle(todo)
            for kind, number in todo:
                what = "switch" if number is None else f"{number:,}"
                progress.to(next(done), f"{kind.name} {what}")
                mine = kinds[kind.name]
                if number is None:
                    mine.switches_s.append(switch_s(kind, turns, pinning.client))
                else:
                    mine.held.append(hold(kind, number, pinning.client))
    return save(TasksRecord(**head(), sources=SOURCES, kinds=kinds), out, FILE_NAME)


def refused(kind: Kind, count: int, folder: Path) -> str | None:
    """Why this machine cannot hold so many, with what they need; None if it can."""
    if kind.threaded:
        return doctor.refuse(Needs(threads=count, folder=folder))
    needed, left = count * MOST_BYTES, available_bytes()
    if needed <= left:
        return None
    return f"{mib(needed)} of memory may be needed, {mib(left)} are available"


def hold(kind: Kind, count: int, cores: list[int]) -> Held:
    """One process that holds so many tasks, between two readings of its memory."""
    with started(kind, "hold", str(count)) as child:
        cpu.pin(child.pid, cores)
        answer(child, PATIENCE_S)  # it is ready
        reader = Reader(child.pid)
        before = reader.read()
        child.send("spawn")
        answer(child, PATIENCE_S)  # they are held
        held = reader.read()
        child.send("cancel")
        times = json.loads(answer(child, PATIENCE_S))
    return Held(count=count, **parts(kind, before, held), **times)


def parts(kind: Kind, before: Reading, held: Reading) -> Mapping[str, int | None]:
    """The bytes by which each part grew; None where it is unknown or not its own."""
    both = memory.memory(before, held, 0)
    grown = {
        name: memory.gain(getattr(both.before, name), getattr(both.held, name)) for name in SOURCES
    }
    if not kind.threaded:
        grown["kernel_other_bytes"] = None  # other programs', not this one's
    return grown


def switch_s(kind: Kind, turns: int, cores: list[int]) -> float:
    with started(kind, "switch", str(TASKS), str(turns)) as child:
        cpu.pin(child.pid, cores)
        return float(json.loads(answer(child, PATIENCE_S))["switch_s"])


def started(kind: Kind, *words: str) -> Child:
    return Child(f"the process of {kind.name}", ["-m", CHILD, kind.name, *words])


def memory_table(record: TasksRecord) -> Table:
    return Table(
        f"Memory of a waiting task, bytes ({record.environment.python})",
        [
            name("task"),
            words("waits on", drop=3),
            Column("user"),
            Column("page tables", drop=2),
            Column("kernel stack", drop=2),
            Column("other kernel", drop=2),
            Column("together"),
            Column("interval", drop=1),
            Column("up to", drop=4),
        ],
        [_memory(line) for line in lines(record)],
        about=(
            "The slope of memory over numbers of tasks, each number in fresh processes, with its "
            "95 % interval. No task has a connection."
        ),
        notes=notes(record),
    )


def _memory(line: Line) -> list[str]:
    return [
        line.kind.title,
        line.kind.waits_on,
        *(_bytes(line.parts.get(part)) for part in TITLES.values()),
        _bytes(line.total),
        MISSING if line.interval is None else " to ".join(map(_bytes, line.interval)),
        count(line.highest),
    ]


def _bytes(value: float | None) -> str:
    return MISSING if value is None else count(max(round(value), 0))


def times_table(record: TasksRecord) -> Table:
    return Table(
        f"Spawn, switch and cancel a task, µs ({record.environment.python})",
        [
            name("task"),
            Column("spawn"),
            Column("switch"),
            Column("cancel"),
            words("a switch is", drop=2),
        ],
        [
            [
                line.kind.title,
                *map(_us, (line.spawn, line.switch, line.cancel)),
                line.kind.yields,
            ]
            for line in lines(record)
        ],
        about=(
            "Processor time of the process, all threads; medians over fresh processes and their "
            "range. Spawned until it waits and cancelled until it has ended, of 10,000 tasks or "
            "1,000 threads. 100 tasks switch in turn. A thread cannot be cancelled: its Event is "
            "set, and it is joined."
        ),
    )


def _us(found: Spread | None) -> str | Cell:
    if found is None:
        return MISSING
    low, middle, high = (significant(v, 3) for v in (found.low, found.median, found.high))
    return middle if found.count == 1 else Cell(f"{middle} [{low}–{high}]", middle)


def notes(record: TasksRecord) -> list[str]:
    found = []
    for kind, mine in record.kinds.items():
        title = KINDS[kind].title if kind in KINDS else kind
        if mine.missing:
            found.append(f"{title}: {mine.missing}")
        found += [f"{count(n)} × {title}: {reason}" for n, reason in mine.refused.items()]
    return found


def size(kib: float) -> str:
    """In KiB from a thousand bytes on."""
    value = kib * KIB
    return f"{count(round(value))} B" if value < 1000 else f"{significant(kib, 2)} KiB"


def tick(kib: float) -> str:
    return f"{kib:g} KiB"


SIZE: Final = Unit("", size, tick)


def design(record: TasksRecord) -> Design | Skip:
    title = "Memory of a waiting task"
    rows = [line for line in lines(record) if line.total is not None]
    if not rows:
        return Skip("tasks", title, "no memory of waiting tasks was measured")
    bars = {}
    for row in rows:
        ends = (row.total or 0.0, *(row.interval or ()))
        middle, low, high = ends[0] / KIB, min(ends) / KIB, max(ends) / KIB
        bars[row.kind.backend or row.kind.name] = [Spread(middle, low, high, len(ends))]
    figure = Figure(
        name="tasks",
        title=title,
        headline=finding(rows),
        subtitle="Slope of memory over the number of tasks that wait without a connection, "
        "user space and kernel together",
        data=Bars([Panel("memory of one", bars, SIZE)]),
        notes=("Strokes: 95 % intervals of the slope.",),
    )
    return study.drawn(figure, record.below)


def finding(rows: Sequence[Line]) -> str | None:
    totals = {row.kind.name: row.total for row in rows}
    thread, task, coroutine = (totals.get(name) for name in ("thread", "asyncio", "coroutine"))
    if not thread or not task or not coroutine:
        return None
    return (
        f"A waiting thread uses as much memory as {count(round(thread / task))} asyncio tasks, "
        f"or {count(round(thread / coroutine))} bare coroutines"
    )
