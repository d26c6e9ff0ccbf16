"""What ``run`` and ``interpreters`` share: measure, draw, report the outcome."""

from __future__ import annotations

import argparse
import json

from rich.console import Console

from bench import store
from bench.run import runner
from bench.run.runner import Options


def measure(chosen: Options, arguments: argparse.Namespace, console: Console) -> int:
    """Run a campaign, draw it, and return the exit code."""
    chosen.only = arguments.only
    finished = runner.run(chosen, console)
    trials = finished.records.trials
    if trials and not arguments.no_charts:
        # matplotlib and all it needs: not before everything is measured.
        from bench.cli.publishing import publish_campaign

        file = finished.folder / store.FILE_NAME
        publish_campaign(finished.records, finished.folder, console, file)
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
    return runner.exit_code(finished, console)
