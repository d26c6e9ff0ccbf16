"""Runs the experiments, each in a fresh process, and keeps the results beside a campaign.

They are in ``experiments.jsonl``, append-only, beside the trials. Each run begins with a
:class:`RunRecord`, followed by its :class:`MeasurementRecord` lines. For each experiment, the last
run that includes it counts.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter
from rich.console import Console

from bench import store
from bench.claims.experiments import EXPERIMENTS, main, running
from bench.errors import BenchError
from bench.launch import ROOT
from bench.machine import cpu, environment
from bench.schema import Environment, Record
from bench.sides.process import Child, ProcessError, deferred
from bench.terminal import Phases

FILE_NAME: Final = "experiments.jsonl"
REPEATS: Final = 10
DEADLINE_S: Final = 120.0


class MeasureError(BenchError):
    """The experiments cannot be run; the message says what to do."""


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
    every = (line for line in lines if isinstance(line, MeasurementRecord))
    mine = [line for line in every if line.experiment == experiment]
    return [line for line in mine if line.run == mine[-1].run]


def runs(lines: list[AnyLine]) -> list[RunRecord]:
    return [line for line in lines if isinstance(line, RunRecord)]


def choose(names: Sequence[str] | None) -> list[str]:
    """The experiments with these names, in order; all of them by default.

    Raises :class:`MeasureError` for one that does not exist.
    """
    for name in names or ():
        if name not in EXPERIMENTS:
            raise MeasureError(f"no experiment {name!r}: choose from {', '.join(EXPERIMENTS)}")
    return [name for name in EXPERIMENTS if not names or name in names]


def run(folder: Path, names: Sequence[str], repeats: int, console: Console) -> Path:
    """Measure in rounds, appending every measurement at once; returns the file.

    Rounds spread a slow minute of the machine over all experiments. Ctrl-C keeps all
    measurements so far.
    """
    file = folder / FILE_NAME
    pinning = cpu.split_cores()
    now = datetime.now(UTC)
    head = RunRecord(
        run=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        started=now.isoformat(timespec="seconds"),
        repeats=repeats,
        experiments=list(names),
        pinning={"client": pinning.client, "reason": pinning.reason},
        environment=environment.collect(ROOT),
    )
    turns = [
        (repeat, name)
        for repeat in range(repeats)
        for name in names
        if (most := EXPERIMENTS[name][1]) is None or repeat < most
    ]
    progress = Phases(console)
    progress.phase("experiments", len(turns))
    with store.Log(file, create=not file.exists()) as kept, deferred(), closing(progress):
        kept.append(head)
        for done, (repeat, name) in enumerate(turns):
            progress.to(done, name)
            found = measure(name, pinning.client, head.run, repeat)
            kept.append(found)
            for what, reason in found.reasons.items() if repeat == 0 else ():
                console.print(f"{name}: no {what}: {reason}")
    console.print(f"{len(turns)} measurements: {file}", soft_wrap=True)
    return file


def measure(name: str, cores: list[int], run_id: str, repeat: int) -> MeasurementRecord:
    started = datetime.now(UTC).isoformat(timespec="seconds")
    began = time.monotonic()
    result: dict[str, Any]
    with Child(f"the experiment {name}", [*running(main), name]) as child:
        if cores:
            cpu.pin(child.pid, cores)
        try:
            result = json.loads(child.receive(began + DEADLINE_S))
        except (TimeoutError, ProcessError) as error:
            child.abort()
            words = (child.stderr_tail() or "").splitlines()
            reason = f"{error}{': ' + words[-1] if words else ''}"
            result = {"values": {}, "facts": {}, "reasons": {"experiment": reason}}
    return MeasurementRecord(
        run=run_id,
        experiment=name,
        repeat=repeat,
        started=started,
        wall_s=time.monotonic() - began,
        **result,
    )
