"""Compare two campaigns, backend by backend.

Shows how their environments differ, then B divided by A with 95 % intervals. Exits with 1 if
something got worse by more than the noise floor, or if a campaign is incomplete, so you can use
it in CI.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from bench import store
from bench.analysis import compare
from bench.cli import options
from bench.cli.exits import DONE, FAILED
from bench.report import comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("a", type=Path, metavar="A", help="the campaign to compare with")
    parser.add_argument("b", type=Path, metavar="B", help="the campaign to judge")
    parser.add_argument("--force", action="store_true", help="compare even if the machines differ")
    options.add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    first, second = (store.load(path) for path in (arguments.a, arguments.b))
    found = compare.compare(first, second, force=arguments.force)
    if arguments.json:
        print(json.dumps(asdict(found)))
    else:
        comparison.show(found, console)
    return FAILED if found.failed else DONE
