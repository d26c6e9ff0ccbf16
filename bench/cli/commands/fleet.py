"""Measure with many processes, on one host or on many.

Each process runs an unchanged backend on its share of the connections. dask.distributed places
the processes. Without --scheduler everything runs on this machine, with nothing to set up.

  python -m bench fleet plan --connections 1000000       can this machine do it?
  python -m bench fleet hold --connections 100000        hold them, all at once
  python -m bench fleet hold --tls --fit                 the same over TLS, as many as fit
  python -m bench fleet report results/fleet-NAME        rebuild its charts and tables

On a cluster, start `dask scheduler` on one host and `dask worker tcp://HOST:8786 --nthreads 1`
on each of the others, then add --scheduler tcp://HOST:8786. See docs/fleet.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bench.cli.command import EXITS
from bench.cli.options import add_json, blocks, names, positive, seconds
from bench.fleet import cluster, command, plan
from bench.launch import RESULTS
from bench.text import capital
from crawlers.registry import MODELS

Action = Callable[[argparse.Namespace, Console], int]


def counts(text: str) -> list[int]:
    """Several whole numbers above 0, separated by commas."""
    return [positive(part) for part in text.split(",")]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, do: Action, summary: str, text: str) -> argparse.ArgumentParser:
        made = actions.add_parser(
            name,
            help=summary,
            description=f"{capital(summary)}.\n\n{text}",
            epilog=EXITS,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(do=do)
        return made

    planning = action(
        "plan", command.do_plan,
        "show how connections would be shared, and which limits are too low",
        "Reads the limits of every host and starts nothing. For each limit that is too low,\n"
        "prints the numbers and the command that raises it, and exits with 1.",
    )  # fmt: skip
    holding = action(
        "hold", command.do_hold,
        "hold connections open at one barrier, and read the memory",
        "One trial for each backend and number of connections. If they do not fit, nothing\n"
        "starts; with --fit, holds as many as fit.",
    )  # fmt: skip
    reporting = action(
        "report", command.do_report,
        "rebuild the charts and tables of a fleet",
        "Needs only fleet.jsonl, and works on any machine.",
    )  # fmt: skip
    for one in (planning, holding):
        add_holding(one)
    holding.add_argument("--fit", action="store_true", help="hold as many as fit")
    holding.add_argument(
        "--answer", type=seconds, default=cluster.ANSWER_S, metavar="S",
        help="give up a host that does not answer for S seconds (default: %(default)g)",
    )  # fmt: skip
    for one in (planning, holding):
        one.add_argument(
            "--backends", type=names, default=["callbacks"], metavar="A,B",
            help=f"such as {','.join(MODELS)} (default: callbacks)",
        )  # fmt: skip
        one.add_argument(
            "--scheduler", metavar="ADDRESS", help="of a dask cluster, such as tcp://10.0.0.1:8786"
        )
        add_json(one)
    holding.add_argument(
        "--repeat", type=blocks, default=1, metavar="N", help="trials of each (default: 1)"
    )
    holding.add_argument(
        "--into", type=Path, metavar="FOLDER", help="append to the fleet in this folder"
    )
    holding.add_argument(
        "--results", type=Path, default=RESULTS, metavar="DIR", help="default: results"
    )
    reporting.add_argument("folder", type=Path, help="a folder under results/, or a fleet.jsonl")
    reporting.add_argument("--out", type=Path, metavar="DIR", help="default: beside the records")
    reporting.add_argument(
        "--docs", type=Path, metavar="FILE",
        help="also write the tables between the marks of this Markdown file",
    )  # fmt: skip


def add_holding(parser: argparse.ArgumentParser) -> None:
    """Declare what ``plan`` and ``hold`` share."""
    parser.add_argument(
        "--connections", type=counts, default=[100_000], metavar="N,M",
        help="how many to hold (default: 100000)",
    )  # fmt: skip
    parser.add_argument(
        "--share", type=positive, metavar="N",
        help="connections of one process at most (default: what its limits allow)",
    )  # fmt: skip
    parser.add_argument(
        "--ramp", type=positive, metavar="N",
        help="connections that the whole fleet opens per second "
        f"(default: {plan.RAMP_PER_S}, over TLS {plan.TLS_RAMP_PER_S})",
    )  # fmt: skip
    parser.add_argument(
        "--tls", action="store_true", help="over TLS 1.3, each connection with a full handshake"
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    action: Action = arguments.do
    return action(arguments, console)
