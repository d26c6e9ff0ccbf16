"""Test well-known claims about concurrency against measurements.

Each claim is a file in bench/claims/sentences/. Its numbers come from the trials of campaigns
and from small experiments. --measure runs these experiments and keeps their results beside the
first campaign. Without it nothing runs. Writes claims.md; the campaign's report shows the
verdicts, too, the next time you rebuild it.

  python -m bench study claims                               against the reference campaign
  python -m bench study claims results/A --measure           run the experiments first: 4 minutes
  python -m bench study claims results/A results/B           B answers what A cannot
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console

from bench import store
from bench.claims import ledger
from bench.claims.experiments import EXPERIMENTS, ExperimentResult, main, running
from bench.claims.verdict import STUDY
from bench.cli.options import blocks, names, value
from bench.cli.studies import exit_code
from bench.launch import RESULTS, shown
from bench.machine import cpu
from bench.study import StudyError, runner
from bench.study.runner import Process, Program

REPEATS: Final = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "campaign",
        type=Path,
        nargs="*",
        help=f"folders of campaigns (default: {', '.join(map(str, map(shown, ledger.usual())))})",
    )
    parser.add_argument("--measure", action="store_true", help="run the experiments first")
    value(parser.add_argument, "--only", names, "A,B", "with --measure: only these experiments")
    words = "with --measure: run each experiment at most N times"
    value(parser.add_argument, "--repeats", blocks, "N", words, shown=str(REPEATS))
    parser.add_argument(
        "--resume", action="store_true", help="with --measure: take what is missing in the last run"
    )
    words = "write the page to this file"
    value(parser.add_argument, "--out", Path, "FILE", words, shown="beside the first campaign")


def run(arguments: argparse.Namespace, console: Console) -> int:
    campaigns = arguments.campaign or ledger.usual()
    if not (arguments.campaign or campaigns[0].is_dir()):
        raise store.StoreError(
            f"no reference campaign in {shown(RESULTS)}: name one, as in "
            f"python -m bench study claims results/CAMPAIGN, or {store.FIRST}"
        )
    folders = [store.trials_file(campaign).parent for campaign in campaigns]
    whole = True
    if arguments.measure:
        whole = runner.run(
            STUDY,
            folders[0],
            programs(arguments.only),
            arguments.repeats or REPEATS,
            console,
            resume=arguments.resume,
        )
    elif arguments.only or arguments.repeats or arguments.resume:
        raise StudyError("--only, --repeats and --resume go with --measure")
    ledger.write(folders, arguments.out or folders[0] / ledger.PAGE, console)
    runs = STUDY.runs(folders[0])[-1:] if arguments.measure else []
    return exit_code(runs, whole=whole)


def programs(names: Sequence[str] | None) -> list[Program[ExperimentResult]]:
    """The experiments with these names; all of them by default.

    Raises :class:`bench.study.StudyError` for one that does not exist.
    """
    for name in names or ():
        if name not in EXPERIMENTS:
            raise StudyError(f"no experiment {name!r}: choose from {', '.join(EXPERIMENTS)}")
    return [
        Program(name, partial(measure, name), rounds=rounds)
        for name, (_, rounds) in EXPERIMENTS.items()
        if not names or name in names
    ]


def measure(name: str, _: int) -> ExperimentResult:
    """One run of an experiment in a fresh process. Raises :class:`bench.study.runner.Lost`."""
    with Process(f"the experiment {name}", [*running(main), name], cpu.split_cores().client) as it:
        return ExperimentResult(**it.answer())
