"""Check that a campaign is complete and correct: records, charts, report.

Every trial must have fetched the pages of its site, each once. ``--records`` checks the records
alone, as for a campaign in results/contributed.

Prints one line for each fault, and exits with 1 if there is one. A few failed trials, up to one
in a hundred, are only noted: their reasons are in the records.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from bench import store
from bench.cli import DONE, FAILED
from bench.report import files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("campaign", type=Path, nargs="+", help="a folder under results/")
    parser.add_argument(
        "--records", action="store_true", help="only the records: a folder without charts and page"
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    code = DONE
    for campaign in arguments.campaign:
        checked = files.check(store.trials_file(campaign).parent, drawn=not arguments.records)
        for note in checked.notes:
            console.print(f"{campaign.name}: note: {note}", soft_wrap=True)
        for fault in checked.faults or ["complete"]:
            console.print(f"{campaign.name}: {fault}", soft_wrap=True)
        code = FAILED if checked.faults else code
    return code
