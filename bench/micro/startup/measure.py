"""Starts a fresh process for each backend, which imports it and nothing else, and reads it."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.launch import ROOT
from bench.machine.probes import cpu, environment, memory
from bench.micro.record import MicroError
from bench.micro.startup.record import BARE, Start, StartupRecord, save
from bench.micro.steps import Steps
from bench.run.process import Child, ProcessError
from bench.run.runner import own_command
from bench.text import now
from crawlers import registry

PATIENCE_S = 120.0

CODE = """\
import sys, time
name = sys.argv[1]
if name:
    from crawlers import registry
    registry.load(name)
used, modules = time.process_time(), len(sys.modules)
import json
print(json.dumps([used, modules]), flush=True)
sys.stdin.readline()
"""
"""What runs: the import that every program with this backend makes, or none."""


@dataclass(frozen=True, slots=True)
class StartupOptions:
    """How much to measure."""

    out: Path
    repeats: int = 7
    backends: Sequence[str] | None = None  # None: all
    seed: int = 1


def run(options: StartupOptions, console: Console) -> StartupRecord:
    """Measure the bare interpreter and every backend, and write the record at the end.

    Each repeat has all of them once, in a random order, after a first one that does not count:
    it reads the files from disk and writes compiled modules. Raises
    :class:`bench.micro.record.MicroError` if a process fails.
    """
    names = list(options.backends or registry.names())
    absent = {name: why for name in names if (why := registry.about(name).missing)}
    todo = [BARE, *(name for name in names if name not in absent)]
    starts: dict[str, list[Start]] = {name: [] for name in todo}
    shuffled, pinning = random.Random(options.seed), cpu.split_cores()
    with Steps(console, (options.repeats + 1) * len(todo)) as steps:
        for repeat in range(options.repeats + 1):
            for name in shuffled.sample(todo, len(todo)):
                steps.now("start-up", name)
                try:
                    found = start(name, pinning.client)
                except MicroError as error:
                    if repeat or name == BARE:
                        raise
                    absent[name] = str(error).rpartition("BackendError: ")[2]
                    todo.remove(name)
                    del starts[name]
                    continue
                if repeat:
                    starts[name].append(found)
                steps.done()
    record = StartupRecord(
        created=now(),
        command=own_command(sys.argv),
        environment=environment.collect(ROOT),
        starts=starts,
        absent=absent,
    )
    save(record, options.out)
    return record


def start(name: str, cores: list[int]) -> Start:
    """One process: from its start until the backend is imported, and its memory then."""
    began = time.monotonic()
    with Child(f"the import of {name}", ["-c", CODE, "" if name == BARE else name]) as child:
        cpu.pin(child.pid, cores)
        try:
            used, modules = json.loads(child.receive(began + PATIENCE_S))
        except (TimeoutError, ProcessError) as error:
            last = (child.stderr_tail() or "").splitlines()[-1:]
            raise MicroError(": ".join([str(error), *last])) from None
        ready = time.monotonic() - began
        parts = memory.Reader(child.pid).read().parts
    return Start(
        ready_s=ready,
        cpu_s=used,
        rss_bytes=parts.rss_bytes,
        user_bytes=parts.user_bytes,
        modules=modules,
    )
