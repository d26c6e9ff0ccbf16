"""Write a campaign's trials as one flat table.

One row per trial, void ones too. On a terminal, control characters are shown as escapes.
docs/exporting.md has an example.

  python -m bench export results/A > trials.csv
  python -m bench export results/A --format parquet --out trials.parquet
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from bench import store
from bench.cli import DONE, options
from bench.report import export
from bench.text import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_campaign(parser, usual=False)
    parser.add_argument("--format", choices=export.KINDS, default="csv", help="default: csv")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")


def run(arguments: argparse.Namespace, console: Console) -> int:
    records = store.load(store.trials_file(arguments.campaign))
    if arguments.out is not None:
        export.write(records, arguments.out, arguments.format)
    elif arguments.format == "parquet":
        raise export.ExportError("Parquet is a binary format: name a file with --out FILE")
    else:
        text = export.to_csv(records) if arguments.format == "csv" else export.to_json(records)
        # Reasons may hold escape sequences. A file or pipe gets them unchanged.
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
    return DONE
