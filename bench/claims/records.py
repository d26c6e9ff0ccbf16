"""``experiments.jsonl``: what the experiments found, append-only, beside the campaign's trials.

One :class:`RunRecord` says when and on what; the :class:`MeasurementRecord` lines
after it belong to it. A later run is appended, and takes the place of an earlier
one experiment by experiment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from bench.schema import Environment, Record
from bench.store import StoreError

FILE_NAME: Final = "experiments.jsonl"


class RunRecord(Record):
    """One ``claims --measure``: when, on what, how often."""

    kind: Literal["run"] = "run"
    run: str
    started: str  # ISO 8601, UTC
    repeats: int
    experiments: list[str]
    pinning: dict[str, list[int] | str | None]
    environment: Environment


class MeasurementRecord(Record):
    """One experiment, once, in a fresh process: the sample."""

    kind: Literal["measurement"] = "measurement"
    run: str
    experiment: str
    repeat: int
    started: str
    wall_s: float
    values: dict[str, float | None]  # None: see reasons
    facts: dict[str, str | int | float | list[str]]  # what explains the values
    reasons: dict[str, str]  # value's name, or "experiment" for all of them -> why there is none


AnyLine = Annotated[RunRecord | MeasurementRecord, Field(discriminator="kind")]
LINE: TypeAdapter[AnyLine] = TypeAdapter(AnyLine)


def load(folder: Path) -> list[AnyLine]:
    """What was measured beside a campaign; empty when nothing was.

    A torn last line is left out. Raises :class:`bench.store.StoreError` for a
    line that is no record.
    """
    file = folder / FILE_NAME
    if not file.is_file():
        return []
    data = file.read_bytes()
    lines: list[AnyLine] = []
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            lines.append(LINE.validate_json(line))
        except ValidationError as error:
            what = error.errors()[0]["msg"]
            raise StoreError(f"{file}:{number}: not a record of an experiment: {what}") from None
    return lines


def latest(lines: list[AnyLine], experiment: str) -> list[MeasurementRecord]:
    """The measurements of an experiment's last run."""
    mine = [
        line
        for line in lines
        if isinstance(line, MeasurementRecord) and line.experiment == experiment
    ]
    return [line for line in mine if line.run == mine[-1].run]


def runs(lines: list[AnyLine]) -> list[RunRecord]:
    """The runs, oldest first."""
    return [line for line in lines if isinstance(line, RunRecord)]
