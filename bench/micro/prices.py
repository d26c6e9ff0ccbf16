"""The price of each operation: runs the micro-benchmarks in two passes, and keeps ``micro.json``.

If the machine drifts between the passes, the quartiles of the prices show it.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from statistics import quantiles
from typing import Any, TypeVar

from pydantic import ValidationError
from rich.console import Console

from bench import filesystem
from bench.errors import BenchError
from bench.launch import OWN_PYTHON, ROOT, run_module
from bench.machine import environment
from bench.report.study import origin
from bench.run.process import Child, ProcessError
from bench.run.runner import own_command
from bench.schema import Environment, Record
from bench.terminal import Phases
from bench.text import now

FILE_NAME = "micro.json"


class MicroError(BenchError):
    """Operations cannot be timed, or a record not be read; the message says what to do."""


class Price(Record):
    """The cost of one operation in microseconds of processor time: quartiles over batches."""

    group: str
    median_us: float
    q1_us: float
    q3_us: float
    min_us: float
    batches: int


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


class MicroRecord(Run):
    prices: dict[str, Price]


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


PASS_S = 1800.0
"""How long one pass of all micro-benchmarks may take."""
TROUBLE = re.compile(r"^(FAILED|ERROR)|error:")
US = 1e6

Times = dict[str, tuple[str, list[float]]]
"""Name of a micro-benchmark → its group, and the seconds per operation of each batch."""


def benchmarks(rounds: int, console: Console, phase: str) -> Times:
    """One pass of all micro-benchmarks, in a process of its own."""
    if not console.is_terminal:
        console.print(phase)
    with tempfile.TemporaryDirectory(prefix="c10k-") as folder, console.status(phase):
        saved = Path(folder) / "saved.json"
        arguments = [str(ROOT / "bench" / "micro"), "-q"]
        arguments += ["--rounds", str(rounds), "--benchmark-json", str(saved)]
        done = run_module(OWN_PYTHON, "pytest", *arguments, timeout_s=PASS_S)
        if done.returncode:
            lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
            named = [line for line in lines if TROUBLE.search(line)]
            raise MicroError(
                f"the micro-benchmarks failed: {named[-1] if named else 'no reason given'}; "
                "run python -m pytest bench/micro"
            )
        return read(json.loads(saved.read_text(encoding="utf-8")))


def read(saved: Mapping[str, Any]) -> Times:
    """The times in pytest-benchmark's file, by name: ``asyncio.resume_at_depth[10]``."""
    found: Times = {}
    for row in saved["benchmarks"]:
        parameters = dict(row["params"] or {})
        file = row["fullname"].partition("::")[0]
        where = parameters.pop("model", Path(file).stem.removeprefix("test_"))
        inside = "".join(f"[{value}]" for value in parameters.values())
        name = f"{where}.{row['group'].replace(' ', '_')}{inside}"
        found[name] = row["group"], row["stats"]["data"]
    return found


def price(group: str, batches: Sequence[float]) -> Price:
    q1, q2, q3 = quantiles(batches, n=4, method="inclusive")
    return Price(
        group=group,
        median_us=q2 * US,
        q1_us=q1 * US,
        q3_us=q3 * US,
        min_us=min(batches) * US,
        batches=len(batches),
    )


def run(out: Path, rounds: int, console: Console) -> MicroRecord:
    """Measure everything in two passes and write the record at the end.

    Raises :class:`MicroError` if a micro-benchmark fails.
    """
    rounds = max(rounds // 2, 1)
    times = benchmarks(rounds, console, "first pass")
    later = benchmarks(rounds, console, "second pass")
    for name, (_, more) in later.items():
        times[name][1].extend(more)
    prices = {name: price(group, batches) for name, (group, batches) in times.items()}
    return save(MicroRecord(**head(), prices=prices), out, FILE_NAME)
