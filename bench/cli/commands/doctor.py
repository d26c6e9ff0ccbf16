"""Check this machine for anything that would skew the results, and suggest fixes.

Checks for what the quick profile needs, unless you name other numbers. Exits with 1 if the
workload cannot run here.

  python -m bench doctor
  python -m bench doctor --connections 50000 --threads 0      for backends without threads
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from functools import partial

from rich.console import Console

from bench.cli import DONE, FAILED, options
from bench.machine import doctor

counted = options.number(int, 0, 10**9, "a whole number, 0 or more, at most 1,000,000,000")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    value, most = partial(options.value, parser.add_argument), doctor.QUICK_CONNECTIONS
    value("--connections", counted, "N", "to be held open at once", most, f"{most:,}")
    value("--threads", counted, "N", "to run at once", shown="one for each connection")
    options.add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    connections = arguments.connections
    threads = connections if arguments.threads is None else arguments.threads
    results = doctor.examine(doctor.Needs(connections, threads))
    if arguments.json:
        print(json.dumps([asdict(result) for result in results], indent=2, ensure_ascii=False))
    else:
        doctor.show(results)
    return FAILED if any(result.level == "refusal" for result in results) else DONE
