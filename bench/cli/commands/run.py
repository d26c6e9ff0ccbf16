"""Measure: run a campaign, then draw its charts and write its report.

Runs blocks of trials in a balanced random order. Each trial is written to
results/CAMPAIGN/trials.jsonl as soon as it is done. Ctrl-C stops after cleaning up and draws
what was measured; --resume continues an interrupted campaign.

  python -m bench run                                  the quick profile
  python -m bench run --profile full --blocks 20       more blocks: tighter intervals
  python -m bench run --only throughput-100 --backends threads,callbacks
  python -m bench run --resume 20261121-051200-1a2b3c
"""

from __future__ import annotations

import argparse

from rich.console import Console

from bench.cli import measuring, options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.measuring(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the command."""
    return measuring.measure(options.chosen(arguments), arguments, console)
