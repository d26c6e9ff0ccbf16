"""Make the slides of a talk from a campaign, with notes.

Writes one self-contained HTML file, talk.html, which needs no network. A slide is left out where
the campaign has no records for it, and the command says why. In a browser, → and ← turn the slides,
N shows the notes, S opens a window for the speaker, ? lists all keys. Print it to get a PDF with
one slide per page. Nothing is measured.

  python -m bench talk                                           your newest, or the reference
  python -m bench talk results/CAMPAIGN                          beside its records
  python -m bench talk results/CAMPAIGN --fleet results/FLEET    with a slide about the fleet
  python -m bench talk results/reference --out /tmp/talk --page talk.md
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from rich.console import Console

from bench import filesystem, store
from bench.cli import DONE, options
from bench.launch import shown
from bench.talk import slides
from bench.talk.slides import Material

NAME = "talk.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_campaign(parser)
    value = partial(options.value, parser.add_argument)
    value("--fleet", Path, "FLEET", "the folder of a fleet, for one slide")
    value("--out", Path, "DIR", "write talk.html to this folder", shown="the campaign's")
    words = "write the talk as Markdown to this file; without --out, no talk.html"
    value("--page", Path, "FILE", words)


def run(arguments: argparse.Namespace, console: Console) -> int:
    fleet, page = arguments.fleet, arguments.page
    material = Material.load(store.usual(arguments.campaign), fleet)
    talk = slides.tell(material, command(material.folder, fleet, page))
    if page is not None:
        filesystem.write_text(page, slides.document(talk, page))
        console.print(f"page: {page}", soft_wrap=True)
    if arguments.out is not None or page is None:
        file = (arguments.out or material.folder) / NAME
        filesystem.make_folder(file.parent)
        filesystem.write_text(file, slides.html(talk))
        console.print(f"slides: {file}", soft_wrap=True)
    for gap in material.gaps:
        text = f"“{gap.kicker}” is left out: {gap.reason}."
        console.print(text, soft_wrap=True, markup=False)
    return DONE


def command(folder: Path, fleet: Path | None, page: Path | None) -> str:
    """The command that makes a page, from the root of the repository."""
    words = ["python -m bench talk", f"results/{folder.name}"]
    words += [f"--fleet results/{fleet.name}"] if fleet else []
    words += [f"--page {shown(page)}"] if page else []
    return " ".join(words)
