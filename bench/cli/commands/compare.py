"""Compare two campaigns, backend by backend.

Shows how their environments differ, and each backend in A and in B with ratio and interval. If the
machines differ, only verdicts against the base can be compared: it says which agree. Exits with 1
if something got worse by more than the noise floor, or if a campaign is incomplete.

Times depend on the hour. Of 17 pairs of successive campaigns of the same code, 8 differed by more,
and 3 exited with 1, while 492 of 498 verdicts against the base agreed and none was opposite.

  python -m bench compare results/BEFORE results/AFTER
  python -m bench compare results/reference 20261121-051200-1a2b3c --json
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from bench import store
from bench.cli import DONE, FAILED, options
from bench.questions import analysis_in
from bench.report import comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = "the campaign to compare with: a folder under results/, or a trials.jsonl"
    parser.add_argument("a", type=Path, metavar="A", help=words)
    parser.add_argument("b", type=Path, metavar="B", help="the campaign to judge")
    parser.add_argument("--force", action="store_true", help="judge even if the machines differ")
    options.add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    paths = (arguments.a, arguments.b)
    first, second = (analysis_in(store.trials_file(path)) for path in paths)
    compared = comparison.compare(first, second, force=arguments.force)
    if arguments.json:
        print(json.dumps(asdict(compared)))
    else:
        comparison.show(compared, console)
    return FAILED if compared.failed else DONE
