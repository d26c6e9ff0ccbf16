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

from rich.console import Console

from bench import store
from bench.cli import DONE, options, reference
from bench.errors import BenchError
from bench.questions import analysis_in
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
    if file is None:
        campaign, sha256 = reference.carried().campaign, reference.carried().sha256
    else:
        campaign, sha256 = store.load(file).campaign, cite.checksum(file)
    if wanted is None:
        print(
            printable(f"{cite.text(campaign, sha256)}\n\n{cite.bibtex(campaign, sha256)}"), end=""
        )
        return DONE
    if file is None:
        found, source = reference.carried().findings, reference.carried().source
    else:
        analysis = analysis_in(file)
        found, source = findings.named(analysis), findings.source(analysis)
    if wanted == ALL:
        print(printable(findings.listed(found.values(), source)))
        return DONE
    if wanted == LIST:
        print("\n".join(found))
        return DONE
    named = {name.replace("_", "-"): quoted for name, quoted in found.items()}
    if (quoted := named.get(wanted.replace("_", "-"))) is None:
        raise UnknownFindingError(
            f"campaign {campaign.campaign} has no finding {wanted!r}; it has {', '.join(found)}"
        )
    print(printable(cite.quotation(quoted, campaign)))
    return DONE
