"""Runs the experiments, each in a fresh process, and keeps the results beside a campaign."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from bench import store
from bench.claims import records
from bench.claims.experiments import MOST_REPEATS, NAMES
from bench.claims.records import MeasurementRecord, RunRecord
from bench.errors import BenchError
from bench.launch import ROOT
from bench.machine.probes import cpu, environment
from bench.run import interrupts
from bench.run.process import Child, ProcessError
from bench.text import minutes

REPEATS = 10
DEADLINE_S = 120.0


class MeasureError(BenchError):
    """The experiments cannot be run; the message says what to do."""


def choose(names: Sequence[str] | None) -> list[str]:
    """The experiments with these names, in order; all of them by default.

    Raises :class:`MeasureError` for one that does not exist.
    """
    for name in names or ():
        if name not in NAMES:
            raise MeasureError(f"no experiment {name!r}: choose from {', '.join(NAMES)}")
    return [name for name in NAMES if not names or name in names]


def run(folder: Path, names: Sequence[str], repeats: int, console: Console) -> Path:
    """Measure in rounds, appending every measurement at once; returns the file.

    Rounds spread a slow minute of the machine over all experiments. Ctrl-C keeps all
    measurements so far.
    """
    file = folder / records.FILE_NAME
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
        if repeat < MOST_REPEATS.get(name, repeats)
    ]
    began = time.monotonic()
    with store.Store(file, create=not file.exists()) as kept, interrupts.deferred():
        kept.append(head)
        with console.status("starting") as status:
            for done, (repeat, name) in enumerate(turns):
                spent = time.monotonic() - began
                rest = minutes(spent / done * (len(turns) - done)) if done else ""
                text = f"{done + 1}/{len(turns)} {name}{rest and f', about {rest} left'}"
                status.update(text)
                if not console.is_terminal and name == names[0]:
                    console.print(text)
                found = measure(name, pinning.client, head.run, repeat)
                kept.append(found)
                for what, reason in found.reasons.items():
                    if repeat == 0:
                        console.print(f"{name}: no {what}: {reason}")
    console.print(
        f"{len(turns)} measurements in {minutes(time.monotonic() - began)}: {file}",
        soft_wrap=True,
    )
    return file


def measure(name: str, cores: list[int], run_id: str, repeat: int) -> MeasurementRecord:
    """Run one experiment in a process of its own; records a failure as such."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    began = time.monotonic()
    result: dict[str, dict[str, float | None] | dict[str, str]]
    with Child(f"the experiment {name}", ["-m", "bench.claims.experiments", name]) as child:
        if cores:
            cpu.pin(child.pid, cores)
        try:
            result = json.loads(child.receive(began + DEADLINE_S))
        except (TimeoutError, ProcessError) as error:
            child.abort()
            words = (child.stderr_tail() or "").splitlines()
            reason = f"{error}{': ' + words[-1] if words else ''}"
            result = {"values": {}, "facts": {}, "reasons": {"experiment": reason}}
    return MeasurementRecord.model_validate(
        {
            "run": run_id,
            "experiment": name,
            "repeat": repeat,
            "started": started,
            "wall_s": time.monotonic() - began,
            **result,
        }
    )
