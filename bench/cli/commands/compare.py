"""Compare two campaigns, or two records of costs, backend by backend.

Shows how their environments differ, then each backend in A and in B, the ratio with its 95 %
interval, and whether the verdicts on its ratio to the base agree, which can be compared even if the
machines differ. Exits with 1 if something got worse by more than the noise floor, or if a campaign
is incomplete, so you can use it in CI. Two records of "bench costs" are compared by what a page
takes: exits with 1 if a page takes more.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from bench import store
from bench.analysis.analysis import Analysis
from bench.cli import DONE, FAILED, options
from bench.costs import guard, record, report
from bench.report import comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", type=Path, metavar="A", help="the campaign to compare with")
    parser.add_argument("b", type=Path, metavar="B", help="the campaign to judge")
    parser.add_argument("--force", action="store_true", help="judge even if the machines differ")
    parser.add_argument(
        "--within", type=options.percent, default=100 * guard.WITHIN, metavar="PERCENT",
        help="costs only: how much more is still the same (default: %(default)g)",
    )  # fmt: skip
    options.add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    paths = (arguments.a, arguments.b)
    if all(map(record.is_costs, paths)) and not all(map(is_campaign, paths)):
        return compare_costs(arguments, console)
    first, second = (Analysis.load(store.trials_file(path)) for path in paths)
    found = comparison.compare(first, second, force=arguments.force)
    if arguments.json:
        print(json.dumps(asdict(found)))
    else:
        comparison.show(found, console)
    return FAILED if found.failed else DONE


def is_campaign(path: Path) -> bool:
    """Whether a path is a campaign. Its folder may hold counted costs beside the trials."""
    try:
        return store.trials_file(path).name in (store.FILE_NAME, store.PACKED)
    except store.StoreError:
        return False


def compare_costs(arguments: argparse.Namespace, console: Console) -> int:
    """Compare two records of costs."""
    old, new = record.load(arguments.a), record.load(arguments.b)
    gated = guard.compare(old, new, arguments.within / 100, force=arguments.force)
    if arguments.json:
        print(json.dumps(asdict(gated)))
    else:
        report.show_gate(gated, console)
    return FAILED if gated.failed else DONE
