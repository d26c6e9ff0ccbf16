"""The price of each operation: runs the micro-benchmarks and reads their times."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

from bench.launch import ROOT
from bench.micro.record import MicroError, Price
from bench.micro.steps import Steps
from bench.run.process import Child, ProcessError

QUIET_S = 120.0
"""The longest that a micro-benchmark may print nothing."""
SWITCH_OF_THREADS = "threads.hand_off per switch"
"""A hand-off between threads, divided by the number of context switches it took."""
COLLECTED = re.compile(r"collected (\d+) item")
PASSED = " PASSED "
TROUBLE = re.compile(r"^(FAILED|ERROR)|error:")
US = 1e6

Times = dict[str, tuple[str, list[float]]]
"""Name of a micro-benchmark → its group, and the seconds per operation of each batch."""


def benchmarks(rounds: int, pages: int, steps: Steps, phase: str) -> Times:
    """One pass of all micro-benchmarks, in a process of its own."""
    steps.now(phase)
    with tempfile.TemporaryDirectory(prefix="c10k-") as folder:
        saved = Path(folder) / "saved.json"
        arguments = [
            *("-u", "-m", "pytest", str(ROOT / "bench" / "micro"), "-v"),
            *("--rounds", str(rounds), "--pages", str(pages)),
            *("--benchmark-json", str(saved)),
        ]
        with Child("the micro-benchmarks", arguments) as child:
            lines = follow(child, steps, phase)
            if child.process.returncode:
                words = [*lines, *(child.stderr_tail() or "").splitlines()]
                named = [line for line in words if TROUBLE.search(line)]
                raise MicroError(
                    f"the micro-benchmarks failed: {named[-1] if named else 'no reason given'}; "
                    "run python -m pytest bench/micro"
                )
        return read(json.loads(saved.read_text(encoding="utf-8")))


def follow(child: Child, steps: Steps, phase: str) -> list[str]:
    """Show progress from pytest's lines until it ends; returns the lines."""
    lines: list[str] = []
    try:
        while True:
            line = child.receive(time.monotonic() + QUIET_S)
            lines.append(line)
            if found := COLLECTED.search(line):
                steps.expect(int(found[1]))
            elif PASSED in line:
                steps.done()
                steps.now(phase, line.partition(" ")[0].rpartition("::")[2])
    except TimeoutError as error:
        raise MicroError(f"{error}: {lines[-1] if lines else 'no output'}") from None
    except ProcessError:
        child.end()  # there is no more output
    return lines


def read(saved: Mapping[str, Any]) -> Times:
    """The times in pytest-benchmark's file, by name: file and test."""
    found: Times = {}
    for row in saved["benchmarks"]:
        file, _, test = row["fullname"].rpartition("::")
        name = f"{Path(file).stem.removeprefix('test_')}.{test.removeprefix('test_')}"
        batches = row["stats"]["data"]
        found[name] = row["group"], batches
        if switches := row["extra_info"].get("switches_per_operation"):
            found[SWITCH_OF_THREADS] = "thread switch", [batch / switches for batch in batches]
    return found


def price(group: str, batches: Sequence[float]) -> Price:
    """The quartiles of all batches of both passes."""
    q1, q2, q3 = quantiles(batches, n=4, method="inclusive")
    return Price(
        group=group,
        median_us=q2 * US,
        q1_us=q1 * US,
        q3_us=q3 * US,
        min_us=min(batches) * US,
        batches=len(batches),
    )
