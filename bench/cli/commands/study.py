"""Measure or show a study: what a campaign is too large for, or too small.

A study runs its programs in fresh processes, in rounds, and keeps each result in DIR/NAME.jsonl.
Tables and charts come from that file alone. micro, costs and fleet share these options; the
claims read a campaign, and the interpreters are one, with a campaign's options:

  --repeats N    rounds: every program runs once in each
  --out DIR      the folder of the record, its tables and charts
  --resume       after Ctrl-C or a crash: take what is missing
  --redraw       measure nothing, only rebuild tables and charts from the record

  python -m bench study micro                   tasks, imports, calls to a thread, pools
  python -m bench study costs                   instructions and system calls of a page
  python -m bench study claims --measure        well-known claims, then and now
  python -m bench study fleet --connections 1000000    hold a million connections
  python -m bench study interpreters            the models on every CPython here
  python -m bench study micro --help            the options of one, with examples
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console

from bench.cli import command, studies
from bench.cli.command import Parser


class StudyParser(Parser):
    """The parser of one study, which imports the study only when it is asked for."""

    study = ""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        command.load(self.study, studies).add_arguments(self)
        return super().parse_known_args(args, namespace)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="study", required=True, metavar="NAME", title="studies", parser_class=StudyParser
    )
    for name in command.names(studies):
        text = command.description(name, studies)
        made = actions.add_parser(
            name,
            help=command.summary(text),
            description=text,
            epilog=command.EXITS,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.study = name


def run(arguments: argparse.Namespace, console: Console) -> int:
    return command.load(arguments.study, studies).run(arguments, console)
