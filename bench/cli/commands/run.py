"""Measure: run a campaign, then draw its charts and write its report.

Runs blocks of trials in a balanced random order. Each trial is written to
results/CAMPAIGN/trials.jsonl as soon as it is done. Ctrl-C stops after cleaning up and draws
what was measured; --resume continues an interrupted campaign.

  python -m bench run                                  the quick profile
  python -m bench run --profile full --blocks 20       more blocks: tighter intervals
  python -m bench run --only throughput-100 --backends threads,callbacks
  python -m bench run --only tls-fetch --dry-run       what would it measure, and how long?
  python -m bench run --resume 20261121-051200-1a2b3c
"""

from __future__ import annotations

import argparse
import json

from rich.console import Console

from bench import store
from bench.cli import DONE, options
from bench.launch import shown
from bench.run import runner
from bench.run.runner import Finished, Options
from bench.text import plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.measuring(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    return measure(options.chosen(arguments), arguments, console)


def measure(chosen: Options, arguments: argparse.Namespace, console: Console) -> int:
    """Measure, or with --dry-run only print the plan; returns the exit code."""
    if not arguments.dry_run:
        return campaign(chosen, arguments, console)
    profile, entries = runner.dry_run(chosen, console)
    if arguments.json:
        points = [entry.record.model_dump() for entry in entries]
        print(json.dumps({"profile": profile, "points": points}))
    return DONE


def campaign(chosen: Options, arguments: argparse.Namespace, console: Console) -> int:
    finished = options.measure(chosen, console)
    trials = finished.records.every_trial
    drawn = bool(trials) and not arguments.no_charts
    if drawn:
        publish(finished, console, verbose=arguments.verbose)
    if arguments.json:
        outcome = {
            "campaign": finished.records.campaign.campaign,
            "folder": str(finished.folder),
            "trials": len(trials),
            "bad": sum(trial.status in ("failed", "void") for trial in trials),
            "complete": finished.end.complete,
            "reason": finished.end.reason,
        }
        print(json.dumps(outcome))
    code = runner.exit_code(finished, console, explained=drawn)
    if finished.end.complete and not drawn and not finished.records.refusals:
        file = shown(finished.folder / store.FILE_NAME)
        console.print(f"complete: {plural(len(trials), 'trial')} in {file}", soft_wrap=True)
    return code


def publish(finished: Finished, console: Console, *, verbose: bool) -> None:
    """Write the report of a campaign that was just measured, and print the summary."""
    # matplotlib and all it needs: not before everything is measured.
    from bench.claims import ledger
    from bench.report.page import write

    file = finished.folder / store.FILE_NAME
    write(finished.records, finished.folder, console, file, ledger.sections, verbose=verbose)
