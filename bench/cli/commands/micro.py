"""Time single operations, count them, and add them up to a page.

Runs bench/micro with pytest-benchmark, counts each model's operations per page in a crawl under
a profile hook, and measures pages in ordinary trials. Then shows how much of each page's
processor time the counted operations explain.

  python -m bench micro                      takes about two minutes
  python -m bench micro --redraw             rebuild table and chart from DIR/micro.json
"""

from __future__ import annotations

import argparse
import json
from dataclasses import fields
from pathlib import Path

from rich.console import Console

from bench.cli.exits import DONE, FAILED
from bench.cli.options import add_json, blocks, names, positive, seed
from bench.launch import RESULTS
from bench.micro import account, measure, report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--out", type=Path, default=RESULTS / "micro", metavar="DIR",
        help="folder for record, table and charts (default: results/micro)",
    )  # fmt: skip
    parser.add_argument("--redraw", action="store_true", help="only read DIR/micro.json")
    parser.add_argument(
        "--backends", type=names, metavar="A,B", help="only these (default: the four models)"
    )
    for name, kind, default, text in (
        ("--pages", positive, 5000, "pages of the site"),
        ("--slots", positive, 100, "slots of a trial"),
        ("--blocks", blocks, 5, "trials of each backend"),
        ("--rounds", blocks, 100, "batches of each micro-benchmark"),
    ):
        parser.add_argument(
            name, type=kind, default=default, metavar="N", help=f"{text} (default: {default})"
        )
    parser.add_argument(
        "--seed", type=seed, help="decides the order of trials (default: random; it is recorded)"
    )
    add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    if arguments.redraw:
        record = account.load(arguments.out)
    else:
        chosen = {
            field.name: getattr(arguments, field.name) for field in fields(measure.MicroOptions)
        }
        record = measure.run(measure.MicroOptions(**chosen), console)
    report.write(record, arguments.out, console)
    console.print(f"record, summary and charts: {arguments.out}")
    if arguments.json:
        print(json.dumps({each.backend: each.share for each in account.accounts(record)}))
    void = [reason for model in record.models.values() for reason in model.void]
    for reason in void:
        console.print(f"a trial does not count: {reason}")
    return FAILED if void else DONE
