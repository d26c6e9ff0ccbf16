"""What all studies share: a record with its tables and charts, and turns of fresh processes."""

from __future__ import annotations

import json
import random
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeVar

from pydantic import ValidationError
from rich.console import Console

from bench import filesystem
from bench.analysis.stats import EQUIVALENT
from bench.errors import BenchError
from bench.launch import ROOT
from bench.machine import cpu, environment
from bench.questions.question import few, strongest_of
from bench.report.charts import Design
from bench.run.runner import own_command
from bench.schema import Environment, Record
from bench.show.measured import Measured
from bench.show.table import Table, name
from bench.sides.process import Child, ProcessError
from bench.terminal import Phases
from bench.text import now


class MicroError(BenchError):
    """Nothing can be measured, or a record cannot be read; the message says what to do."""


# --- the record ------------------------------------------------------------------------------


class Study(Record):
    """The record of a study, which is measured and shown here."""

    NAME: ClassVar[str]  # on the command line; the file is NAME.json
    WHAT: ClassVar[str]  # in sentences
    PROCESSES: ClassVar[int] = 2  # of each way, for each repeat on the command line

    created: str
    command: list[str]
    environment: Environment

    @classmethod
    @abstractmethod
    def measure(cls, repeats: int, console: Console) -> Self:
        """Measure every way in this many processes. Raises :class:`MicroError`."""

    @abstractmethod
    def tables(self) -> list[Table]: ...

    def designs(self) -> Iterator[Design]:
        """Its charts, as far as there is something to draw."""
        return iter(())

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """The record in a folder; None without one. Raises :class:`MicroError`."""
        file = folder / f"{cls.NAME}.json"
        try:
            return cls.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise MicroError(f"{file}: {error.strerror}") from None
        except ValidationError as error:
            raise MicroError(
                f"{file}: not a record of bench study micro: {error.errors()[0]['msg']}"
            ) from None

    def save(self, folder: Path) -> None:
        """Write the record completely or not at all."""
        filesystem.write_text(folder / f"{self.NAME}.json", self.model_dump_json(indent=1) + "\n")

    @property
    def stamp(self) -> str:
        """When it was measured, and on what."""
        machine = self.environment
        return f"{self.created[:10]}, {machine.cpu_model or machine.machine}, {machine.python}"

    def table(
        self, found: Measured, title: str, about: str, first: str, notes: Sequence[str]
    ) -> Table:
        """A table that names its interpreter; ``first`` heads the column of names."""
        made = found.table(f"{title} ({self.environment.python})", about)
        return replace(made, columns=[name(first), *made.columns[1:]], notes=notes)


def head() -> dict[str, Any]:
    """What every record says of its origin."""
    return {
        "created": now(),
        "command": own_command(sys.argv),
        "environment": environment.collect(ROOT),
    }


Sample = TypeVar("Sample")


def by_repeat(
    samples: Mapping[str, Sequence[Sample]],
    values: Callable[[Sample], Mapping[str, float | None]],
) -> dict[str, dict[str, dict[int, float]]]:
    """Way -> measure -> repeat -> value, as far as the samples have them."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for way, mine in samples.items():
        for repeat, sample in enumerate(mine):
            for key, value in values(sample).items():
                if value is not None:
                    found.setdefault(way, {}).setdefault(key, {})[repeat] = value
    return found


def contrast(
    found: Measured, key: str, pairs: Iterable[tuple[str, str]], costs: str, by: str
) -> str | None:
    """A sentence with the two of these ways that differ most; None without any two."""
    compared = found.compared(key, pairs)
    most = strongest_of(compared)
    if most is None:
        return None
    only = few(most.ratio.blocks)
    if not only and not most.ratio.shown:
        alike = all(c.ratio.verdict == EQUIVALENT for c in compared)
        undecided = "Whether one way costs more than another is undecided"
        return f"{costs} about as much in every way" if alike else undecided
    high, low = map(found.measures[key].unit.words, most.medians)
    return f"{costs} {high} {by} {most.label} and {low} {by} {most.base}{only}"


# --- the processes ---------------------------------------------------------------------------

PATIENCE_S: Final = 600.0
"""The longest that a process may take for one step; ten thousand threads take their time."""


class Process(Child):
    """A fresh process on these processors, or on all. It answers in lines of JSON."""

    def __init__(self, way: str, arguments: Sequence[str], cores: list[int]) -> None:
        super().__init__(f"the process of {way}", arguments)
        cpu.pin(self.pid, cores)

    def answer(self) -> Any:  # noqa: ANN401
        """Its next line. Raises :class:`MicroError`."""
        try:
            return json.loads(self.receive(time.monotonic() + PATIENCE_S))
        except (TimeoutError, ProcessError) as error:
            last = (self.stderr_tail() or "").splitlines()[-1:]
            raise MicroError(": ".join([str(error), *last])) from None

    def ask(self) -> Any:  # noqa: ANN401
        """Let it take its next step."""
        self.send("")
        return self.answer()


def missing(library: str) -> str | None:
    """Why what needs this library cannot be measured; None if it can, or needs none."""
    if library and find_spec(library) is None:
        return f"{library} is not installed"
    return None


Way = TypeVar("Way")


def in_turn(
    what: str,
    ways: Sequence[Way],
    repeats: int,
    console: Console,
    measure: Callable[[Way], Sample],
    said: Callable[[Way], str] = str,
) -> dict[Way, list[Sample]]:
    """Measure every way once in each repeat, in a random order, and show how far that is."""
    shuffled, progress, began = random.Random(1), Phases(console), time.monotonic()
    turns = [way for _ in range(repeats) for way in shuffled.sample(ways, len(ways))]
    found: dict[Way, list[Sample]] = {way: [] for way in ways}
    progress.phase(what, len(turns))
    with closing(progress):
        for done, way in enumerate(turns):
            pace_s = (time.monotonic() - began) / done if done else None
            progress.to(done, said(way), pace_s and pace_s * (len(turns) - done))
            found[way].append(measure(way))
    return found
