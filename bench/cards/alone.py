"""What a backend's tasks and its import take, without any crawl: a table of its card.

The records are those of ``python -m bench micro``, which have a time and a machine of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.analysis.stats import Spread
from bench.micro.report import Found
from bench.micro.startup.record import StartupRecord
from bench.micro.startup.report import Import, imports, mib
from bench.micro.waiting.lines import Line, lines
from bench.micro.waiting.measure import TASKS
from bench.micro.waiting.record import TasksRecord
from bench.show import cells
from bench.show.table import Column, Row, Table, name, text_of
from bench.text import count

CAPTION: Final = "Tasks and start-up"
ABOUT: Final = (
    "Measured without a crawl, by `python -m bench micro`: {sources}. The memory of a task is the "
    "slope over numbers of tasks, user space and kernel; start-up is what the import takes beyond "
    "the bare interpreter. [How it is measured](../method.md)."
)


def table(found: Found | None, label: str) -> Table:
    """A task that waits, then the import; no rows where neither was measured."""
    tasks, starts = (found.tasks, found.startup) if found else (None, None)
    of_tasks = [row for line in lines(tasks) if line.kind.backend == label for row in _task(line)
                ] if tasks else []  # fmt: skip
    of_start = [row for each in imports(starts) if each.backend == label for row in _start(each)
                ] if starts else []  # fmt: skip
    used = [record for record, rows in ((tasks, of_tasks), (starts, of_start)) if record and rows]
    return Table(
        CAPTION,
        [name("what"), name("where"), Column("median [lowest–highest; memory of a task: 95 %]")],
        [*of_tasks, *of_start],
        about=ABOUT.format(sources="; ".join(dict.fromkeys(map(_source, used)))),
    )


def _source(record: TasksRecord | StartupRecord) -> str:
    return f"{record.created[:10]}, {record.environment.python}"


def _task(line: Line) -> Iterator[Row]:
    where = f"{line.kind.title}, up to {count(line.highest)}"
    if line.total is not None:
        low, high = line.interval or (None, None)
        shown = cells.figure(line.total)
        shown += "" if low is None else f" [{cells.figure(low)}–{cells.figure(high)}]"
        yield ["a task that waits without a connection, bytes", where, shown]
        yield ["… in user space", where, cells.figure(line.user)]
    at = f"of {count(line.at)}"
    for what, place, spread in (
        ("to spawn a task, µs", at, line.spawn),
        ("to switch to a task, µs", f"{count(TASKS)} in turn", line.switch),
        ("to cancel a task, µs", at, line.cancel),
    ):
        if spread is not None:
            yield [what, place, _spread(spread)]


def _start(found: Import) -> Iterator[Row]:
    where = "a fresh process"
    yield ["to import it, processor time, ms", where, _spread(found.cpu_ms)]
    yield ["… until it is ready, ms", where, _spread(found.ready_ms)]
    yield ["… private memory, MiB", where, _spread(mib(found.memory))]
    yield ["… modules", where, count(found.modules)]


def _spread(found: Spread | None) -> str:
    return text_of(cells.spread(found))
