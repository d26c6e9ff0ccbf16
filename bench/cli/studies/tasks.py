"""Measure what waits without a connection: memory, and how long it takes to spawn, switch, cancel.

Holds up to 100,000 tasks of each library, and up to 10,000 threads, each number in a process of
its own.

  python -m bench study tasks                      takes under half an hour
  python -m bench study tasks --redraw             rebuild tables and chart from the record in DIR
"""

from __future__ import annotations

import argparse

from rich.console import Console

from bench.cli import options
from bench.cli.studies import measured
from bench.tasks.study import STUDY, programs, report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.study(parser, STUDY.name, repeats=3)


def run(arguments: argparse.Namespace, console: Console) -> int:
    return measured(STUDY, programs, report, arguments, console)
