"""Raise the same parse error in each model and compare what remains of the stack.

Each of the four models crawls two pages in a fresh process, and one page is broken. Takes two
seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from bench import filesystem
from bench.cli.exits import DONE
from bench.exhibits import exhibit, stack_ripping


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the Markdown there, not to standard output"
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    page = exhibit.markdown(stack_ripping.rip_all())
    if arguments.out is None:
        print(page, end="")
    else:
        filesystem.write_text(arguments.out, page)
        console.print(f"page: {arguments.out}")
    return DONE
