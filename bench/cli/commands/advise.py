"""Advise on a backend for your program: processors, processes and memory for your load.

Calculates what each backend needs for it from the costs that a campaign measured, and says how
far such predictions were off where they could be checked. It measures nothing.

  python -m bench advise --connections 5000 --rate 2000 --delay 200ms --tls --work 1ms
  python -m bench advise --connections 100 --delay 1s     how many pages can these fetch?
  python -m bench advise --rate 500 --work 10ms --share 10%    one page in ten needs the processor
  python -m bench advise --rate 20k --delay 10ms --backends threads,aiohttp
  python -m bench advise --results results/reference --json

--delay is the time from a request to its answer. --connections are those that you hold open at
once; of these, rate times the time that a page takes are in use. Numbers may end in k or M, and
times need a unit: us, ms, s or min. docs/advice.md explains the model and what it assumes.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from bench import store
from bench.analysis.analysis import Analysis
from bench.capacity import beside, need, report
from bench.capacity.advice import advise
from bench.capacity.fixture import measured
from bench.capacity.need import Need
from bench.capacity.validation import validation
from bench.cli import options
from bench.cli.exits import DONE, FAILED
from bench.launch import RESULTS, shown

DEFAULT: Final = Need()
REFERENCE: Final = "reference"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--connections", type=need.count, default=DEFAULT.connections, metavar="N",
        help="connections held open at once (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--rate", type=need.rate, default=DEFAULT.rate, metavar="N",
        help="pages per second (default: as many as one process can do)",
    )  # fmt: skip
    parser.add_argument(
        "--delay", type=need.duration, default=DEFAULT.delay_s, metavar="TIME",
        help="from a request to its answer (default: 100ms)",
    )  # fmt: skip
    parser.add_argument("--tls", action="store_true", help="over TLS")
    parser.add_argument(
        "--work", type=need.duration, default=DEFAULT.work_s, metavar="TIME",
        help="of the processor for each page, beyond fetching and parsing it (default: none)",
    )  # fmt: skip
    parser.add_argument(
        "--share", type=need.share, default=DEFAULT.share, metavar="SHARE",
        help="of the pages that need the work, such as 10%% or 0.1 (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--pages-per-connection", type=need.count, metavar="N",
        help="open a new connection every N pages (default: connections are kept)",
    )  # fmt: skip
    parser.add_argument(
        "--load", type=need.load, default=DEFAULT.load, metavar="SHARE",
        help="of what a processor can do that you plan to use, at most 95%% (default: 70%%)",
    )  # fmt: skip
    parser.add_argument(
        "--backends", type=options.names, metavar="A,B",
        help="only these (default: ten that people choose between)",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="every backend of the campaign")
    parser.add_argument(
        "--results", type=Path, metavar="DIR",
        help="a campaign, or a folder of campaigns, whose newest is read "
        "(default: results/reference, or the newest under results)",
    )  # fmt: skip
    options.add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    asked = Need(
        arguments.connections,
        arguments.rate,
        arguments.delay,
        arguments.tls,
        arguments.work,
        arguments.share,
        arguments.pages_per_connection,
        arguments.load,
    )
    file = campaign_file(arguments.results)
    analysis = Analysis.load(file)
    costs = measured(analysis)
    if costs is None:
        raise store.StoreError(
            f"{file.parent}: this campaign compares interpreters, or has no trials; "
            "advice needs one that compares backends"
        )
    if costs.point is None:
        raise store.StoreError(
            f"{file.parent}: this campaign has no crawl that compares what a page takes; measure "
            "one with python -m bench run, or leave out --results to use the reference"
        )
    checked = validation(analysis, costs)
    wanted = report.chosen(costs, arguments.backends, everything=arguments.all or arguments.json)
    known = {backend.name for backend in costs.backends}
    if unknown := [name for name in wanted if name not in known]:
        raise store.StoreError(
            f"not in campaign {costs.campaign}: {', '.join(unknown)}; "
            f"it has {', '.join(sorted(known))}"
        )
    shown_costs = replace(costs, backends=[costs.of(name) for name in wanted])
    found = advise(shown_costs, checked, asked)
    remedies = beside.sentences(analysis, asked)
    if arguments.json:
        print(json.dumps(report.as_json(found, checked, remedies)))
    else:
        report.show(found, costs, checked, remedies, console)
        if file.parent == RESULTS / REFERENCE and arguments.results is None:
            hint(console)
    return DONE if any(row.can == "yes" for row in found.rows) else FAILED


def campaign_file(given: Path | None) -> Path:
    """The records to read: of the given campaign, of the reference, or of the newest campaign.

    Raises :class:`bench.store.StoreError` where there are none.
    """
    if given is None and (RESULTS / REFERENCE).is_dir():
        return store.trials_file(RESULTS / REFERENCE)
    folder = given or RESULTS
    below = [
        file
        for name in (store.FILE_NAME, store.PACKED)
        for file in (folder.glob(f"*/{name}") if folder.is_dir() else ())
    ]
    own = any((folder / name).is_file() for name in (store.FILE_NAME, store.PACKED))
    if own or not below:
        return store.trials_file(folder)
    return max(below, key=lambda file: file.stat().st_mtime)


def own_campaign() -> Path | None:
    """The newest campaign that was run here; None if there is none.

    Its name begins with the time. Those that are published with the suite have a word for a name.
    """
    found = (file.parent for file in RESULTS.glob(f"[0-9]*/{store.FILE_NAME}"))
    return max(found, key=lambda folder: folder.name, default=None)


def hint(console: Console) -> None:
    """Say how to get advice from what your own machine takes, if it has been measured."""
    own = own_campaign()
    if own is not None:
        console.print(
            Text(f"You have measured this machine too: add --results {shown(own)}", "dim"),
            soft_wrap=True,
        )
