"""Compare two campaigns, or two records of costs, backend by backend.

Shows how their environments differ, then B divided by A with 95 % intervals, then in words what B
does to the verdicts of A: which are confirmed, which were wrong, and what A could not see. Exits
with 1 if something got worse by more than the noise floor, or if a campaign is incomplete, so you
can use it in CI. Two records of "bench costs" are compared by what a page takes: exits with 1 if a
page takes more.

The verdicts of a campaign take kilobytes, its trials megabytes. Keep them with --keep before you
replace the trials, with the folder of the documents that quote them, and compare with that file:

  python -m bench compare OLD NEW --keep results/earlier/OLD.json --published FOLDER
  python -m bench compare results/earlier/OLD.json NEW --into docs/what-changed.md

If A and B ran on two Python releases, the words say which ratios the release has changed. If they
ran on two machines, the words say which verdicts the other machine confirms.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from bench import filesystem, store, text, turnlog
from bench.analysis import changed, changed_words, compare, machine_words, past, release_words
from bench.analysis.analysis import Analysis
from bench.cli import options
from bench.cli.exits import DONE, FAILED
from bench.costs import gate, record, report
from bench.report import comparison
from bench.schema.past import PastCampaign


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("a", type=Path, metavar="A", help="the campaign to compare with")
    parser.add_argument("b", type=Path, metavar="B", help="the campaign to judge")
    parser.add_argument("--force", action="store_true", help="compare even if the machines differ")
    parser.add_argument(
        "--within", type=options.percent, default=100 * gate.WITHIN, metavar="PERCENT",
        help="costs only: how much more is still the same (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write the verdicts of A to this .json file"
    )
    parser.add_argument(
        "--published", type=Path, metavar="FOLDER",
        help="with --keep: README.md and docs/ that quote A; their figures are marked",
    )  # fmt: skip
    parser.add_argument(
        "--into", type=Path, metavar="FILE", help="write the words into this document"
    )
    parser.add_argument(
        "--again", type=Path, metavar="FILE",
        help="another campaign of A's machine, kept with --keep: how far A is from itself",
    )  # fmt: skip
    options.add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    paths = (arguments.a, arguments.b)
    if all(map(record.is_costs, paths)) and not all(map(is_campaign, paths)):
        return compare_costs(arguments, console)
    if arguments.a.suffix == ".json":
        words = in_words(past.load(arguments.a), arguments.b, arguments.again)
        tell(words, arguments, console)
        return DONE
    first, second = (store.load(path) for path in paths)
    before = past.condense(analysis(arguments.a), documents(arguments.published))
    if arguments.keep is not None:
        filesystem.write_text(arguments.keep, past.dump(before))
    words = in_words(before, arguments.b, arguments.again)
    try:
        found = compare.compare(first, second, force=arguments.force)
    except compare.CompareError:
        # Absolute figures need points of the same size; verdicts are ratios, and do not.
        tell(words, arguments, console)
        raise
    if not arguments.json:
        comparison.show(found, console)
    tell(words, arguments, console, asdict(found))
    return FAILED if found.failed else DONE


def is_campaign(path: Path) -> bool:
    """Whether a path is a campaign. Its folder may hold counted costs beside the trials."""
    try:
        return store.trials_file(path).name in (store.FILE_NAME, store.PACKED)
    except store.StoreError:
        return False


def analysis(campaign: Path) -> Analysis:
    """The analysis of a campaign given by folder, file or name."""
    file = store.trials_file(campaign)
    return Analysis(store.load(file), turnlog.load(file.parent))


def documents(folder: Path | None) -> dict[str, str]:
    """README.md and the pages of docs/ in a folder, by their path; none without a folder.

    Raises :class:`bench.filesystem.FileError`.
    """
    if folder is None:
        return {}
    files = [folder / "README.md", *sorted((folder / "docs").glob("*.md"))]
    return {file.relative_to(folder).as_posix(): filesystem.read_text(file) for file in files}


def in_words(before: PastCampaign, campaign: Path, again: Path | None = None) -> str:
    """What a campaign does to the verdicts of an earlier one, or of one on another machine."""
    found = changed.changes(before, analysis(campaign))
    if release_words.differ(before, found.now):
        return release_words.markdown(found)
    if machine_words.differ(before, found.now):
        return machine_words.markdown(found, None if again is None else past.load(again))
    claims: dict[str, str] = {}
    if before.claims:
        from bench.claims import ledger, publish

        folder = store.trials_file(campaign).parent
        rest = [other for other in publish.usual()[1:] if other != folder]
        _, verdicts = publish.judged([folder, *rest])
        claims = {
            verdict.claim.title: verdict.words
            for verdict in verdicts
            if verdict.ruling not in ledger.UNJUDGED
        }
    return changed_words.markdown(found, claims)


def tell(
    words: str,
    arguments: argparse.Namespace,
    console: Console,
    rows: dict[str, object] | None = None,
) -> None:
    """Print the words or write them into a document; with --json, print everything as JSON."""
    if arguments.into is not None:
        try:
            filled = text.with_block(
                filesystem.read_text(arguments.into),
                changed_words.NAME,
                changed_words.wrapped(words),
            )
        except ValueError as error:
            raise store.StoreError(f"{arguments.into}: cannot update it: {error}") from None
        filesystem.write_text(arguments.into, filled)
    if arguments.json:
        print(json.dumps({**(rows or {}), "in_words": words}))
    elif arguments.into is None:
        console.print(text.printable(words), markup=False, highlight=False)


def compare_costs(arguments: argparse.Namespace, console: Console) -> int:
    """Compare two records of costs."""
    old, new = record.load(arguments.a), record.load(arguments.b)
    gated = gate.compare(old, new, arguments.within / 100, force=arguments.force)
    if arguments.json:
        print(json.dumps(asdict(gated)))
    else:
        report.show_gate(gated, console)
    return FAILED if gated.failed else DONE
