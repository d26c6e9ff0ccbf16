"""Summarize in a few sentences what a campaign found.

Prints Markdown, made from trials.jsonl alone: of the campaign that you name, or the newest, or the
reference. With --into, updates instead the findings, the gallery of charts and what the A/A pairs
show, whichever have marks in a document:

  python -m bench findings results/reference --into docs/reading-the-charts.md
  python -m bench findings results/reference --into docs/notebook/method-studies.md
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
from bench.cli import DONE, options, reference
from bench.report import files, findings, readme


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_campaign(parser)
    parser.add_argument("--into", type=Path, metavar="FILE", help="update this document instead")


def run(arguments: argparse.Namespace, console: Console) -> int:
    file = store.usual(arguments.campaign)
    if file is None and arguments.into is None:
        kept = reference.carried()
        print(text.printable(findings.listed(kept.findings.values(), kept.source)))
        return DONE
    file = file or store.trials_file(store.REFERENCE)
    analysis = Analysis.load(file)
    sentences = findings.markdown(analysis)
    if arguments.into is None:
        print(text.printable(sentences))
        return DONE
    document, charts = arguments.into, file.parent / files.CHARTS
    address = Path(os.path.relpath(charts, document.parent)).as_posix()
    blocks: dict[str, Callable[[], str]] = {
        findings.NAME: lambda: sentences,
        readme.NAME: lambda: readme.markdown(analysis, address, charts),
        readme.DOUBTS: lambda: readme.doubts(analysis),
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
