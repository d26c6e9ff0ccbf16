"""Print how to cite a campaign, or quote its findings.

One sentence and a BibTeX entry, with the campaign's id and the checksum of its records. With
--finding, the sentence that a speaker quotes: the number, its interval, machine and interpreter.

  python -m bench cite                                     the newest campaign, or the reference
  python -m bench cite --finding tls-memory                one of its findings
  python -m bench cite results/reference --finding list    the names of all
  python -m bench cite results/reference --finding all     all, with cause and command, as Markdown
"""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from bench import BenchError, store
from bench.cli import DONE, options
from bench.questions import analysis_of
from bench.report import cite, findings
from bench.text import printable

ALL, LIST = "all", "list"


class UnknownFindingError(BenchError):
    """A campaign has no finding of this name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_campaign(parser)
    words = f"quote this finding; {LIST} names all of them, {ALL} prints them in full"
    parser.add_argument("--finding", metavar="NAME", help=words)


def run(arguments: argparse.Namespace, console: Console) -> int:
    file, wanted = store.usual(arguments.campaign), arguments.finding
    records = store.load(file)
    if records.unfinished:  # a citation of it is of what may still change
        words = f"warning: campaign {records.campaign.campaign} is not finished: "
        print(printable(f"{words}{records.unfinished}"), file=sys.stderr)
    if wanted is None:
        campaign, sha256 = records.campaign, cite.checksum(file)
        print(
            printable(f"{cite.text(campaign, sha256)}\n\n{cite.bibtex(campaign, sha256)}"), end=""
        )
        return DONE
    analysis = analysis_of(records)
    campaign, named = analysis.campaign, findings.named(analysis)
    if wanted == ALL:
        print(printable(findings.listed(named.values(), findings.source(analysis))))
        return DONE
    if wanted == LIST:
        print("\n".join(named))
        return DONE
    hyphened = {name.replace("_", "-"): finding for name, finding in named.items()}
    if (finding := hyphened.get(wanted.replace("_", "-"))) is None:
        raise UnknownFindingError(
            f"campaign {campaign.campaign} has no finding {wanted!r}; it has {', '.join(named)}"
        )
    print(printable(cite.quotation(finding, campaign)))
    return DONE
