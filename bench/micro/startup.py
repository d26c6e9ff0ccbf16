"""What it costs to import a backend: time to ready, memory, modules, in fresh processes."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import Field
from rich.console import Console

from bench.analysis import stats
from bench.analysis.stats import Spread
from bench.analysis.wording import prose, says
from bench.machine import cpu, memory
from bench.micro.prices import MicroError, Run, answer, head, save
from bench.plan.participants import MAIN_VARIANTS
from bench.report.charts import Design, Skip, kinds
from bench.run.process import Child
from bench.schema import Record
from bench.show import cells
from bench.show.figures import Bars, Panel, Unit
from bench.show.table import Column, Row, Table, name
from bench.show.words import sentence
from bench.terminal import Phases
from bench.text import MIB, duration, plural, significant
from crawlers import registry
from crawlers.registry import MODELS

FILE_NAME: Final = "startup.json"
BARE: Final = "bare interpreter"


class Start(Record):
    """One process, when its backend was imported: seconds, bytes, modules."""

    ready_s: float  # on the wall, from the start of the process
    cpu_s: float  # of processor time, all threads
    rss_bytes: int | None
    user_bytes: int | None  # private anonymous memory
    modules: int


class StartupRecord(Run):
    """A whole run: the processes of each backend and of the bare interpreter."""

    starts: dict[str, list[Start]]
    absent: dict[str, str] = Field(default_factory=dict)  # backend -> why it cannot be imported


PATIENCE_S = 120.0

CODE = """\
import sys, time
name = sys.argv[1]
if name:
    from crawlers import registry
    registry.load(name)
used, modules = time.process_time(), len(sys.modules)
import json
print(json.dumps([used, modules]), flush=True)
sys.stdin.readline()
"""
"""What runs: the import that every program with this backend makes, or none."""


def run(
    out: Path, repeats: int, console: Console, backends: Sequence[str] | None = None
) -> StartupRecord:
    """Measure the bare interpreter and every backend, and write the record at the end.

    Each repeat has all of them once, in a random order, after a first one that does not count:
    it reads the files from disk and writes compiled modules. Raises
    :class:`bench.micro.prices.MicroError` if a process fails.
    """
    names = list(backends or registry.names())
    absent = {name: why for name in names if (why := registry.about(name).missing)}
    todo = [BARE, *(name for name in names if name not in absent)]
    starts: dict[str, list[Start]] = {name: [] for name in todo}
    shuffled, pinning = random.Random(1), cpu.split_cores()
    progress = Phases(console)
    progress.phase("start-up", (repeats + 1) * len(todo))
    with closing(progress):
        for repeat in range(repeats + 1):
            for name in shuffled.sample(todo, len(todo)):
                progress.to(sum(map(len, starts.values())), name)
                try:
                    found = start(name, pinning.client)
                except MicroError as error:
                    if repeat or name == BARE:
                        raise
                    absent[name] = str(error).rpartition("BackendError: ")[2]
                    todo.remove(name)
                    del starts[name]
                    continue
                if repeat:
                    starts[name].append(found)
    return save(StartupRecord(**head(), starts=starts, absent=absent), out, FILE_NAME)


def start(name: str, cores: list[int]) -> Start:
    """One process: from its start until the backend is imported, and its memory then."""
    began = time.monotonic()
    with Child(f"the import of {name}", ["-c", CODE, "" if name == BARE else name]) as child:
        cpu.pin(child.pid, cores)
        used, modules = json.loads(answer(child, PATIENCE_S))
        ready = time.monotonic() - began
        parts = memory.Reader(child.pid).read().parts
    return Start(
        ready_s=ready,
        cpu_s=used,
        rss_bytes=parts.rss_bytes,
        user_bytes=parts.user_bytes,
        modules=modules,
    )


NAME = "startup"
TITLE = "What it takes to import a backend"
CHARTED = (*MODELS, *MAIN_VARIANTS, "curio", "anyio", "tornado", "twisted", "requests", "httpx")
"""The backends of the chart; the table has all."""


def three(value: float) -> str:
    """Three digits: the axis has the unit."""
    return significant(value, 3)


def tick(value: float) -> str:
    return f"{value:g}"


THREE: Final = Unit("", three, tick)


@dataclass(frozen=True, slots=True)
class Import:
    """One backend: what it takes beyond the bare interpreter, over the repeats."""

    backend: str
    ready_ms: Spread
    cpu_ms: Spread
    memory: Spread | None  # bytes of private memory
    resident: Spread | None  # bytes, shared libraries included
    modules: int


def imports(record: StartupRecord) -> list[Import]:
    """Every backend, each repeat against the bare interpreter in the same repeat."""
    found = []
    bare = record.starts.get(BARE, [])
    for backend, starts in record.starts.items():
        if backend == BARE or not starts:
            continue
        pairs = list(zip(starts, bare, strict=False))
        ready = grown(pairs, lambda start: 1000 * start.ready_s)
        cpu = grown(pairs, lambda start: 1000 * start.cpu_s)
        if ready is None or cpu is None:
            continue
        memory = grown(pairs, lambda start: start.user_bytes)
        resident = grown(pairs, lambda start: start.rss_bytes)
        modules = starts[0].modules - bare[0].modules
        found.append(Import(backend, ready, cpu, memory, resident, modules))
    return found


def grown(
    pairs: Sequence[tuple[Start, Start]], value: Callable[[Start], float | None]
) -> Spread | None:
    """Median and range of the difference; None where something was not read."""
    both = [(value(one), value(other)) for one, other in pairs]
    found = [one - other for one, other in both if one is not None and other is not None]
    return stats.spread(found) if len(found) == len(both) else None


def table(record: StartupRecord) -> Table:
    starts = record.starts.get(BARE, [])
    about = (
        "Beyond the bare interpreter: time until the backend is imported, on the wall and of the "
        "processor, private memory (Pss_Anon) and resident memory, modules. Fresh processes, "
        "median and range; compiled modules were there. All share the registry, the parser and the "
        "frontier, which are nearly all that callbacks takes."
    )
    if starts:
        ready = stats.spread(1000 * start.ready_s for start in starts)
        memory = stats.spread(start.user_bytes for start in starts if start.user_bytes is not None)
        ready_words = duration(ready.median, 3) if ready else "?"
        memory_words = f"{memory.median / MIB:.1f} MiB" if memory else "unread memory"
        about += (
            f" The bare interpreter: {ready_words}, {memory_words}, {starts[0].modules} modules."
        )
    return Table(
        f"Start-up ({record.environment.python})",
        [
            name("backend"),
            Column("ready ms"),
            Column("processor ms"),
            Column("private MiB"),
            Column("resident MiB", drop=1),
            Column("modules", drop=2),
        ],
        [_row(each) for each in imports(record)],
        about=about,
        notes=[f"{backend}: {reason}" for backend, reason in record.absent.items()],
    )


def _row(each: Import) -> Row:
    return [
        each.backend,
        cells.spread(each.ready_ms),
        cells.spread(each.cpu_ms),
        *(cells.spread(mib(found)) for found in (each.memory, each.resident)),
        str(each.modules),
    ]


def mib(found: Spread | None) -> Spread | None:
    """Bytes in MiB, to two digits after the point."""
    if found is None:
        return None
    return stats.spread(round(v / MIB, 2) for v in (found.low, found.median, found.high))


def design(record: StartupRecord) -> Design | Skip:
    rows = [each for each in imports(record) if each.backend in CHARTED]
    if not rows:
        return Skip(NAME, TITLE, "no start-up was measured")
    told = [
        f"{row.backend} {duration(row.cpu_ms.median, 3)}"
        + (f" and {row.memory.median / MIB:.1f} MiB" if row.memory else "")
        for row in rows
    ]
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding(rows),
        subtitle="Beyond the bare interpreter, until the backend is imported; median of "
        f"{plural(rows[0].cpu_ms.count, 'repeat')}, a fresh process each",
        alt=f"Bar charts, processor time and memory of an import. {'; '.join(told)}.",
        draw=partial(
            kinds.draw,
            Bars(
                [
                    Panel("processor time, ms", {r.backend: [r.cpu_ms] for r in rows}, THREE),
                    Panel(
                        "private memory, MiB",
                        {r.backend: [mib(r.memory)] for r in rows if r.memory},
                        THREE,
                    ),
                ]
            ),
        ),
        notes=("Ranges: lowest to highest process. Parser and frontier are in all of them.",),
        footer=record.below,
    )


def finding(rows: Sequence[Import]) -> str | None:
    if len(rows) < 2:
        return None
    ordered = sorted(rows, key=lambda row: row.cpu_ms.median)
    least, most = ordered[0], ordered[-1]
    return sentence(
        f"{says(most.backend, 'take')} {duration(most.cpu_ms.median, 2)} of the processor to "
        f"import, {prose(least.backend)} {duration(least.cpu_ms.median, 2)}"
    )
