"""Measures waiting tasks: a fresh process for each kind and number, read from outside."""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.launch import OWN_PYTHON, ROOT
from bench.machine import doctor, instruments
from bench.machine.doctor.memory import available_bytes, mib
from bench.machine.instruments import INSTRUCTIONS, Instrument
from bench.machine.probes import cpu, environment, memory
from bench.machine.probes.memory import Reader, Reading
from bench.micro.record import MicroError
from bench.micro.steps import Steps
from bench.micro.waiting.kinds import KINDS, Kind
from bench.micro.waiting.record import Held, KindRecord, TasksRecord, save
from bench.run.process import Child, ProcessError
from bench.run.runner import own_command
from bench.text import KIB, now

CHILD = "bench.micro.waiting.child"
PATIENCE_S = 600.0
"""The longest that a process may take for one step; ten thousand threads take their time."""

MOST_BYTES = 16 * KIB
"""What a task may take, with some to spare, when it is decided whether so many fit."""

TASKS, TURNS = 100, 2000
"""A switch is measured with so many tasks, each of which yields so often."""

FEW_TURNS, MORE_TURNS = 20, 120
"""The same where instructions are counted: the difference of two runs."""

PARTS = {
    "user_bytes": "private anonymous memory of the process",
    "page_table_bytes": "VmPTE of the process",
    "kernel_stack_bytes": "threads × kernel stack",
    "kernel_other_bytes": "slabinfo: growth of task structures, mappings and the like",
}


@dataclass(frozen=True, slots=True)
class TasksOptions:
    """How much to measure."""

    out: Path
    repeats: int = 3
    kinds: Sequence[str] = tuple(KINDS)
    counts: Callable[[Kind], Sequence[int]] = lambda kind: kind.counts
    turns: int = TURNS
    count_instructions: bool = True
    seed: int = 1


def run(options: TasksOptions, console: Console) -> TasksRecord:
    """Measure every kind, and write the record at the end.

    Each repeat has every kind at every number in a random order. Raises
    :class:`bench.micro.record.MicroError` if a process fails.
    """
    doctor.raise_descriptor_limit()
    kinds = {name: KindRecord(missing=KINDS[name].missing) for name in options.kinds}
    usable = [KINDS[name] for name, found in kinds.items() if found.missing is None]
    todo: list[tuple[Kind, int | None]] = [(kind, None) for kind in usable]
    for kind in usable:
        for count in options.counts(kind):
            if reason := refused(kind, count, options.out):
                kinds[kind.name].refused[count] = reason
            else:
                todo.append((kind, count))
    tool = instruments.cachegrind() if options.count_instructions else None
    counting = tool if tool and tool.missing is None else None
    shuffled = random.Random(options.seed)
    pinning = cpu.split_cores()
    total = options.repeats * len(todo) + len(usable) * bool(counting)
    with Steps(console, total) as steps:
        for repeat in range(options.repeats):
            shuffled.shuffle(todo)
            for kind, number in todo:
                what = "switch" if number is None else f"{number:,}"
                steps.now(f"waiting tasks, pass {repeat + 1}", f"{kind.name} {what}")
                mine = kinds[kind.name]
                if number is None:
                    mine.switches_s.append(switch_s(kind, options.turns, pinning.client))
                else:
                    mine.held.append(hold(kind, number, pinning.client))
                steps.done()
        for kind in usable:
            if counting is None:
                why = "not asked for" if tool is None else tool.missing
                kinds[kind.name] = changed(kinds, kind, not_counted=why)
                continue
            steps.now("instructions of a switch", kind.name)
            try:
                counted = instructions(kind, counting)
            except MicroError as error:  # what was measured is kept
                kinds[kind.name] = changed(kinds, kind, not_counted=str(error))
            else:
                kinds[kind.name] = changed(kinds, kind, instructions=counted)
            steps.done()
    record = TasksRecord(
        created=now(),
        command=own_command(sys.argv),
        environment=environment.collect(ROOT),
        tool=counting.tool if counting else None,
        sources=dict(PARTS),
        kinds=kinds,
    )
    save(record, options.out)
    return record


def changed(kinds: Mapping[str, KindRecord], kind: Kind, **fields: object) -> KindRecord:
    """The record of a kind with these fields."""
    return kinds[kind.name].model_copy(update=fields)


def refused(kind: Kind, count: int, folder: Path) -> str | None:
    """Why this machine cannot hold so many, with what they need; None if it can."""
    if kind.threaded:
        return doctor.refuse(threads=count, folder=folder)
    needed, left = count * MOST_BYTES, available_bytes()
    if needed <= left:
        return None
    return f"{mib(needed)} of memory may be needed, {mib(left)} are available"


def hold(kind: Kind, count: int, cores: list[int]) -> Held:
    """One process that holds so many tasks, between two readings of its memory."""
    with started(kind, "hold", str(count)) as child:
        cpu.pin(child.pid, cores)
        expect(child, "ready")
        reader = Reader(child.pid)
        before = reader.read()
        child.send("spawn")
        expect(child, "held")
        held = reader.read()
        child.send("cancel")
        times = json.loads(answer(child))
    return Held(count=count, **parts(kind, before, held), **times)


def parts(kind: Kind, before: Reading, held: Reading) -> Mapping[str, int | None]:
    """The bytes by which each part grew; None where it is unknown or not its own."""
    both = memory.memory(before, held, 0)
    grown = {
        name: memory.gain(getattr(both.before, name), getattr(both.held, name)) for name in PARTS
    }
    if not kind.threaded:
        grown["kernel_other_bytes"] = None  # other programs', not this one's
    return grown


def switch_s(kind: Kind, turns: int, cores: list[int]) -> float:
    """Seconds of processor time of one switch, in a process of its own."""
    with started(kind, "switch", str(TASKS), str(turns)) as child:
        cpu.pin(child.pid, cores)
        return float(json.loads(answer(child))["switch_s"])


def instructions(kind: Kind, tool: Instrument) -> float:
    """Instructions of one switch: two runs, one with more turns, subtracted."""
    found = []
    for turns in (FEW_TURNS, MORE_TURNS):
        with tempfile.TemporaryDirectory(prefix="c10k-") as folder:
            python = [*tool.wrap(Path(folder)), *OWN_PYTHON]
            with started(kind, "switch", str(TASKS), str(turns), python=python) as child:
                answer(child)
                child.end(PATIENCE_S)
            try:
                found.append(tool.results(Path(folder))[INSTRUCTIONS])
            except (ValueError, KeyError) as error:
                raise MicroError(f"{kind.name} under {tool.tool}: no count ({error})") from None
    return (found[1] - found[0]) / (TASKS * (MORE_TURNS - FEW_TURNS))


def started(kind: Kind, *words: str, python: Sequence[str] = OWN_PYTHON) -> Child:
    """A process of this kind."""
    return Child(f"the process of {kind.name}", ["-m", CHILD, kind.name, *words], python=python)


def answer(child: Child) -> str:
    """Its next line. Raises :class:`MicroError`."""
    try:
        return child.receive(time.monotonic() + PATIENCE_S)
    except (TimeoutError, ProcessError) as error:
        last = (child.stderr_tail() or "").splitlines()[-1:]
        raise MicroError(": ".join([str(error), *last])) from None


def expect(child: Child, word: str) -> None:
    """Wait until it says this. Raises :class:`MicroError`."""
    line = answer(child)
    if line != word:
        raise MicroError(f"{child.what} said {line!r} instead of {word!r}")
