"""What it costs to import a backend: time to ready, memory, modules, in fresh processes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final, Self

from pydantic import Field
from rich.console import Console

from bench.machine import cpu, memory
from bench.micro.study import MicroError, Process, Study, by_repeat, head, in_turn
from bench.schema import Record
from bench.show.figures import Unit
from bench.show.measured import Measure, Measured
from bench.show.table import Table
from bench.text import MIB, significant
from crawlers import registry

BARE: Final = "bare interpreter"

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


class StartupRecord(Study):
    NAME, WHAT = "startup", "start-up"

    starts: dict[str, list[Start]]
    absent: dict[str, str] = Field(default_factory=dict)  # backend -> why it cannot be imported

    @classmethod
    def measure(cls, repeats: int, console: Console) -> Self:
        """Measure the bare interpreter and every backend that can be imported."""
        absent: dict[str, str] = {}
        cores = cpu.split_cores().client

        def first(name: str) -> None:
            """Does not count: it reads the files from disk and writes compiled modules."""
            try:
                start(name, cores)
            except MicroError as error:
                if name == BARE:
                    raise
                absent[name] = str(error).rpartition("BackendError: ")[2]

        todo = [BARE, *registry.names()]
        in_turn("first start", todo, 1, console, first)
        usable = [name for name in todo if name not in absent]
        starts = in_turn(cls.WHAT, usable, repeats, console, lambda name: start(name, cores))
        return cls(**head(), starts=starts, absent=absent)

    def measured(self) -> Measured:
        """Every backend beyond the bare interpreter, both of the same repeat."""
        bare = self.starts.get(BARE, [])
        pairs = {
            backend: list(zip(starts, bare, strict=False))
            for backend, starts in self.starts.items()
            if backend != BARE
        }
        return Measured(MEASURES, by_repeat(pairs, beyond))

    def tables(self) -> list[Table]:
        notes = [f"{backend}: {why}" for backend, why in self.absent.items()]
        return [self.table(self.measured(), "Start-up", ABOUT, "backend", notes)]


def start(name: str, cores: list[int]) -> Start:
    """One process: from its start until the backend is imported, and its memory then."""
    began = time.monotonic()
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


def beyond(pair: tuple[Start, Start]) -> Mapping[str, float | None]:
    """What the first has more than the second."""
    one, other = (start.values() for start in pair)
    return {
        key: None if value is None or (less := other[key]) is None else round(value - less, 2)
        for key, value in one.items()
    }
