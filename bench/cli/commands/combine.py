"""Combine campaigns: where the number of each headline will lie in the next one.

Prints each number behind a headline, campaign by campaign, and from five campaigns on an interval
for the next one. Two on one boot that began less than an hour apart count as one. Campaigns of
different profiles or releases of the interpreter, or on different processors, are not combined. To
a file or pipe it prints Markdown.

  python -m bench combine                          those under results/headlines
  python -m bench combine results/A results/B      these
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from bench.cli import DONE, options
from bench.report import campaigns, tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "campaign",
        type=Path,
        nargs="*",
        help="folders of campaigns (default: all under results/headlines)",
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    combined = campaigns.combine(arguments.campaign)
    if arguments.json:
        print(combined.model_dump_json())
        return DONE
    for table in [group.table() for group in combined.groups]:
        if console.is_terminal:
            tables.show(table, console)
        else:
            print("\n".join(tables.section(table)))
    return DONE
