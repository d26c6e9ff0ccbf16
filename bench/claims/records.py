"""``experiments.jsonl``: the results of the experiments, append-only, beside the trials.

Each run begins with a :class:`RunRecord`, followed by its :class:`MeasurementRecord`
lines. For each experiment, the last run that includes it counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from bench import store
from bench.schema import Environment, Record

FILE_NAME: Final = "experiments.jsonl"


class RunRecord(Record):
    """One ``claims --measure``: time, machine and repeats."""

    kind: Literal["run"] = "run"
    run: str
    started: str  # ISO 8601, UTC
    repeats: int
    experiments: list[str]
    pinning: dict[str, list[int] | str | None]
    environment: Environment


class MeasurementRecord(Record):
    """One run of one experiment in a fresh process: one sample."""

    kind: Literal["measurement"] = "measurement"
    run: str
    experiment: str
    repeat: int
    started: str
    wall_s: float
    values: dict[str, float | None]  # None: see reasons
    facts: dict[str, str | int | float | list[str]]  # that explain the values
    reasons: dict[str, str]  # value's name, or "experiment" for all of them -> why it is missing


AnyLine = Annotated[RunRecord | MeasurementRecord, Field(discriminator="kind")]
LINE: TypeAdapter[AnyLine] = TypeAdapter(AnyLine)


def load(folder: Path) -> list[AnyLine]:
    """The measurements beside a campaign; empty if there are none.

    Ignores an incomplete last line. Raises :class:`bench.store.StoreError` for a line that is
    not a record.
    """
    file = folder / FILE_NAME
    return store.load_lines(file, LINE)[0] if file.is_file() else []


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
