"""The tables of waiting tasks, and a sentence for the documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.analysis.stats import Spread
from bench.micro.waiting.kinds import KINDS
from bench.micro.waiting.lines import Line, lines
from bench.micro.waiting.record import TasksRecord
from bench.show.table import MISSING, Cell, Column, Table, name, words
from bench.text import KIB, count, listing, significant

COMMAND = "python -m bench micro --only tasks"


def memory(record: TasksRecord, connections: Mapping[str, float]) -> Table:
    """Bytes of one waiting task, by owner, and what a connection takes beside it."""
    return Table(
        "Memory of a waiting task, bytes",
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
            Column("a connection, KiB"),
        ],
        [_memory(line, connections) for line in lines(record)],
        about=(
            "The slope of memory over numbers of tasks, each number in fresh processes, with its "
            "95 % interval. No task has a connection. The last column is the campaign’s: user and "
            "kernel memory of a connection held by the backend that uses such tasks."
        ),
        notes=notes(record),
    )


def _memory(line: Line, connections: Mapping[str, float]) -> list[str]:
    held = connections.get(line.kind.backend)
    return [
        line.kind.title,
        line.kind.waits_on,
        *(_bytes(line.parts.get(part)) for part in ("user", "page tables")),
        *(_bytes(line.parts.get(part)) for part in ("kernel stacks", "other kernel")),
        _bytes(line.total),
        MISSING if line.interval is None else " to ".join(map(_bytes, line.interval)),
        count(line.highest),
        MISSING if held is None else f"{held / KIB:.1f}",
    ]


def _bytes(value: float | None) -> str:
    return MISSING if value is None else count(max(round(value), 0))


def times(record: TasksRecord) -> Table:
    """Microseconds to spawn, switch and cancel one task."""
    return Table(
        "Spawn, switch and cancel a task, µs",
        [
            name("task"),
            Column("spawn"),
            Column("switch"),
            Column("cancel"),
            Column("instructions of a switch"),
            words("a switch is", drop=2),
        ],
        [
            [
                line.kind.title,
                *map(_us, (line.spawn, line.switch, line.cancel)),
                MISSING if line.instructions is None else count(round(line.instructions)),
                line.kind.yields,
            ]
            for line in lines(record)
        ],
        about=(
            "Processor time of the process, all threads; medians over fresh processes and their "
            "range. Spawned until it waits and cancelled until it has ended, of 10,000 tasks or "
            "1,000 threads. 100 tasks switch in turn. A thread cannot be cancelled: its Event is "
            f"set, and it is joined. Instructions: {record.tool or 'not counted'}."
        ),
        notes=[
            *(f"{each.kind.title}: {each.kind.note}" for each in lines(record) if each.kind.note),
            *(
                f"Instructions of {each.kind.title} were not counted: {why}"
                for each in lines(record)
                if record.tool and (why := record.kinds[each.kind.name].not_counted)
            ),
        ],
    )


def _us(found: Spread | None) -> str | Cell:
    if found is None:
        return MISSING
    middle = significant(found.median, 3)
    if found.count == 1:
        return middle
    low, high = significant(found.low, 3), significant(found.high, 3)
    return Cell(f"{middle} [{low}–{high}]", middle)


def notes(record: TasksRecord) -> list[str]:
    """What was not measured, and why."""
    found = []
    for kind, mine in record.kinds.items():
        title = KINDS[kind].title if kind in KINDS else kind
        if mine.missing:
            found.append(f"{title}: {mine.missing}")
        found += [f"{count(n)} × {title}: {reason}" for n, reason in mine.refused.items()]
    return found


def sentence(record: TasksRecord | None) -> str:
    """The finding: what each waiting task takes, the least first."""
    known = [line for line in lines(record) if line.total is not None] if record else []
    if not known:
        return f"(Not measured: `{COMMAND}`.)"
    known.sort(key=lambda line: line.total or 0.0)
    each = [f"{_size(line)} ({line.kind.title})" for line in known]
    return (
        "User and kernel memory of one that waits without a connection: "
        f"{listing(each)}.{_ratio(known)}"
    )


def _ratio(known: Sequence[Line]) -> str:
    """A thread in tasks of asyncio, where both were measured."""
    totals = {line.kind.name: line.total for line in known}
    thread, task = totals.get("thread"), totals.get("asyncio")
    if not thread or not task:
        return ""
    return f" A thread takes as much as {thread / task:.0f} of asyncio’s tasks."


def _size(line: Line) -> str:
    return f"{significant((line.total or 0.0) / KIB, 2)} KiB"
