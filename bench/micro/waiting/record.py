"""The record of waiting tasks: ``tasks.json``, every process as it was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field

from bench.micro import record
from bench.schema import Environment, Record

FILE_NAME: Final = "tasks.json"


class Held(Record):
    """One process that held so many tasks: bytes that they added, seconds for one of them.

    ``kernel_other_bytes`` is read for threads only: the machine's own counters, of which a quiet
    machine is a condition.
    """

    count: int
    user_bytes: int | None
    page_table_bytes: int | None
    kernel_stack_bytes: int | None
    kernel_other_bytes: int | None
    spawn_s: float
    cancel_s: float


class KindRecord(Record):
    """Everything about one kind; ``missing`` says why there is nothing."""

    missing: str | None = None
    held: list[Held] = Field(default_factory=list)
    refused: dict[int, str] = Field(default_factory=dict)  # number of tasks -> why
    switches_s: list[float] = Field(default_factory=list)
    instructions: float | None = None  # per switch
    not_counted: str | None = None


class TasksRecord(Record):
    """A whole run."""

    created: str
    command: list[str]
    environment: Environment
    tool: str | None  # what counted the instructions
    sources: dict[str, str]  # part of the memory -> where it was read
    kinds: dict[str, KindRecord]


def save(made: TasksRecord, folder: Path) -> None:
    """Write the record completely or not at all."""
    record.save(made, folder, FILE_NAME)


def load(folder: Path) -> TasksRecord | None:
    """The record in a folder; None if there is none there. Raises ``MicroError`` if it is bad."""
    if not (folder / FILE_NAME).exists():
        return None
    return record.read(folder, FILE_NAME, TasksRecord)
