"""The record of micro-benchmarks: ``micro.json``, the price of each operation."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from bench import filesystem
from bench.errors import BenchError
from bench.schema import Environment, Record

FILE_NAME = "micro.json"
T = TypeVar("T", bound=Record)


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


class MicroRecord(Record):
    """Everything that one run measured."""

    created: str
    command: list[str]
    environment: Environment
    prices: dict[str, Price]


def save(record: Record, folder: Path, name: str = FILE_NAME) -> None:
    """Write a record completely or not at all."""
    filesystem.write_text(folder / name, record.model_dump_json(indent=1) + "\n")


def load(folder: Path) -> MicroRecord:
    """The record in a folder. Raises :class:`MicroError` if there is none."""
    return read(folder, FILE_NAME, MicroRecord)


def read(folder: Path, name: str, kind: type[T]) -> T:
    """A record of this kind in a folder. Raises :class:`MicroError` if there is none."""
    file = folder / name
    try:
        return kind.model_validate_json(file.read_bytes())
    except OSError as error:
        raise MicroError(
            f"{file}: {error.strerror}; measure with python -m bench micro --out {folder}"
        ) from None
    except ValidationError as error:
        raise MicroError(
            f"{file}: not a record of bench micro: {error.errors()[0]['msg']}"
        ) from None
