"""What all studies share: their record, and turns of fresh processes."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from rich.console import Console

from bench import filesystem
from bench.errors import BenchError
from bench.launch import ROOT
from bench.machine import environment
from bench.report.study import origin
from bench.run.process import Child, ProcessError
from bench.run.runner import own_command
from bench.schema import Environment, Record
from bench.terminal import Phases
from bench.text import now


class MicroError(BenchError):
    """Nothing can be measured, or a record cannot be read; the message says what to do."""


class Run(Record):
    created: str
    command: list[str]
    environment: Environment

    @property
    def below(self) -> tuple[str, str]:
        return origin("python -m bench micro", self.environment, self.created)

    @property
    def stamp(self) -> str:
        """When and on which interpreter: every table and chart says it."""
        return f"{self.created[:10]}, {self.environment.python}"


T = TypeVar("T", bound=Run)


def head() -> dict[str, Any]:
    return {
        "created": now(),
        "command": own_command(sys.argv),
        "environment": environment.collect(ROOT),
    }


def save(record: T, folder: Path, name: str) -> T:
    """Write a record completely or not at all; returns it."""
    filesystem.write_text(folder / name, record.model_dump_json(indent=1) + "\n")
    return record


def load(folder: Path, name: str, kind: type[T]) -> T | None:
    """A record of this kind in a folder; None without one. Raises :class:`MicroError`."""
    file = folder / name
    try:
        return kind.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MicroError(f"{file}: {error.strerror}") from None
    except ValidationError as error:
        raise MicroError(
            f"{file}: not a record of bench micro: {error.errors()[0]['msg']}"
        ) from None


def missing(ways: Mapping[str, str | None]) -> dict[str, str]:
    """The ways whose library is not installed, and that in words."""
    return {
        way: f"{library} is not installed"
        for way, library in ways.items()
        if library and find_spec(library) is None
    }


Way = TypeVar("Way")


def in_turn(
    what: str, ways: Sequence[Way], repeats: int, console: Console, said: Callable[[Way], str] = str
) -> Generator[Way, None, None]:
    """Every way once in each repeat, in a random order; shows how far that is, until closed."""
    shuffled, progress, began = random.Random(1), Phases(console), time.monotonic()
    turns = [way for _ in range(repeats) for way in shuffled.sample(ways, len(ways))]
    progress.phase(what, len(turns))
    with closing(progress):
        for done, way in enumerate(turns):
            pace_s = (time.monotonic() - began) / done if done else None
            progress.to(done, said(way), pace_s and pace_s * (len(turns) - done))
            yield way


def answer(child: Child, patience_s: float) -> str:
    """Its next line. Raises :class:`MicroError`."""
    try:
        return child.receive(time.monotonic() + patience_s)
    except (TimeoutError, ProcessError) as error:
        last = (child.stderr_tail() or "").splitlines()[-1:]
        raise MicroError(": ".join([str(error), *last])) from None
