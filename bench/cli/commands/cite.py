"""Print how to cite a campaign.

One sentence and a BibTeX entry, with the campaign's id and the checksum of its records.
"""

from __future__ import annotations

import argparse

from rich.console import Console

from bench import store
from bench.cli import options
from bench.cli.exits import DONE
from bench.report import cite
from bench.text import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_campaign(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    file = store.trials_file(arguments.campaign)
    campaign, sha256 = store.load(file).campaign, cite.checksum(file)
    print(printable(f"{cite.text(campaign, sha256)}\n\n{cite.bibtex(campaign, sha256)}"), end="")
    return DONE
