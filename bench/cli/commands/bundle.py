"""Make one archive of a campaign, or verify one.

The tar file holds the records, and charts, report, tables and checksums rebuilt from them: the
same records give the same bytes. Another release of matplotlib may draw other bytes; the
records decide.

  python -m bench bundle results/A                  writes c10k-CAMPAIGN.tar
  python -m bench bundle --verify FILE              do its checksums match?
  python -m bench bundle --verify FILE --rebuild    and do its records give the same files?
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from bench import store
from bench.cli.exits import DONE, FAILED
from bench.cli.publishing import EXTENSIONS
from bench.report import archive


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "campaign", type=Path, help="a folder under results/; with --verify, an archive"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: in the current folder")
    parser.add_argument("--verify", action="store_true", help="check an archive")
    parser.add_argument(
        "--rebuild", action="store_true",
        help="with --verify: also rebuild its files and compare them",
    )  # fmt: skip


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    if arguments.verify:
        return verify(arguments.campaign, console, rebuild=arguments.rebuild)
    if arguments.rebuild:
        raise archive.BundleError("--rebuild goes with --verify")
    records_file = store.trials_file(arguments.campaign)
    campaign = store.load(records_file).campaign.campaign
    file = arguments.out or Path(f"c10k-{Path(campaign).name}.tar")
    count = archive.write(records_file, file, EXTENSIONS)
    console.print(f"{file}: {count} files")
    return DONE


def verify(file: Path, console: Console, *, rebuild: bool) -> int:
    """Check an archive's checksums and, if asked, that its records give the same files."""
    faults = archive.faults(file)
    if rebuild and not faults:
        changed = archive.differences(file, EXTENSIONS)
        faults = [f"{name}: rebuilding gives other bytes" for name in changed]
    for fault in faults:
        console.print(fault)
    if faults:
        return FAILED
    also = ", and rebuilding gives the same files" if rebuild else ""
    console.print(f"{file}: all checksums match{also}")
    return DONE
