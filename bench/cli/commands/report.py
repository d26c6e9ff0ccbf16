"""Rebuild the report, every chart and every table of a campaign, or check them.

Needs only the campaign's trials.jsonl, and works on any machine. report.html is self-contained:
findings, tables, charts and caveats in one file.

  python -m bench report results/CAMPAIGN
  python -m bench report results/CAMPAIGN --out /tmp/report --base async_await
  python -m bench report --check results/CAMPAIGN      is everything there, and correct?
  python -m bench report --check --records results/contributed/CAMPAIGN

--check rebuilds nothing. It prints one line for each fault, and exits with 1 if there is one: every
trial must have fetched the pages of its site, each once. A few failed trials, up to one in a
hundred, are only noted: their reasons are in the records.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from bench import BenchError, store
from bench.cli import DONE, FAILED, options
from bench.plan import backends
from bench.report import files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_campaign(parser)
    words = "write to this folder"
    options.value(parser.add_argument, "--out", Path, "DIR", words, shown="beside the records")
    parser.add_argument("--base", metavar="NAME", help="take all ratios to this backend instead")
    options.add_verbose(parser)
    parser.add_argument("--check", action="store_true", help="check what is there instead")
    parser.add_argument(
        "--records", action="store_true", help="with --check: only the records, without charts"
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    if arguments.records and not arguments.check:
        raise BenchError("--records goes with --check")
    file = store.usual(arguments.campaign)
    if arguments.check:
        return check(file.parent, console, drawn=not arguments.records)
    from bench.claims import ledger
    from bench.report import page

    records = store.load(file)
    if records.torn_bytes:
        console.print(f"note: ignored an incomplete last record ({records.torn_bytes} bytes)")
    if not records.trials:
        raise store.StoreError(f"{file}: no trial was recorded, so there is nothing to report")
    if arguments.base is not None:
        records.campaign = backends.rebased(records.campaign, arguments.base)
    folder = arguments.out or file.parent
    page.write(records, folder, console, file, ledger.sections, verbose=arguments.verbose)
    return DONE


def check(folder: Path, console: Console, *, drawn: bool) -> int:
    """Print what is wrong with a campaign's folder; returns the exit code."""
    checked = files.check(folder, drawn=drawn)
    for note in checked.notes:
        console.print(f"{folder.name}: note: {note}", soft_wrap=True)
    for fault in checked.faults or ["complete"]:
        console.print(f"{folder.name}: {fault}", soft_wrap=True)
    return FAILED if checked.faults else DONE
