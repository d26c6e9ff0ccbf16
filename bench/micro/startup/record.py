"""The record of start-up: ``startup.json``, every process as it was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field

from bench.micro import record
from bench.schema import Environment, Record

FILE_NAME: Final = "startup.json"
BARE: Final = "bare interpreter"


class Start(Record):
    """One process, when its backend was imported: seconds, bytes, modules."""

    ready_s: float  # on the wall, from the start of the process
    cpu_s: float  # of processor time, all threads
    rss_bytes: int | None
    user_bytes: int | None  # private anonymous memory
    modules: int


class StartupRecord(Record):
    """A whole run: the processes of each backend and of the bare interpreter."""

    created: str
    command: list[str]
    environment: Environment
    starts: dict[str, list[Start]]
    absent: dict[str, str] = Field(default_factory=dict)  # backend -> why it cannot be imported


def save(made: StartupRecord, folder: Path) -> None:
    """Write the record completely or not at all."""
    record.save(made, folder, FILE_NAME)


def load(folder: Path) -> StartupRecord | None:
    """The record in a folder; None if there is none there. Raises ``MicroError`` if it is bad."""
    if not (folder / FILE_NAME).exists():
        return None
    return record.read(folder, FILE_NAME, StartupRecord)
