"""Waiting tasks: memory of one that has no connection, and its spawn, switch and cancel.

A fresh process (:mod:`bench.micro.task_child`) for each kind and number, read from outside.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from operator import attrgetter
from typing import Final, Self

from pydantic import Field
from rich.console import Console

from bench.analysis import stats
from bench.machine import cpu, doctor, memory
from bench.machine.doctor import Needs, available_bytes, mib
from bench.machine.memory import Reader, Snapshot
from bench.micro.study import Process, Study, by_repeat, head, in_turn, missing
from bench.report import study
from bench.report.charts import Design
from bench.schema import Record
from bench.show.figures import Bars, Figure, Unit
from bench.show.measured import US, Measure, Measured
from bench.show.table import Table
from bench.text import KIB, count, significant

COUNTS: Final = (1_000, 10_000, 30_000, 100_000)
"""Numbers of tasks over which memory is fitted."""
THREAD_COUNTS: Final = (100, 1_000, 3_000, 10_000)
"""Numbers of threads."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to wait."""

    name: str
    title: str
    waits_on: str  # what its library means by waiting forever
    yields: str  # what a switch is
    library: str = ""  # that must be installed
    backend: str = ""  # whose connections it carries
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
        return missing(self.library)


_ASYNCIO = ("a Future of the loop", "asyncio.sleep(0)")

KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("generator", "generator", "yield", "next()"),
        Kind("coroutine", "coroutine", "an awaitable that yields", "send()"),
        Kind("generator_task", "Task of generators", "a Future of the hand-built loop",
             "a Future that the loop resolves soon", backend="generators"),
        Kind("asyncio", "asyncio.Task", *_ASYNCIO, backend="async_await"),
        Kind("asyncio_pure", "asyncio.Task in Python", *_ASYNCIO, backend="asyncio_pure"),
        Kind("asyncio_eager", "asyncio.Task, eager", *_ASYNCIO, since=12),
        Kind("uvloop", "asyncio.Task on uvloop", *_ASYNCIO, "uvloop", "uvloop"),
        Kind("anyio", "anyio task", "anyio.sleep_forever()", "anyio.lowlevel.checkpoint()",
             "anyio", "anyio"),
        Kind("trio", "trio task", "trio.sleep_forever()", "trio.lowlevel.checkpoint()",
             "trio", "trio"),
        Kind("gevent", "gevent greenlet", "an Event", "gevent.sleep(0)", "gevent", "gevent"),
        Kind("thread", "thread", "an Event", "a lock handed over", backend="threads",
             threaded=True),
        Kind("thread_small", "thread, stack of 64 KiB", "an Event", "a lock handed over",
             backend="threads_small_stack", threaded=True),
    )
}  # fmt: skip
"""By name, in the order of tables and charts."""

FEWEST: Final = 2
"""Numbers of tasks for a slope."""


def size(size: float) -> str:
    return f"{count(size)} B" if size < 1000 else f"{significant(size / KIB, 2)} KiB"


def tick(size: float) -> str:
    return f"{size / KIB:g} KiB"


BYTES: Final = Unit("bytes", size, tick)
TOTAL: Final = "total"
OTHER: Final = "kernel_other_bytes"
PARTS: Final = {
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
    "connection. Medians over repeats and their range."
)
OF_TIMES: Final = (
    "Processor time of the process, all threads; medians over fresh processes and their range. "
    "Spawned until it waits and cancelled until it has ended, of 10,000 tasks or 1,000 threads. "
    "100 tasks switch in turn. A thread cannot be cancelled: its Event is set, and it is joined."
)


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


class TasksRecord(Study):
    NAME, WHAT = "tasks", "waiting tasks"
    PROCESSES = 1

    sources: dict[str, str]  # part of the memory -> where it was read
    kinds: dict[str, KindRecord]

    @classmethod
    def measure(cls, repeats: int, console: Console) -> Self:
        """Measure every kind at every number that this machine can hold."""
        doctor.raise_descriptor_limit()
        kinds = {name: KindRecord(missing=KINDS[name].missing) for name in KINDS}
        usable = [KINDS[name] for name, found in kinds.items() if found.missing is None]
        todo: list[tuple[Kind, int | None]] = [(kind, None) for kind in usable]
        for kind in usable:
            for wanted in kind.counts:
                if reason := refused(kind, wanted):
                    kinds[kind.name].refused[wanted] = reason
                else:
                    todo.append((kind, wanted))
        cores = cpu.split_cores().client

        def one(turn: tuple[Kind, int | None]) -> None:
            kind, number = turn
            if number is None:
                kinds[kind.name].switches_s.append(switch_s(kind, cores))
            else:
                kinds[kind.name].held.append(hold(kind, number, cores))

        in_turn(cls.WHAT, todo, repeats, console, one, _said)
        return cls(**head(), sources=SOURCES, kinds=kinds)

    def measured(self) -> Measured:
        """What one more task takes, by the name of its kind, repeat by repeat."""
        repeats = {name: _repeats(mine) for name, mine in self.kinds.items() if name in KINDS}
        return Measured(MEMORY | TIMES, by_repeat(repeats, _values))

    def tables(self) -> list[Table]:
        """Memory with what was not measured, and times."""
        values = self.measured().values
        kinds = [KINDS[name] for name in values]
        titled = {kind.title: values[kind.name] for kind in kinds}
        waits = "; ".join(f"{kind.title}: {kind.waits_on}" for kind in kinds)
        yields = "; ".join(f"{kind.title}: {kind.yields}" for kind in kinds)
        of_memory, of_times = Measured(MEMORY, titled), Measured(TIMES, titled)
        notes = [f"It waits on: {waits}.", *self.absent()]
        return [
            self.table(of_memory, "Memory of a waiting task", OF_MEMORY, "task", notes),
            self.table(
                of_times, "Spawn, switch and cancel a task", OF_TIMES, "task",
                [f"A switch is: {yields}."],
            ),
        ]  # fmt: skip

    def absent(self) -> Iterator[str]:
        for kind, mine in self.kinds.items():
            title = KINDS[kind].title if kind in KINDS else kind
            if mine.missing:
                yield f"{title}: {mine.missing}"
            for number, reason in mine.refused.items():
                yield f"{count(number)} × {title}: {reason}"

    def designs(self) -> Iterator[Design]:
        found = self.measured()
        rows = {
            KINDS[name].backend or name: values
            for name, values in found.values.items()
            if TOTAL in values
        }
        if rows:
            figure = Figure(
                name=self.NAME,
                title="Memory of a waiting task",
                headline=headline(found),
                subtitle="Slope of memory over the number of tasks that wait without a "
                "connection, user space and kernel together",
                data=Bars([replace(found, values=rows).panel("memory of one", TOTAL)]),
                notes=("Ranges: lowest to highest repeat.",),
            )
            below = study.origin("python -m bench study micro", self.environment, self.created)
            yield study.drawn(figure, below)


# --- what is shown -----------------------------------------------------------------------------


Repeat = tuple[Sequence[Held] | None, float | None]
"""The processes that held tasks, the fewest first, and seconds for a switch."""


def _repeats(mine: KindRecord) -> list[Repeat]:
    in_order = sorted(mine.held, key=attrgetter("count"))
    by_count = [list(same) for _, same in groupby(in_order, attrgetter("count"))]
    return list(zip_longest(zip(*by_count, strict=False), mine.switches_s))


def _values(repeat: Repeat) -> dict[str, float | None]:
    held, switch_s = repeat[0] or (), repeat[1]
    slopes = {part: fit(held, part) for part in PARTS}
    # What else the kernel keeps is read for threads only; they have stacks of its own.
    parts = [part for part in slopes if part != OTHER or slopes["kernel_stack_bytes"] != 0]
    known = [slope for part in parts if (slope := slopes[part]) is not None]
    found = {
        TOTAL: sum(known) if len(known) == len(parts) else None,
        **slopes,
        "switch": switch_s and 1e6 * switch_s,
    }
    if held:
        second = held[min(1, len(held) - 1)]  # 10,000 tasks, or 1,000 threads
        found |= {"spawn": 1e6 * second.spawn_s, "cancel": 1e6 * second.cancel_s}
    return found


def fit(held: Sequence[Held], part: str) -> float | None:
    """Bytes of a part for one more task; None where it was not read."""
    points = [(each.count, size) for each in held if (size := getattr(each, part)) is not None]
    if len({count for count, _ in points}) < FEWEST:
        return None
    return max(stats.theil_sen(*zip(*points, strict=True))[0], 0.0)


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

CHILD = "bench.micro.task_child"

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


def _said(turn: tuple[Kind, int | None]) -> str:
    kind, number = turn
    return f"{kind.name} switch" if number is None else f"{kind.name} {number:,}"


def refused(kind: Kind, count: int) -> str | None:
    """Why this machine cannot hold so many, with what they need; None if it can."""
    if kind.threaded:
        return doctor.refuse(Needs(threads=count))
    needed, left = count * MOST_BYTES, available_bytes()
    if needed <= left:
        return None
    return f"{mib(needed)} of memory may be needed, {mib(left)} are available"


def started(kind: Kind, cores: list[int], *words: object) -> Process:
    return Process(kind.name, ["-m", CHILD, kind.name, *map(str, words)], cores)


def hold(kind: Kind, count: int, cores: list[int]) -> Held:
    """One process that holds so many tasks, between two readings of its memory."""
    with started(kind, cores, "hold", count) as child:
        child.answer()  # it is ready
        reader = Reader(child.pid)
        before = reader.read()
        child.ask()  # they are held
        held = reader.read()
        times = child.ask()
    return Held(count=count, **parts(kind, before, held), **times)


def parts(kind: Kind, before: Snapshot, held: Snapshot) -> Mapping[str, int | None]:
    """The bytes by which each part grew; None where it is unknown or not its own."""
    both = memory.memory(before, held, 0)
    grown = memory.grown(both.before, both.held, SOURCES)
    if not kind.threaded:
        grown["kernel_other_bytes"] = None  # other programs', not this one's
    return grown


def switch_s(kind: Kind, cores: list[int]) -> float:
    with started(kind, cores, "switch", TASKS, TURNS) as child:
        return float(child.answer()["switch_s"])
