"""Runs all micro-benchmarks, in two passes.

If the machine drifts between them, the quartiles of the prices show it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench import filesystem
from bench.launch import ROOT
from bench.machine.probes import environment
from bench.micro.prices import benchmarks, price
from bench.micro.record import MicroRecord, save
from bench.micro.steps import Steps
from bench.run.runner import own_command
from bench.text import now


@dataclass(frozen=True, slots=True)
class MicroOptions:
    """How much to measure."""

    out: Path
    pages: int = 5000
    rounds: int = 100


def run(options: MicroOptions, console: Console) -> MicroRecord:
    """Measure everything and write the record to ``options.out`` at the end.

    Raises :class:`bench.micro.record.MicroError` if a micro-benchmark fails.
    """
    filesystem.make_folder(options.out)
    rounds = max(options.rounds // 2, 1)
    with Steps(console, 0) as steps:
        times = benchmarks(rounds, options.pages, steps, "first pass")
        later = benchmarks(rounds, options.pages, steps, "second pass")
    for name, (_, more) in later.items():
        times[name][1].extend(more)
    record = MicroRecord(
        created=now(),
        command=own_command(sys.argv),
        environment=environment.collect(ROOT),
        prices={name: price(group, batches) for name, (group, batches) in times.items()},
    )
    save(record, options.out)
    return record
