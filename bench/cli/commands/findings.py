"""Summarize in a few sentences what a campaign found.

Prints Markdown, made from trials.jsonl alone. With --into, updates instead the findings, their
headlines, the gallery of charts and what the A/A pairs show, whichever have marks in a document:

  python -m bench findings results/reference --into README.md
  python -m bench findings results/reference --into docs/findings.md
  python -m bench findings results/reference --into docs/reading-the-charts.md
  python -m bench findings results/reference --into docs/method.md
  python -m bench findings results/interpreters --into docs/interpreters.md
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bench import filesystem, store, text
from bench.analysis.analysis import Analysis
from bench.cli import options
from bench.cli.exits import DONE
from bench.report import files, findings, readme


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_campaign(parser)
    parser.add_argument("--into", type=Path, metavar="FILE", help="update this document instead")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    file = store.trials_file(arguments.campaign)
    analysis = Analysis.load(file)
    sentences = findings.markdown(analysis)
    if arguments.into is None:
        print(text.printable(sentences))
        return DONE
    document, charts = arguments.into, file.parent / files.CHARTS
    address = Path(os.path.relpath(charts, document.parent)).as_posix()
    blocks: dict[str, Callable[[], str]] = {
        findings.NAME: lambda: sentences,
        findings.HEADLINES: lambda: findings.headlines(analysis),
        readme.NAME: lambda: readme.markdown(analysis, address, charts),
        readme.DOUBTS: lambda: readme.doubts(analysis, address, charts),
    }
    try:
        filled = filesystem.read_text(document)
        wanted = [name for name in blocks if text.marks(name)[0] in filled]
        for name in wanted or [findings.NAME]:
            filled = text.with_block(filled, name, blocks[name]())
    except ValueError as error:
        raise store.StoreError(f"{document}: cannot update it: {error}") from None
    filesystem.write_text(document, filled)
    return DONE
