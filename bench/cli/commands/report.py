"""Rebuild the report, every chart and every table of a campaign.

Needs only the campaign's trials.jsonl, and works on any machine. report.html is self-contained:
findings, tables, charts and caveats in one file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from bench import store
from bench.capacity.report import ADVICE
from bench.claims.ledger import CLAIMS
from bench.cli import DONE, options
from bench.report import page

EXTENSIONS = (ADVICE, CLAIMS)
"""The parts of a report from other rooms."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_campaign(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: beside the records")
    parser.add_argument(
        "--everything", action="store_true",
        help="charts also as PDF, and dark ones as PNG: takes a minute longer",
    )  # fmt: skip


def run(arguments: argparse.Namespace, console: Console) -> int:
    file = store.usual(arguments.campaign) or store.trials_file(store.REFERENCE)
    records = store.load(file)
    if records.torn_bytes:
        console.print(f"note: ignored an incomplete last record ({records.torn_bytes} bytes)")
    if not records.trials:
        raise store.StoreError(f"{file}: no trial was recorded, so there is nothing to report")
    folder = arguments.out or file.parent
    page.write(records, folder, console, file, EXTENSIONS, everything=arguments.everything)
    return DONE
