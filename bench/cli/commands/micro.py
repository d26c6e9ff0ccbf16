"""Time single operations: a task switch, a lock, a send.

Runs bench/micro with pytest-benchmark, twice, and keeps the price of each operation.

  python -m bench micro                      takes about a minute
  python -m bench micro --redraw             rebuild the table from DIR/micro.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console

from bench.cli.exits import DONE
from bench.cli.options import add_json, blocks, positive
from bench.launch import RESULTS
from bench.micro import measure, record, report
from bench.micro.measure import MicroOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--out", type=Path, default=RESULTS / "micro", metavar="DIR",
        help="folder for record and table (default: results/micro)",
    )  # fmt: skip
    parser.add_argument("--redraw", action="store_true", help="only read DIR/micro.json")
    parser.add_argument(
        "--pages", type=positive, default=5000, metavar="N",
        help="pages of the site that the shared parts read (default: 5000)",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=blocks, default=100, metavar="N",
        help="batches of each micro-benchmark (default: 100)",
    )  # fmt: skip
    add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    if arguments.redraw:
        found = record.load(arguments.out)
    else:
        options = MicroOptions(arguments.out, arguments.pages, arguments.rounds)
        found = measure.run(options, console)
    report.write(found, arguments.out, console)
    console.print(f"record and summary: {arguments.out}")
    if arguments.json:
        print(json.dumps({name: price.median_us for name, price in found.prices.items()}))
    return DONE
