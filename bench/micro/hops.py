"""What a call from a loop to a thread and back costs: the price of mixing models.

The same call in every way that libraries offer, one at a time and a hundred at once, each in a
fresh process (:mod:`bench.micro.hop_child`). One at a time it is measured on all processors of the
machine, as programs run, and on one, where nothing wakes another processor.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import Field
from rich.console import Console

from bench.machine import cpu
from bench.micro.study import Run, answer, head, in_turn, missing, save
from bench.questions.question import few
from bench.report import study
from bench.report.charts import Design, Skip
from bench.run.process import Child
from bench.schema import Record
from bench.show.figures import Bars, Figure
from bench.show.measured import US, Measure, Measured
from bench.show.table import Table, name
from bench.text import plural

FILE_NAME: Final = "hops.json"
SUBMIT: Final = "submit"
WAYS: Final = {
    SUBMIT: None,
    "call_soon_threadsafe": None,
    "run_in_executor": None,
    "to_thread": None,
    "to_thread on uvloop": "uvloop",
    "trio": "trio",
    "anyio": "anyio",
}
"""Ways to call, and the library that each needs."""
CALLS, AT_ONCE = 10_000, 100
"""Calls of a process, and tasks that share them when they call at once."""
CHILD: Final = "bench.micro.hop_child"
PATIENCE_S = 120.0


class Call(Record):
    """One process: seconds for one call, and the threads that did the work."""

    cpu_s: float
    wall_s: float
    threads: int


class Hop(Record):
    """One way in one repeat; ``many`` is None without a loop, as there are no tasks."""

    alone: Call  # one at a time, on all processors
    one: Call | None  # … on one processor; None where nothing can be pinned
    many: Call | None  # a hundred tasks at once, on all processors


class HopsRecord(Run):
    hops: dict[str, list[Hop]]
    absent: dict[str, str] = Field(default_factory=dict)  # way -> why it cannot be measured


def run(out: Path, repeats: int, console: Console, calls: int = CALLS) -> HopsRecord:
    """Every way once in each repeat, in a random order.

    Raises :class:`bench.micro.study.MicroError` if a process fails, as it does after a wrong
    result.
    """
    absent = missing(WAYS)
    hops: dict[str, list[Hop]] = {way: [] for way in WAYS if way not in absent}
    cores = cpu.split_cores().client
    with closing(in_turn("hops", list(hops), repeats, console)) as turns:
        for way in turns:
            found = Hop(
                alone=ask(way, calls),
                one=ask(way, calls, core=cores[0]) if cores else None,
                many=None if way == SUBMIT else ask(way, calls // AT_ONCE, AT_ONCE),
            )
            hops[way].append(found)
    return save(HopsRecord(**head(), hops=hops, absent=absent), out, FILE_NAME)


def ask(way: str, calls: int, at_once: int = 1, core: int | None = None) -> Call:
    """One process; it pins itself before it has threads, if it is to have one processor."""
    pinned = [] if core is None else [str(core)]
    arguments = ["-m", CHILD, way, str(calls), str(at_once), *pinned]
    with Child(f"the calls of {way}", arguments) as child:
        return Call(**json.loads(answer(child, PATIENCE_S)))


NAME: Final = "hops"
TITLE: Final = "A call from a loop to a thread and back"
MEASURES: Final = {
    "alone": Measure("one at a time", "a call to a thread and back, processor time", US),
    "one": Measure("on one processor", "… on one processor, processor time", US),
    "wall": Measure("until it is back", "… until it is back", US),
    "many": Measure("100 at once", "… a hundred at once, processor time", US),
}
ABOUT: Final = (
    "Processor time of the process for one call, all threads, where one task calls and waits; the "
    "same on one processor; the time until that call is back; and processor time where a hundred "
    "tasks call at once. The work is one addition. submit has no loop: a thread waits for the "
    "result. Each way has the threads that its library starts by default; call_soon_threadsafe "
    "is written by hand, with one thread and one queue, and cancels nothing. Medians over fresh "
    "processes and their range. To measure it: python -m bench micro --only hops."
)


def measured(record: HopsRecord) -> Measured:
    values = {}
    for way, hops in record.hops.items():
        found = {
            "alone": [hop.alone.cpu_s for hop in hops],
            "one": [hop.one.cpu_s for hop in hops if hop.one],
            "wall": [hop.alone.wall_s for hop in hops],
            "many": [hop.many.cpu_s for hop in hops if hop.many],
        }
        values[way] = {
            key: {n: 1e6 * seconds for n, seconds in enumerate(times)}
            for key, times in found.items()
            if times
        }
    return Measured(MEASURES, values)


def table(record: HopsRecord) -> Table:
    made = measured(record).table(f"{TITLE} ({record.environment.python})", ABOUT)
    notes = [f"{way}: {why}" for way, why in record.absent.items()]
    return replace(made, columns=[name("by"), *made.columns[1:]], notes=notes)


def design(record: HopsRecord) -> Design | Skip:
    found = measured(record)
    if not found.values:
        return Skip(NAME, TITLE, "no call was measured")
    figure = Figure(
        name=NAME,
        title=TITLE,
        headline=headline(found),
        subtitle="Processor time for one call, one at a time on all processors; median of "
        f"{plural(max(found.blocks()), 'repeat')}, a fresh process each",
        data=Bars([found.panel("processor time per call", "alone")]),
        notes=("Ranges: lowest to highest process. submit has no loop.",),
    )
    return study.drawn(figure, record.below)


def headline(found: Measured) -> str | None:
    """The way that costs most and the one that costs least, if they differ."""
    ranked = found.with_("alone", (way for way in found.values if way != SUBMIT))
    if len(ranked) < 2:
        return None
    most, least = ranked[0], ranked[-1]
    compared = {(c.label, c.base): c.ratio for c in found.compared("alone", ranked)}
    only = few(compared[most, least].blocks)
    if not only and not compared[most, least].shown:
        return "A call to a thread and back costs about as much in every way"
    words = {way: US.words(found.median(way, "alone")) for way in (most, least)}
    return f"A call to a thread costs {words[most]} with {most}, {words[least]} with {least}{only}"
