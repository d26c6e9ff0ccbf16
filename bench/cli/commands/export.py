"""Write a campaign's trials as one flat table, in CSV.

One row per trial, void ones too. On a terminal, control characters are shown as escapes.
docs/exporting.md has an example.

  python -m bench export results/A > trials.csv
  python -m bench export results/A --out trials.csv
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from bench import filesystem, store
from bench.cli import DONE, options
from bench.report import export
from bench.text import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_campaign(parser, usual="")
    words = "write to this file"
    options.value(parser.add_argument, "--out", Path, "FILE", words, shown="standard output")


def run(arguments: argparse.Namespace, console: Console) -> int:
    records = store.load(store.trials_file(arguments.campaign))
    text = export.to_csv(records)
    if arguments.out is not None:
        filesystem.write_text(arguments.out, text)
    else:
        # Reasons may hold escape sequences. A file or pipe gets them unchanged.
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
    return DONE
