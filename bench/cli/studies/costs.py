"""Count what a page costs: instructions and system calls.

Counts are the same on another machine with the same interpreter. A busy machine blurs only a few,
of backends that do more when a connection is late. They are not speed: docs/costs.md says what
they leave out. Needs valgrind and strace; says what it leaves out without one.

  python -m bench study costs                        the four models and the main variants
  python -m bench study costs --backends callbacks --workload fetch --count instructions
  python -m bench study costs --redraw               rebuild tables and chart from the record
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from functools import partial

from rich.console import Console

from bench.cli import options
from bench.cli.studies import measured
from bench.costs import measure, report
from bench.costs.measure import WORKLOADS
from bench.costs.report import STUDY, Counted
from bench.filesystem import scratch
from bench.launch import RESULTS
from bench.machine import instruments
from bench.study.runner import Program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.study(parser, "costs", repeats=3)
    parser.set_defaults(out=None)
    value, everyone = partial(options.value, parser.add_argument), ",".join(report.CHOSEN)
    words = "only these backends, or all"
    value("--backends", options.names, "A,B", words, report.CHOSEN, everyone)
    parser.add_argument("--workload", choices=WORKLOADS, help="only this one")
    parser.add_argument("--count", choices=instruments.NAMES, help="only these")
    value("--pages", options.positive, "N", "pages of the smaller of two crawls", 500)
    value("--slots", options.positive, "N", "slots of a crawl", 100)


def run(arguments: argparse.Namespace, console: Console) -> int:
    whole = arguments.backends in (report.CHOSEN, ["all"])
    part = arguments.workload or arguments.count or not whole
    wanted = None if arguments.backends == ["all"] else list(arguments.backends)
    names = (arguments.workload,) if arguments.workload else tuple(WORKLOADS)
    tools = instruments.find([arguments.count] if arguments.count else instruments.NAMES)
    settings = {"pages": arguments.pages, "slots": arguments.slots}
    settings |= {tool.name: tool.tool for tool in tools if not tool.missing}
    with ExitStack() as stack:

        def programs() -> list[Program[Counted]]:
            lane = measure.Lane(arguments.pages, arguments.slots, stack)
            return list(measure.programs(lane, wanted, names, tools))

        if part and not (arguments.out or arguments.redraw):
            # A part takes no place of the whole.
            arguments.out = stack.enter_context(scratch())
        arguments.out = arguments.out or RESULTS / "costs"
        return measured(STUDY, programs, report.report, arguments, console, settings)
