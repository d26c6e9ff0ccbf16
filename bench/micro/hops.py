"""What a call from a loop to a thread and back costs: the price of mixing models.

The same call in every way that libraries offer, one at a time and a hundred at once, each in a
fresh process (:mod:`bench.micro.hop_child`). One at a time it is measured on one processor and on
all. On all, a call may have to wake a sleeping processor, and in a virtual machine that can cost
more than the call: 79 µs in one campaign, 27 in the next. So the sentence is about one processor.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final, Self

from pydantic import Field
from rich.console import Console

from bench.machine import cpu
from bench.micro.study import Process, Study, by_repeat, contrast, head, in_turn, missing
from bench.schema import Record
from bench.show.measured import US, Measure, Measured
from bench.show.table import Table
from bench.text import capital

SUBMIT: Final = "submit"
WAYS: Final = {
    SUBMIT: "",
    "call_soon_threadsafe": "",
    "run_in_executor": "",
    "to_thread": "",
    "to_thread on uvloop": "uvloop",
    "trio": "trio",
    "anyio": "anyio",
}
"""Ways to call, and the library that each needs."""
CALLS, AT_ONCE = 10_000, 100
"""Calls of a process, and tasks that share them when they call at once."""
CHILD: Final = "bench.micro.hop_child"

TITLE: Final = "A call from a loop to a thread and back"
ONE, ALL = "one", "alone"
MEASURES: Final = {
    ONE: Measure("on one processor", "a call to a thread and back, processor time", US),
    ALL: Measure("on all processors", "… on all processors, processor time", US),
    "wall": Measure("until it is back", "… until it is back", US),
    "many": Measure("100 at once", "… a hundred at once, processor time", US),
}
ABOUT: Final = (
    "Processor time of the process for one call, all threads, where one task calls and waits: on "
    "one processor, and on all, where waking a sleeping one is part of it and differs between "
    "machines. On all: the time until that call is back, and processor time where a hundred tasks "
    "call at once. The work is one addition. submit has no loop: a thread waits for the result. "
    "Each way has the threads that its library starts by default; call_soon_threadsafe is written "
    "by hand, with one thread and one queue, and cancels nothing. Medians over fresh processes and "
    "their range. To measure it: python -m bench study micro --only hops."
)


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

    def values(self) -> dict[str, float | None]:
        return {
            ONE: 1e6 * self.one.cpu_s if self.one else None,
            ALL: 1e6 * self.alone.cpu_s,
            "wall": 1e6 * self.alone.wall_s,
            "many": 1e6 * self.many.cpu_s if self.many else None,
        }


class HopsRecord(Study):
    NAME = WHAT = "hops"

    hops: dict[str, list[Hop]]
    absent: dict[str, str] = Field(default_factory=dict)  # way -> why it cannot be measured

    @classmethod
    def measure(cls, repeats: int, console: Console) -> Self:
        """Measure all ways. A process fails after a wrong result."""
        absent = {way: why for way, library in WAYS.items() if (why := missing(library))}
        cores = cpu.split_cores().client

        def hop(way: str) -> Hop:
            return Hop(
                alone=ask(way, CALLS),
                one=ask(way, CALLS, cores=cores) if cores else None,
                many=None if way == SUBMIT else ask(way, CALLS // AT_ONCE, AT_ONCE),
            )

        usable = [way for way in WAYS if way not in absent]
        hops = in_turn(cls.WHAT, usable, repeats, console, hop)
        return cls(**head(), hops=hops, absent=absent)

    def measured(self) -> Measured:
        return Measured(MEASURES, by_repeat(self.hops, Hop.values))

    def tables(self) -> list[Table]:
        found = self.measured()
        about = ". ".join(filter(None, [headline(found), ABOUT]))
        notes = [f"{way}: {why}" for way, why in self.absent.items()]
        return [self.table(found, TITLE, about, "by", notes)]


def ask(way: str, calls: int, at_once: int = 1, cores: list[int] | None = None) -> Call:
    """One process, on all processors or on these."""
    with Process(way, ["-m", CHILD, way, str(calls), str(at_once)], cores or []) as child:
        return Call(**child.ask())


def headline(found: Measured) -> str | None:
    """The way that costs most and the one that costs least, if they differ.

    On one processor; on all where nothing can be pinned.
    """
    key = ONE if found.with_(ONE, WAYS) else ALL
    where = capital(found.measures[key].title)
    ways = found.with_(key, (way for way in found.values if way != SUBMIT))
    return contrast(found, key, combinations(ways, 2), f"{where}, a call to a thread costs", "with")
