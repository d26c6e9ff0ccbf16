"""What it costs to import a backend: time to ready, memory, modules, in fresh processes."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from typing import Final

from bench.machine import cpu, memory
from bench.plan import backends
from bench.schema import Record
from bench.show.figures import Unit
from bench.show.measured import Measure, Measured
from bench.show.table import Table
from bench.study.record import Run, Study
from bench.study.report import by_repeat, of_run
from bench.study.runner import Process, Program
from bench.text import MIB, significant

BARE: Final = "bare interpreter"
PROCESSES: Final = 2  # for each repeat on the command line

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
ABOUT: Final = (
    "Beyond the bare interpreter: time until the backend is imported, on the wall and of the "
    "processor, private memory (Pss_Anon) and resident memory, modules. Fresh processes, "
    "median and range; compiled modules were there. All share the registry, the parser and the "
    "frontier, which are nearly all that callbacks takes."
)


class Start(Record):
    """One process, when its backend was imported: seconds, bytes, modules."""

    ready_s: float  # on the wall, from the start of the process
    cpu_s: float  # of processor time, all threads
    rss_bytes: int | None
    user_bytes: int | None  # private anonymous memory
    modules: int

    def values(self) -> dict[str, float | None]:
        user, rss = self.user_bytes, self.rss_bytes
        return {
            "ready": 1000 * self.ready_s,
            "cpu": 1000 * self.cpu_s,
            "private": None if user is None else user / MIB,
            "resident": None if rss is None else rss / MIB,
            "modules": self.modules,
        }


STUDY: Final[Study[Start]] = Study("startup", "start-up", Start, "micro")


def programs(_: ExitStack) -> list[Program[Start]]:
    """The bare interpreter and every backend; one that cannot run here is refused."""
    every = [
        Program(known.name, partial(measure, known.name), refused=known.missing)
        for known in backends.look_up()
    ]
    return [Program(BARE, partial(measure, BARE)), *every]


def measure(name: str, repeat: int) -> Start:
    if repeat == 0:
        start(name)  # does not count: it reads the files from disk and writes compiled modules
    return start(name)


def start(name: str) -> Start:
    """One process: from its start until the backend is imported, and its memory then."""
    cores, began = cpu.split_cores().client, time.monotonic()
    with Process(name, ["-c", CODE, "" if name == BARE else name], cores) as child:
        used, modules = child.answer()
        ready = time.monotonic() - began
        parts = memory.Reader(child.pid).read().own
    return Start(
        ready_s=ready,
        cpu_s=used,
        rss_bytes=parts.rss_bytes,
        user_bytes=parts.user_bytes,
        modules=modules,
    )


def measured(run: Run[Start]) -> Measured:
    """Every backend beyond the bare interpreter, both of the same repeat."""
    starts = run.by_program()
    bare = starts.pop(BARE, {})
    pairs = {
        backend: {n: (start, bare[n]) for n, start in repeats.items() if n in bare}
        for backend, repeats in starts.items()
    }
    return Measured(MEASURES, by_repeat(pairs, beyond))


def beyond(pair: tuple[Start, Start]) -> dict[str, float | None]:
    """What the first has more than the second."""
    whole, bare = (start.values() for start in pair)
    return {
        key: None if value is None or (less := bare[key]) is None else round(value - less, 2)
        for key, value in whole.items()
    }


def tables(run: Run[Start]) -> list[Table]:
    return [of_run(run, measured(run), "Start-up", ABOUT, "backend")]
