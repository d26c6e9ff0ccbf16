"""Show the four model files side by side, as slides.

Writes one self-contained HTML file with a slide for each section, in the largest type that its
code allows. The lines where a model waits are marked. Print it to get a PDF with one slide per
page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from bench import filesystem
from bench.cli.exits import DONE
from bench.exhibits import sidebyside, stack_ripping


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--out", type=Path, metavar="FILE", default=Path("side-by-side.html"),
        help="default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="also write the list of sections, as Markdown"
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    filesystem.write_text(arguments.out, sidebyside.html(stack_ripping.rip_all()))
    console.print(f"slides: {arguments.out}", soft_wrap=True)
    if arguments.page is not None:
        filesystem.write_text(arguments.page, sidebyside.page())
        console.print(f"page: {arguments.page}", soft_wrap=True)
    return DONE
