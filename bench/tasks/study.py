"""Waiting tasks: memory of one that has no connection, and its spawn, switch and cancel.

A fresh process (:mod:`bench.tasks.child`) for each kind and number, read from outside.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Final

from bench.analysis import stats
from bench.machine import cpu, doctor, memory
from bench.machine.doctor import Needs, available_bytes
from bench.machine.memory import Reader, Snapshot
from bench.plan.participants import CITED
from bench.schema import Amount, Positive, Record, Whole
from bench.show.figures import Bars, Figure, Unit
from bench.show.measured import US, Measure, Measured
from bench.show.table import Table, name
from bench.study import Report, Run, Study, drawn
from bench.study.runner import Process, Program
from bench.text import KIB, count, number, significant, size_words

COUNTS: Final = (1_000, 10_000, 30_000, 100_000)
"""Numbers of tasks over which memory is fitted."""
THREAD_COUNTS: Final = (100, 1_000, 3_000, 10_000)
"""Numbers of threads."""


@dataclass(frozen=True, slots=True)
class TaskKind:
    """One way to wait."""

    name: str
    title: str
    backend: str = ""  # whose connections it carries
    waits_on: str = "a Future of the loop"  # what its library means by waiting forever
    yields: str = "asyncio.sleep(0)"  # what a switch is
    library: str = ""  # that must be installed
    threaded: bool = False  # each needs a thread, which a machine limits
    since: int = 11  # the first Python 3 that has it

    @property
    def counts(self) -> tuple[int, ...]:
        return THREAD_COUNTS if self.threaded else COUNTS

    @property
    def missing(self) -> str | None:
        """Why it cannot be measured on this interpreter; None if it can."""
        if sys.version_info < (3, self.since):
            return f"it needs Python 3.{self.since}; this is 3.{sys.version_info.minor}"
        if self.library and find_spec(self.library) is None:
            return f"{self.library} is not installed"
        return None


def of_library(name: str, title: str, waits_on: str, yields: str) -> TaskKind:
    """A kind that has the name of its library, and of its backend."""
    return TaskKind(name, title, name, waits_on, yields, library=name)


def of_threads(name: str, title: str, backend: str) -> TaskKind:
    return TaskKind(name, title, backend, "an Event", "a lock handed over", threaded=True)


KINDS: Final = {
    kind.name: kind
    for kind in (
        of_threads("thread", "thread", "threads"),
        TaskKind(
            "generator_task",
            "Task of generators",
            "generators",
            "a Future of the hand-built loop",
            "a Future that the loop resolves soon",
        ),
        TaskKind("asyncio", "asyncio.Task", "async_await"),
        of_library("gevent", "gevent greenlet", "an Event", "gevent.sleep(0)"),
        TaskKind("uvloop", "asyncio.Task on uvloop", "uvloop", library="uvloop"),
        of_library("trio", "trio task", "trio.sleep_forever()", "trio.lowlevel.checkpoint()"),
        TaskKind("generator", "generator", waits_on="yield", yields="next()"),
        TaskKind("coroutine", "coroutine", waits_on="an awaitable that yields", yields="send()"),
        TaskKind("asyncio_pure", "asyncio.Task in Python", "asyncio_pure"),
        TaskKind("asyncio_eager", "asyncio.Task, eager", since=12),
        of_library("anyio", "anyio task", "anyio.sleep_forever()", "anyio.lowlevel.checkpoint()"),
        of_threads("thread_small", "thread, stack of 64 KiB", "threads_small_stack"),
    )
}
"""By name, in the order of tables and charts: those of models and variants first, as in others."""

FEWEST: Final = 2
"""Numbers of tasks for a slope."""


def size(size: float) -> str:
    return f"{count(size)} B" if size < 1000 else f"{significant(size / KIB, 2)} KiB"


BYTES: Final = Unit("bytes", size, number)
IN_KIB: Final = Unit("KiB", lambda value: size(KIB * value), number)
"""For the chart, whose axis has round numbers of KiB then."""
TOTAL: Final = "total"
OTHER: Final = "kernel_other_bytes"
PARTS: Final = {  # private anonymous memory, VmPTE, threads × kernel stack, growth of slabs
    "user_bytes": Measure("user", "… in user space", BYTES),
    "page_table_bytes": Measure("page tables", "… in page tables", BYTES),
    "kernel_stack_bytes": Measure("kernel stack", "… of the kernel's stack", BYTES),
    OTHER: Measure("other kernel", "… other in the kernel", BYTES),
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
    "connection."
)
OF_TIMES: Final = (
    "Processor time of the process, all threads: spawned until it waits and cancelled until it has "
    "ended, of 10,000 tasks or 1,000 threads. 100 tasks switch in turn. A thread cannot be "
    "cancelled: its Event is set, and it is joined."
)


class TasksHeld(Record):
    """One process that held so many tasks: bytes that they added, seconds for one of them.

    ``kernel_other_bytes`` is read for threads only: the machine's own counters, of which a quiet
    machine is a condition.
    """

    count: Positive
    user_bytes: Whole | None
    page_table_bytes: Whole | None
    kernel_stack_bytes: Whole | None
    kernel_other_bytes: Whole | None
    spawn_s: Amount
    cancel_s: Amount


class Switched(Record):
    """One process whose tasks yielded in turn: seconds for one switch."""

    switch_s: Amount


TaskSample = TasksHeld | Switched
STUDY: Final[Study[TaskSample]] = Study("tasks", "waiting tasks", TaskSample)
SWITCH: Final = "switch"
"""What follows a kind in the name of a program: this, or a number of tasks."""


# --- what is shown -----------------------------------------------------------------------------


def measured(run: Run[TaskSample]) -> Measured:
    """What one more task takes, by the name of its kind, repeat by repeat."""
    seen: dict[str, dict[int, list[TaskSample]]] = {}
    for program, parts in run.by_program().items():
        for repeat, part in parts.items():
            seen.setdefault(program.partition(" ")[0], {}).setdefault(repeat, []).append(part)
    rows: dict[str, dict[str, dict[int, float]]] = {kind: {} for kind in KINDS if kind in seen}
    for kind, row in rows.items():
        for repeat, samples in seen[kind].items():
            for key, value in _values(samples).items():
                if value is not None:
                    row.setdefault(key, {})[repeat] = value
    return Measured(MEMORY | TIMES, rows)


def _values(repeat: Sequence[TaskSample]) -> dict[str, float | None]:
    held = sorted((p for p in repeat if isinstance(p, TasksHeld)), key=lambda part: part.count)
    switched = [1e6 * part.switch_s for part in repeat if isinstance(part, Switched)]
    slopes = {part: fit(held, part) for part in PARTS}
    # What else the kernel keeps is read for threads only; they have stacks of its own.
    parts = [part for part in slopes if part != OTHER or slopes["kernel_stack_bytes"] != 0]
    known = [slope for part in parts if (slope := slopes[part]) is not None]
    values = {
        TOTAL: sum(known) if len(known) == len(parts) else None,
        **slopes,
        SWITCH: next(iter(switched), None),
    }
    if held:
        second = held[min(1, len(held) - 1)]  # 10,000 tasks, or 1,000 threads
        values |= {"spawn": 1e6 * second.spawn_s, "cancel": 1e6 * second.cancel_s}
    return values


def tables(run: Run[TaskSample]) -> list[Table]:
    """Memory with what was not measured, and times."""
    values = measured(run).values
    kinds = [KINDS[name] for name in values]
    titled = {kind.title: values[kind.name] for kind in kinds}
    waits = "; ".join(f"{kind.title}: {kind.waits_on}" for kind in kinds)
    yields = "; ".join(f"{kind.title}: {kind.yields}" for kind in kinds)
    shown = (
        (MEMORY, "Memory of a waiting task", OF_MEMORY, f"It waits on: {waits}."),
        (TIMES, "Spawn, switch and cancel a task", OF_TIMES, f"A switch is: {yields}."),
    )
    tables = []
    for measures, title, about, note in shown:
        caption = f"{title} ({run.head.environment.python})"
        table = Measured(measures, titled).table(caption, about, over="repeats")
        columns, notes = [name("task"), *table.columns[1:]], [*run.faults(), note]
        tables.append(replace(table, columns=columns, notes=notes))
    return tables


def designs(run: Run[TaskSample]) -> Iterator[Figure]:
    """The chart, if there is something to draw."""
    costs = measured(run)
    rows = {
        KINDS[name].backend or name: {TOTAL: {n: size / KIB for n, size in values[TOTAL].items()}}
        for name, values in costs.values.items()
        if TOTAL in values
    }
    in_kib = {TOTAL: replace(costs.measures[TOTAL], unit=IN_KIB)}
    if rows:
        figure = Figure(
            name=STUDY.name,
            title="Memory of a waiting task",
            headline=headline(costs),
            subtitle="Slope of memory over the number of tasks that wait without a "
            "connection, user space and kernel together",
            data=Bars([Measured(in_kib, rows).panel("memory of one, KiB", TOTAL)]),
            notes=("Ranges: lowest to highest repeat.",),
        )
        yield drawn(figure, "python -m bench study tasks", run.head)


def report(run: Run[TaskSample]) -> Report:
    kinds = (kind.backend or kind.name for kind in KINDS.values())
    return Report(
        title="What waits without a connection",
        about=f"Rebuild with `python -m bench study tasks --redraw`. Measured: {run.head.stamp}.",
        tables=tables(run),
        designs=list(designs(run)),
        backends=list(dict.fromkeys((*CITED, *kinds))),
    )


def fit(held: Sequence[TasksHeld], part: str) -> float | None:
    """Bytes of a part for one more task; None where it was not read."""
    points = [(tasks.count, size) for tasks in held if (size := getattr(tasks, part)) is not None]
    if len({count for count, _ in points}) < FEWEST:
        return None
    return max(stats.theil_sen(*zip(*points, strict=True))[0], 0.0)


def headline(costs: Measured) -> str | None:
    names = ("thread", "asyncio", "coroutine")
    if len(costs.with_(TOTAL, names)) < len(names):
        return None
    thread, task, coroutine = (costs.value(name, TOTAL) for name in names)
    return (
        f"A waiting thread uses as much memory as {count(round(thread / task))} asyncio tasks, "
        f"or {count(round(thread / coroutine))} bare coroutines"
    )


# --- how it is measured ------------------------------------------------------------------------

MOST_BYTES = 16 * KIB
"""What a task may take, with some to spare, when it is decided whether so many fit."""

TASKS, TURNS = 100, 2000
"""A switch is measured with so many tasks, each of which yields so often."""


def programs() -> list[Program[TaskSample]]:
    """Every kind at every number; what this machine cannot hold, or has not, is refused."""
    doctor.raise_descriptor_limit()
    made: list[Program[TaskSample]] = []
    for kind in KINDS.values():
        if kind.missing is not None:
            made.append(Program(kind.name, partial(switched, kind), refused=kind.missing))
            continue
        made.append(Program(f"{kind.name} {SWITCH}", partial(switched, kind)))
        made += [
            Program(f"{kind.name} {wanted}", partial(hold, kind, wanted), refused(kind, wanted))
            for wanted in kind.counts
        ]
    return made


def refused(kind: TaskKind, count: int) -> str | None:
    """Why this machine cannot hold so many, with what they need; None if it can."""
    if kind.threaded:
        return doctor.refuse(Needs(threads=count))
    needed, left = count * MOST_BYTES, available_bytes()
    if needed <= left:
        return None
    return f"{size_words(needed)} of memory may be needed, {size_words(left)} are available"


def started(kind: TaskKind, *words: object) -> Process:
    arguments = ["-m", "bench.tasks.child", kind.name, *map(str, words)]
    return Process(kind.name, arguments, cpu.split_cores().client)


def hold(kind: TaskKind, count: int, _: int) -> TasksHeld:
    """One process that holds so many tasks, between two readings of its memory."""
    with started(kind, "hold", count) as child:
        child.answer()  # it is ready
        reader = Reader([child.pid])
        before = reader.read()
        child.ask()  # they are held
        held = reader.read()
        times = child.ask()
    return TasksHeld(count=count, **parts(kind, before, held), **times)


def switched(kind: TaskKind, _: int) -> Switched:
    with started(kind, SWITCH, TASKS, TURNS) as child:
        return Switched(**child.answer())


def parts(kind: TaskKind, before: Snapshot, held: Snapshot) -> Mapping[str, int | None]:
    """The bytes by which each part grew; None where it is unknown or not its own."""
    both = memory.memory(before, held, 0)
    grown = memory.grown(both.before, both.held, PARTS)
    if not kind.threaded:
        grown["kernel_other_bytes"] = None  # other programs', not this one's
    return grown
