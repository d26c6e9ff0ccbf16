"""The records of counted crawls: ``costs.jsonl``, one line for what was planned, one a sample."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from bench import filesystem
from bench.errors import BenchError
from bench.schema import Environment, Record

FILE_NAME = "costs.jsonl"
VERSION = 1


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


class Sample(Record):
    """One backend on one workload with one hash seed under one instrument: two crawls.

    ``counts`` has the two totals of each cost, of N and of 2 N pages; it is empty unless
    ``status`` is ok.
    """

    kind: Literal["sample"] = "sample"
    backend: str
    workload: str
    instrument: str
    seed: int
    status: Literal["ok", "void", "failed"]
    reason: str | None = None
    counts: dict[str, tuple[int, int]] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Costs:
    """A whole record."""

    header: Header
    samples: tuple[Sample, ...]


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
    try:
        first, *rest = filesystem.read_text(file).splitlines() or [""]
        header = Header.model_validate_json(first)
        samples = tuple(Sample.model_validate_json(line) for line in rest)
    except ValidationError as error:
        raise CostsError(f"{file}: not a record of costs: {error.errors()[0]['msg']}") from None
    return Costs(header, samples)


def merged(samples: Iterable[Sample]) -> dict[tuple[str, str], list[Sample]]:
    """The samples of each workload and backend, in the order of the record."""
    found: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        found.setdefault((sample.workload, sample.backend), []).append(sample)
    return found
