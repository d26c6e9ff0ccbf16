"""What it costs to import a backend: time to ready, memory, modules, in fresh processes."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import Field
from rich.console import Console

from bench.machine import cpu, memory
from bench.micro.study import MicroError, Run, answer, head, save
from bench.run.process import Child
from bench.schema import Record
from bench.show.figures import Unit
from bench.show.measured import Measure, Measured
from bench.show.table import Table
from bench.terminal import Phases
from bench.text import MIB, significant
from crawlers import registry

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
    :class:`bench.micro.study.MicroError` if a process fails.
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
        parts = memory.Reader(child.pid).read().own
    return Start(
        ready_s=ready,
        cpu_s=used,
        rss_bytes=parts.rss_bytes,
        user_bytes=parts.user_bytes,
        modules=modules,
    )


ABOUT = (
    "Beyond the bare interpreter: time until the backend is imported, on the wall and of the "
    "processor, private memory (Pss_Anon) and resident memory, modules. Fresh processes, "
    "median and range; compiled modules were there. All share the registry, the parser and the "
    "frontier, which are nearly all that callbacks takes."
)


def three(value: float) -> str:
    return significant(value, 3)


MS, MEBIBYTES, MODULES = (Unit(symbol, three, three) for symbol in ("ms", "MiB", "count"))
MEASURES: Final = {
    "ready": Measure("ready", "to import it, until it is ready", MS),
    "cpu": Measure("processor", "to import it, processor time", MS),
    "private": Measure("private", "… private memory", MEBIBYTES),
    "resident": Measure("resident", "… resident memory", MEBIBYTES),
    "modules": Measure("modules", "… modules", MODULES),
}


def values(start: Start) -> dict[str, float | None]:
    user, rss = start.user_bytes, start.rss_bytes
    return {
        "ready": 1000 * start.ready_s,
        "cpu": 1000 * start.cpu_s,
        "private": None if user is None else user / MIB,
        "resident": None if rss is None else rss / MIB,
        "modules": start.modules,
    }


def measured(record: StartupRecord) -> Measured:
    """Every backend beyond the bare interpreter, both of the same repeat."""
    bare = record.starts.get(BARE, [])
    found: dict[str, dict[str, dict[int, float]]] = {}
    for backend, starts in record.starts.items():
        for repeat, (one, other) in enumerate(zip(starts, bare, strict=False)):
            without = values(other)
            for key, value in values(one).items():
                if backend != BARE and value is not None and (less := without[key]) is not None:
                    blocks = found.setdefault(backend, {}).setdefault(key, {})
                    blocks[repeat] = round(value - less, 2)
    return Measured(MEASURES, found)


def table(record: StartupRecord) -> Table:
    made = measured(record).table(f"Start-up ({record.environment.python})", ABOUT)
    return replace(made, notes=[f"{backend}: {why}" for backend, why in record.absent.items()])
