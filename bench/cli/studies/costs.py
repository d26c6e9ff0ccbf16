"""Count what a page takes: instructions and system calls.

Counts are the same on another machine with the same interpreter. A busy machine blurs only a few,
of backends that do more when a connection is late. They are not speed: docs/costs.md says what
they leave out. Needs valgrind and strace; what is missing is left out and said.

  python -m bench study costs                        the four models and the main variants
  python -m bench study costs --backends callbacks --workload fetch --count instructions
  python -m bench study costs --guard                do our four models take more than they did?
  python -m bench study costs --redraw               rebuild tables and chart from DIR/costs.jsonl
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path

from rich.console import Console

from bench.cli import DONE, FAILED, options
from bench.costs import guard, measure, record, report
from bench.costs.measure import COUNTED, CostsOptions
from bench.launch import RESULTS
from bench.machine import instruments


def numbers(text: str) -> list[int]:
    """A comma-separated list of hash seeds."""
    found = [options.seed(each) for each in text.split(",")]
    if any(not 0 < each < 2**32 for each in found):
        raise argparse.ArgumentTypeError("a hash seed is a number from 1 to 4294967295")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backends", type=options.names, metavar="A,B",
        help=f"only these, or all (default: {','.join(report.CHOSEN)})",
    )  # fmt: skip
    parser.add_argument("--workload", choices=COUNTED, help="only this one")
    parser.add_argument(
        "--count", type=options.names, metavar="A,B",
        help=f"only these: {', '.join(instruments.NAMES)}",
    )  # fmt: skip
    for name, default, text in (
        ("--pages", 500, "pages of the smaller of two crawls"),
        ("--slots", 100, "slots of a crawl"),
    ):
        parser.add_argument(
            name, type=options.positive, default=default, metavar="N",
            help=f"{text} (default: {default})",
        )  # fmt: skip
    parser.add_argument(
        "--seeds", type=numbers, default=[1, 2, 3], metavar="A,B",
        help="hash seeds; ranges are over them (default: 1,2,3)",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=options.positive, default=measure.processors(), metavar="N",
        help="how many crawls at a time (default: one for each processor, here %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--resume", action="store_true", help="continue what was interrupted, in the same folder"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR",
        help="folder for record, tables and chart (default: results/costs, or none for a "
        "selection of backends, workloads or counts)",
    )  # fmt: skip
    parser.add_argument("--redraw", action="store_true", help="only read DIR/costs.jsonl")
    parser.add_argument(
        "--guard", action="store_true",
        help="only compare the four models' instructions with this repository's baseline",
    )  # fmt: skip
    parser.add_argument(
        "--update-baseline", action="store_true", help="renew that baseline for this interpreter"
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    if arguments.guard or arguments.update_baseline:
        return run_guard(arguments, console)
    some = arguments.backends not in (None, ["all"])
    selected = some or arguments.workload or arguments.count
    out = arguments.out or (None if selected else RESULTS / "costs")
    if arguments.redraw:
        costs = record.load(out or RESULTS / "costs")
    else:
        costs = measure.run(
            chosen(arguments),
            partial(report.progress, console),
            folder=out,
            resume=arguments.resume,
        )
    made = record.accounts(costs)
    report.show(costs, made, console)
    if out is not None:
        report.write(costs, made, out)
        console.print(f"record, summary and charts: {out}")
    if arguments.json:
        print(json.dumps(report.as_json(made)))
    return FAILED if any(each.bad for each in made) else DONE


def run_guard(arguments: argparse.Namespace, console: Console) -> int:
    """Check the four models against the baseline, or renew it."""
    outcome = guard.update() if arguments.update_baseline else guard.check()
    for line in outcome.lines:
        console.print(line, highlight=False, markup=False)
    if arguments.json:
        print(json.dumps({"status": outcome.status, "lines": outcome.lines}))
    return FAILED if outcome.status == "more" else DONE


def chosen(arguments: argparse.Namespace) -> CostsOptions:
    """What these arguments ask for. Raises :class:`bench.costs.record.CostsError`."""
    counted = arguments.count or instruments.NAMES
    if unknown := set(counted) - set(instruments.NAMES):
        raise record.CostsError(
            f"cannot count {sorted(unknown)[0]!r}; choose from {', '.join(instruments.NAMES)}"
        )
    backends = arguments.backends or list(report.CHOSEN)
    return CostsOptions(
        backends=None if backends == ["all"] else backends,
        workloads=(arguments.workload,) if arguments.workload else COUNTED,
        instruments=counted,
        pages=arguments.pages,
        slots=arguments.slots,
        seeds=arguments.seeds,
        jobs=arguments.jobs,
    )
