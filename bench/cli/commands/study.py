"""Measure or show a study: what a campaign is too large for, or too small.

A study runs its programs in fresh processes, in rounds, and keeps each result in DIR/NAME.jsonl.
Tables and charts come from that file alone. tasks, costs and fleet share these options; the
claims read a campaign, and the interpreters are one, with a campaign's options:

  --repeats N    rounds: every program runs once in each
  --out DIR      the folder of the record, its tables and charts
  --resume       after Ctrl-C or a crash: take what is missing
  --redraw       measure nothing, only rebuild tables and charts from the record

  python -m bench study tasks                   memory of coroutines, tasks, greenlets, threads
  python -m bench study costs                   instructions and system calls of a page
  python -m bench study claims --measure        well-known claims, then and now
  python -m bench study fleet --connections 1000000    hold a million connections
  python -m bench study interpreters            the models on every CPython here
  python -m bench study tasks --help            the options of one, with examples
"""

from __future__ import annotations

import argparse

from rich.console import Console

from bench.cli import command, studies


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command.add_commands(parser, studies, dest="study", metavar="NAME", title="studies")


def run(arguments: argparse.Namespace, console: Console) -> int:
    return command.load(arguments.study, studies).run(arguments, console)
