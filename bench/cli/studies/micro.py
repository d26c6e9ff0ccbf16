"""Measure waiting tasks, start-up, calls to a thread, and pools.

Holds up to 100,000 tasks of each library, and up to 10,000 threads, each number in a process of
its own: memory of one, and what it takes to spawn, switch and cancel it. Then it imports each
backend in fresh processes. Then a loop calls a thread, in every way that libraries offer. At last
10,000 pages come over 100 connections, limited by a semaphore, by workers, or by the client itself.

  python -m bench study micro                      takes under half an hour
  python -m bench study micro --only tasks         a part: tasks, startup, hops, pool
  python -m bench study micro --redraw             rebuild tables and charts from the records in DIR
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from bench import filesystem
from bench.cli import DONE
from bench.cli.options import names, positive
from bench.launch import RESULTS
from bench.micro import report
from bench.micro.study import MicroError

PARTS = [study.NAME for study in report.STUDIES]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=RESULTS / "micro", metavar="DIR",
        help="folder for records, tables and charts (default: results/micro)",
    )  # fmt: skip
    parser.add_argument("--redraw", action="store_true", help="only read the records in DIR")
    parser.add_argument(
        "--only", type=names, metavar="A,B", help=f"measure only these: {', '.join(PARTS)}"
    )
    parser.add_argument(
        "--repeats", type=positive, default=3, metavar="N",
        help="processes of each kind of task and number, and twice as many of each import, hop "
        "and pool (default: 3)",
    )  # fmt: skip


def run(arguments: argparse.Namespace, console: Console) -> int:
    parts, out = arguments.only or PARTS, arguments.out
    if unknown := set(parts) - set(PARTS):
        raise MicroError(f"no part {sorted(unknown)[0]!r}: choose from {', '.join(PARTS)}")
    if not arguments.redraw:
        filesystem.make_folder(out)
        for study in report.STUDIES:
            if study.NAME in parts:
                study.measure(study.PROCESSES * arguments.repeats, console).save(out)
    report.write(report.load(out), out, console)
    console.print(f"records, summary and charts: {out}")
    return DONE
