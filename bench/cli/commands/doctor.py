"""Check this machine for anything that would skew the results, and suggest fixes.

Checks for what the quick profile needs, unless you name other numbers. Exits with 1 if the
workload cannot run here.

  python -m bench doctor
  python -m bench doctor --connections 50000 --threads 0
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from rich.console import Console

from bench.cli import DONE, FAILED
from bench.cli.options import add_json
from bench.machine import doctor


def number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number, 0 or more, not {text!r}")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    most = doctor.QUICK_CONNECTIONS
    parser.add_argument(
        "--connections", type=number, default=most, metavar="N", help=f"default: {most:,}"
    )
    parser.add_argument("--threads", type=number, metavar="N", help="default: one per connection")
    add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    connections = arguments.connections
    threads = connections if arguments.threads is None else arguments.threads
    results = doctor.examine(doctor.Needs(connections, threads))
    if arguments.json:
        print(json.dumps([asdict(result) for result in results], indent=2, ensure_ascii=False))
    else:
        doctor.show(results)
    return FAILED if any(result.level == "refusal" for result in results) else DONE
