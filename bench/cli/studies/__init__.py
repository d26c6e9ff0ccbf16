"""The studies of ``python -m bench study``: a module each, shaped like a command."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console

from bench.cli import DONE, FAILED, INTERRUPTED
from bench.study import Part, Report, Run, Study, runner
from bench.study.runner import Program


def measured(
    study: Study[Part],
    programs: Callable[[], Sequence[Program[Part]]],
    report: Callable[[Run[Part]], Report],
    arguments: argparse.Namespace,
    console: Console,
    settings: Mapping[str, int | float | str] | None = None,
) -> int:
    """Run the programs unless only to redraw, and show the last run; returns the exit code."""
    out, whole = arguments.out, True
    if not arguments.redraw:
        rounds, resume = arguments.repeats, arguments.resume
        whole = runner.run(
            study, out, programs(), rounds, console, settings=settings, resume=resume
        )
    last = study.last(out)
    report(last).write(out, console)
    return exit_code([last], whole=whole)


def exit_code(runs: Iterable[Run[Any]], *, whole: bool) -> int:
    """Of a command that measured, or showed, these runs; ``whole``: Ctrl-C left all of it run."""
    if not whole:
        return INTERRUPTED
    return FAILED if any(run.bad for run in runs) else DONE
