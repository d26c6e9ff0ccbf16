"""Measure waiting tasks, start-up, calls to a thread, and pools.

Holds up to 100,000 tasks of each library, and up to 10,000 threads, each number in a process of
its own: memory of one, and what it takes to spawn, switch and cancel it. Then it imports each
backend in fresh processes. Then a loop calls a thread, in every way that libraries offer. At last
10,000 pages come over 100 connections, limited by a semaphore, by workers, or by the client itself.

  python -m bench study micro                      takes under half an hour
  python -m bench study micro --only tasks         a part: tasks, startup, hops, pool
  python -m bench study micro --redraw             rebuild tables and charts from the records in DIR
"""

from __future__ import annotations

import argparse

from rich.console import Console

from bench.cli import options
from bench.cli.studies import exit_code
from bench.micro.parts import PARTS, last, measure, report
from bench.study.record import StudyError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.study(parser, "micro", repeats=3)
    words = f"measure only these: {', '.join(PARTS)}"
    options.value(parser.add_argument, "--only", options.names, "A,B", words)


def run(arguments: argparse.Namespace, console: Console) -> int:
    names, out = arguments.only or list(PARTS), arguments.out
    if unknown := set(names) - set(PARTS):
        raise StudyError(f"no part {sorted(unknown)[0]!r}: choose from {', '.join(PARTS)}")
    whole = arguments.redraw or measure(
        names, out, arguments.repeats, console, resume=arguments.resume
    )
    runs = last(out)
    report(runs).write(out, console)
    return exit_code((run for part, run in runs if part.STUDY.name in names), whole=whole)
