"""Make the slides of a talk from a campaign, with notes.

Writes one self-contained HTML file, talk.html, which needs no network. A slide is left out where
the campaign has no records for it, and the command says why. In a browser, → and ← turn the slides,
N shows the notes, S opens a window for the speaker, ? lists all keys. Print it to get a PDF with
one slide per page. Nothing is measured; only the four models raise one error each, for the slide
about tracebacks.

  python -m bench talk results/CAMPAIGN                          your numbers, beside your records
  python -m bench talk results/CAMPAIGN --fleet results/FLEET    with a slide about the fleet
  python -m bench talk results/reference --out /tmp/talk --page docs/talk.md
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from bench import filesystem, store
from bench.cli import options
from bench.cli.exits import DONE
from bench.talk import document, slideshow
from bench.talk.material import Material
from bench.talk.story import tell

NAME = "talk.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_campaign(parser)
    parser.add_argument(
        "--fleet", type=Path, metavar="FLEET", help="the folder of a fleet, for one slide"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where to write talk.html (default: the campaign's)"
    )
    parser.add_argument(
        "--page", type=Path, metavar="FILE",
        help="write the talk as Markdown to this file; without --out, no talk.html",
    )  # fmt: skip


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    folder = store.trials_file(arguments.campaign).parent
    talk = tell(Material.load(arguments.campaign, arguments.fleet))
    if arguments.page is not None:
        filesystem.write_text(
            arguments.page, document.markdown(talk, folder, arguments.fleet, arguments.page)
        )
        console.print(f"page: {arguments.page}", soft_wrap=True)
    if arguments.out is not None or arguments.page is None:
        file = (arguments.out or folder) / NAME
        filesystem.make_folder(file.parent)
        filesystem.write_text(file, slideshow.html(talk))
        console.print(f"slides: {file}", soft_wrap=True)
    for gap in talk.gaps:
        console.print(slideshow.missing(gap), soft_wrap=True, markup=False)
    return DONE
