"""The records of counted crawls: ``costs.jsonl``, one line for what was planned, one a sample.

While crawls are counted, the lines are appended to ``costs.part.jsonl``; the record takes its
place when all are there. So a crash loses at most what was being counted, and no older record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from bench import filesystem
from bench.errors import BenchError
from bench.launch import shown
from bench.schema import Environment, Record
from bench.store import Store, load_lines
from bench.text import plural

FILE_NAME = "costs.jsonl"
PART_NAME = "costs.part.jsonl"
VERSION = 1

Key = tuple[str, str, str, int]
"""Of a sample: backend, workload, instrument, hash seed."""


class CostsError(BenchError):
    """Costs cannot be counted, read or compared; the message says why and what to do."""


class Header(Record):
    """The first line: how everything was counted."""

    kind: Literal["costs"] = "costs"
    version: int = VERSION
    created: str
    command: list[str]
    environment: Environment
    pages: int  # N; each sample is the difference between crawls of N and of 2 N pages
    slots: int
    seeds: list[int]  # of the hashes of strings
    tools: dict[str, str]  # instrument -> "valgrind 3.19.0"
    missing: dict[str, str] = Field(default_factory=dict)  # instrument -> reason
    absent: dict[str, str] = Field(default_factory=dict)  # backend that cannot run -> reason


class Sample(Record):
    """One backend on one workload with one hash seed under one instrument: two crawls.

    ``counts`` has the two totals of each cost; it is empty unless ``status`` is ok. ``pages``
    lie between them: None for as many as the header says.
    """

    kind: Literal["sample"] = "sample"
    backend: str
    workload: str
    instrument: str
    seed: int
    status: Literal["ok", "void", "failed"]
    reason: str | None = None
    pages: int | None = None
    counts: dict[str, tuple[int, int]] = Field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What makes it what it is: no other sample of a record has the same."""
        return self.backend, self.workload, self.instrument, self.seed


@dataclass(frozen=True, slots=True)
class Costs:
    """A whole record."""

    header: Header
    samples: tuple[Sample, ...]


class Part:
    """A record that is being made: a file to which samples are appended, and what it has."""

    def __init__(
        self, folder: Path, file: Store, header: Header, samples: Sequence[Sample]
    ) -> None:
        self.folder, self.header, self.samples = folder, header, samples
        self._file = file

    @classmethod
    def of(cls, folder: Path, header: Header, *, resume: bool) -> Part:
        """Start one, or go on with the one that is there.

        Raises :class:`CostsError` when the other choice would be right, and when what is there
        was counted differently.
        """
        path = folder / PART_NAME
        if not resume:
            if path.exists():
                raise CostsError(
                    f"{shown(path)} is unfinished: continue with --resume, or delete it"
                )
            filesystem.make_folder(folder)
            file = Store(path, create=True)
            file.append(header)
            return cls(folder, file, header, ())
        if not path.exists():
            raise CostsError(f"{shown(path)}: nothing to resume; start without --resume")
        lines, torn = load_lines(path, LINES)
        if not lines or not isinstance(lines[0], Header):
            raise CostsError(f"{shown(path)}: not a record of costs; delete it")
        first, samples = lines[0], [line for line in lines if isinstance(line, Sample)]
        if what := changed(first, header):
            raise CostsError(
                f"{shown(path)} was counted differently ({', '.join(what)}); delete it to start "
                "from the beginning"
            )
        file = Store(path, create=False)
        file.cut(torn)
        return cls(folder, file, first, samples)

    def append(self, sample: Sample) -> None:
        """Write a sample and sync it."""
        self._file.append(sample)

    def remove(self) -> None:
        """Remove the file: the record is whole, and elsewhere."""
        self._file.path.unlink()

    def __enter__(self) -> Part:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


LINES: TypeAdapter[Header | Sample] = TypeAdapter(
    Annotated[Header | Sample, Field(discriminator="kind")]
)


def changed(a: Header, b: Header) -> list[str]:
    """What keeps samples of two headers out of one record."""
    return [
        what
        for what, one, other in (
            ("pages", a.pages, b.pages),
            ("slots", a.slots, b.slots),
            ("tools", a.tools, b.tools),
            ("commit", a.environment.commit, b.environment.commit),
            ("interpreter", a.environment.python, b.environment.python),
            ("libraries", a.environment.packages, b.environment.packages),
        )
        if one != other
    ]


def save(costs: Costs, folder: Path) -> None:
    """Write the record completely or not at all."""
    lines = [costs.header.model_dump_json(), *(s.model_dump_json() for s in costs.samples)]
    filesystem.write_text(folder / FILE_NAME, "\n".join(lines) + "\n")


def file_of(path: Path) -> Path:
    """The record in a folder, or the path itself."""
    return path / FILE_NAME if path.is_dir() else path


def is_costs(path: Path) -> bool:
    """Whether a path that a user gave is a record of costs, or a folder with one."""
    file = file_of(path)
    try:
        with file.open(encoding="utf-8") as lines:
            return bool(json.loads(lines.readline()).get("kind") == "costs")
    except (OSError, ValueError, AttributeError):
        return False


def load(path: Path) -> Costs:
    """The record in a file or folder. Raises :class:`CostsError`."""
    file = file_of(path)
    if file.exists() and not is_costs(file):
        raise CostsError(f"{file}: not a record of costs")
    lines, _ = load_lines(file, LINES)
    if not lines or not isinstance(lines[0], Header):
        raise CostsError(f"{file}: not a record of costs")
    return Costs(lines[0], tuple(line for line in lines if isinstance(line, Sample)))


def merged(samples: Iterable[Sample]) -> dict[tuple[str, str], list[Sample]]:
    """The samples of each workload and backend, in the order of the record."""
    found: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        found.setdefault((sample.workload, sample.backend), []).append(sample)
    return found


def seed_words(costs: Costs) -> str:
    """Over how many hash seeds the ranges are: "3 hash seeds", "1 to 3 hash seeds"."""
    seeds: dict[tuple[str, str, str], set[int]] = {}
    for sample in costs.samples:
        if sample.status == "ok":
            place = (sample.workload, sample.backend, sample.instrument)
            seeds.setdefault(place, set()).add(sample.seed)
    numbers = {len(found) for found in seeds.values()} or {0}
    least, most = min(numbers), max(numbers)
    return plural(most, "hash seed") if least == most else f"{least} to {most} hash seeds"
