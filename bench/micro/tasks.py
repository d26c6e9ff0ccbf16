"""Waiting tasks: memory of one that has no connection, and its spawn, switch and cancel.

A fresh process (:mod:`bench.micro.child`) for each kind and number, read from outside.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import Field
from rich.console import Console

from bench.analysis import stats
from bench.machine import cpu, doctor, memory
from bench.machine.doctor import Needs, available_bytes, mib
from bench.machine.memory import Reader, Reading
from bench.micro.child import KINDS, Kind
from bench.micro.study import Run, answer, head, in_turn, save
from bench.report import study
from bench.report.charts import Design, Skip
from bench.run.process import Child
from bench.schema import Record
from bench.show.figures import Bars, Figure, Unit
from bench.show.measured import US, Measure, Measured
from bench.show.table import Table, name
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


# --- what is shown -----------------------------------------------------------------------------

FEWEST: Final = 2
"""Numbers of tasks for a slope."""


def size(size: float) -> str:
    return f"{count(size)} B" if size < 1000 else f"{significant(size / KIB, 2)} KiB"


def tick(size: float) -> str:
    return f"{size / KIB:g} KiB"


BYTES: Final = Unit("bytes", size, tick)
TOTAL: Final = "total"
PARTS: Final = {
    "user_bytes": Measure("user", "… in user space", BYTES),
    "page_table_bytes": Measure("page tables", "… in page tables", BYTES),
    "kernel_stack_bytes": Measure("kernel stack", "… of the kernel's stack", BYTES),
    "kernel_other_bytes": Measure("other kernel", "… other in the kernel", BYTES),
}
MEMORY: Final = {
    TOTAL: Measure("together", "a task that waits without a connection", BYTES)
} | PARTS
TIMES: Final = {
    "spawn": Measure("spawn", "to spawn a task", US),
    "switch": Measure("switch", "to switch to a task", US),
    "cancel": Measure("cancel", "to cancel a task", US),
}
OF_MEMORY: Final = (
    "The slope of memory over numbers of tasks, each number in fresh processes. No task has a "
    "connection. Medians over repeats and their range."
)
OF_TIMES: Final = (
    "Processor time of the process, all threads; medians over fresh processes and their range. "
    "Spawned until it waits and cancelled until it has ended, of 10,000 tasks or 1,000 threads. "
    "100 tasks switch in turn. A thread cannot be cancelled: its Event is set, and it is joined."
)


def measured(record: TasksRecord) -> Measured:
    """What one more task takes, by the name of its kind, repeat by repeat."""
    kinds = {name: mine for name, mine in record.kinds.items() if name in KINDS}
    values = {name: _values(KINDS[name], mine) for name, mine in kinds.items()}
    return Measured(MEMORY | TIMES, {name: found for name, found in values.items() if found})


def _values(kind: Kind, mine: KindRecord) -> dict[str, Mapping[int, float]]:
    repeats = _repeats(mine.held)
    slopes = [
        {part: slope for part in PARTS if (slope := fit(held, part)) is not None}
        for held in repeats
    ]
    at = reference(mine.held, kind)
    found: dict[str, list[float]] = {
        TOTAL: [sum(parts.values()) for parts in slopes if parts],
        **{part: [parts[part] for parts in slopes if part in parts] for part in PARTS},
        "spawn": [1e6 * each.spawn_s for each in at],
        "switch": [1e6 * each for each in mine.switches_s],
        "cancel": [1e6 * each.cancel_s for each in at],
    }
    return {key: dict(enumerate(each)) for key, each in found.items() if each}


def _repeats(held: Sequence[Held]) -> list[list[Held]]:
    """Each repeat had every number of tasks once."""
    by_count: dict[int, list[Held]] = {}
    for each in held:
        by_count.setdefault(each.count, []).append(each)
    return [list(repeat) for repeat in zip(*by_count.values(), strict=False)]


def fit(held: Sequence[Held], part: str) -> float | None:
    """Bytes of a part for one more task; None where it was not read."""
    points = [(each.count, size) for each in held if (size := getattr(each, part)) is not None]
    if len({count for count, _ in points}) < FEWEST:
        return None
    return max(stats.theil_sen(*zip(*points, strict=True))[0], 0.0)


def reference(held: Sequence[Held], kind: Kind) -> list[Held]:
    """The runs at which times are read: of one number of tasks, the same for all but threads."""
    counts = {each.count for each in held}
    at = kind.reference if kind.reference in counts else max(counts, default=0)
    return [each for each in held if each.count == at]


def tables(record: TasksRecord) -> list[Table]:
    """Memory with what was not measured, and times."""
    found, python = measured(record), record.environment.python
    kinds = [KINDS[name] for name in found.values]
    titled = {kind.title: found.values[kind.name] for kind in kinds}
    waits = "; ".join(f"{kind.title}: {kind.waits_on}" for kind in kinds)
    yields = "; ".join(f"{kind.title}: {kind.yields}" for kind in kinds)
    of_memory = [f"It waits on: {waits}.", *absent(record)]
    made = []
    for measures, caption, about, notes in (
        (MEMORY, "Memory of a waiting task", OF_MEMORY, of_memory),
        (TIMES, "Spawn, switch and cancel a task", OF_TIMES, [f"A switch is: {yields}."]),
    ):
        one = Measured(measures, titled).table(f"{caption} ({python})", about)
        made.append(replace(one, columns=[name("task"), *one.columns[1:]], notes=notes))
    return made


def absent(record: TasksRecord) -> Iterator[str]:
    for kind, mine in record.kinds.items():
        title = KINDS[kind].title if kind in KINDS else kind
        if mine.missing:
            yield f"{title}: {mine.missing}"
        for number, reason in mine.refused.items():
            yield f"{count(number)} × {title}: {reason}"


def design(record: TasksRecord) -> Design | Skip:
    title, found = "Memory of a waiting task", measured(record)
    rows = {
        KINDS[name].backend or name: values
        for name, values in found.values.items()
        if TOTAL in values
    }
    if not rows:
        return Skip("tasks", title, "no memory of waiting tasks was measured")
    figure = Figure(
        name="tasks",
        title=title,
        headline=headline(found),
        subtitle="Slope of memory over the number of tasks that wait without a connection, "
        "user space and kernel together",
        data=Bars([replace(found, values=rows).panel("memory of one", TOTAL)]),
        notes=("Ranges: lowest to highest repeat.",),
    )
    return study.drawn(figure, record.below)


def headline(found: Measured) -> str | None:
    names = ("thread", "asyncio", "coroutine")
    if len(found.with_(TOTAL, names)) < len(names):
        return None
    thread, task, coroutine = (found.median(name, TOTAL) for name in names)
    return (
        f"A waiting thread uses as much memory as {count(round(thread / task))} asyncio tasks, "
        f"or {count(round(thread / coroutine))} bare coroutines"
    )


# --- how it is measured ------------------------------------------------------------------------

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
    :class:`bench.micro.study.MicroError` if a process fails.
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
    cores = cpu.split_cores().client
    with closing(in_turn("waiting tasks", todo, repeats, console, _said)) as turned:
        for kind, number in turned:
            mine = kinds[kind.name]
            if number is None:
                mine.switches_s.append(switch_s(kind, turns, cores))
            else:
                mine.held.append(hold(kind, number, cores))
    return save(TasksRecord(**head(), sources=SOURCES, kinds=kinds), out, FILE_NAME)


def _said(one: tuple[Kind, int | None]) -> str:
    kind, number = one
    return f"{kind.name} switch" if number is None else f"{kind.name} {number:,}"


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
