"""What a call from a loop to a thread and back costs: the price of mixing models.

The same call in every way that libraries offer, one at a time and a hundred at once, each in a
fresh process (:mod:`bench.micro.hop_child`). One at a time it is measured on one processor and on
all. On all, a call may have to wake a sleeping processor, and in a virtual machine that can cost
more than the call: 79 µs in one campaign, 27 in the next. So the sentence is about one processor.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from itertools import combinations
from typing import Final

from bench.machine import cpu
from bench.micro import hop_child
from bench.schema import Record
from bench.show.measured import US, Measure, Measured
from bench.show.table import Table
from bench.study.record import Run, Study
from bench.study.report import by_repeat, contrast, of_run
from bench.study.runner import Process, Program, missing
from bench.text import capital

PROCESSES: Final = 2  # for each repeat on the command line
SUBMIT: Final = "submit"
WAYS: Final = {SUBMIT: "", **{way: library for way, (library, _) in hop_child.WAYS.items()}}
"""Ways to call, and the library that each needs."""
CALLS, AT_ONCE = 10_000, 100
"""Calls of a process, and tasks that share them when they call at once."""
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


class HopCosts(Record):
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


STUDY: Final[Study[HopCosts]] = Study("hops", "hops", HopCosts, "micro")


def programs(_: ExitStack) -> list[Program[HopCosts]]:
    return [Program(way, partial(hop, way), missing(library)) for way, library in WAYS.items()]


def hop(way: str, _: int) -> HopCosts:
    """One way in one repeat. Raises :class:`bench.study.runner.Lost` after a wrong result."""
    cores = cpu.split_cores().client
    return HopCosts(
        alone=ask(way, CALLS),
        one=ask(way, CALLS, cores=cores) if cores else None,
        many=None if way == SUBMIT else ask(way, CALLS // AT_ONCE, AT_ONCE),
    )


def ask(way: str, calls: int, at_once: int = 1, cores: list[int] | None = None) -> Call:
    """One process, on all processors or on these."""
    arguments = ["-m", hop_child.__name__, way, str(calls), str(at_once)]
    with Process(way, arguments, cores or []) as child:
        return Call(**child.ask())


def measured(run: Run[HopCosts]) -> Measured:
    return Measured(MEASURES, by_repeat(run.by_program(), HopCosts.values))


def tables(run: Run[HopCosts]) -> list[Table]:
    costs = measured(run)
    about = ". ".join(filter(None, [headline(costs), ABOUT]))
    return [of_run(run, costs, TITLE, about, "by")]


def headline(costs: Measured) -> str | None:
    """The way that costs most and the one that costs least, if they differ.

    On one processor; on all where nothing can be pinned.
    """
    key = ONE if costs.with_(ONE, WAYS) else ALL
    where = capital(costs.measures[key].title)
    ways = costs.with_(key, (way for way in costs.values if way != SUBMIT))
    return contrast(costs, key, combinations(ways, 2), f"{where}, a call to a thread costs", "with")
