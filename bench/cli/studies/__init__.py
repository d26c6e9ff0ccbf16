"""The studies of ``python -m bench study``: a module each, shaped like a command."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bench.cli import DONE, FAILED, INTERRUPTED
from bench.study.record import Run


def exit_code(runs: Iterable[Run[Any]], *, whole: bool) -> int:
    """Of a command that measured, or showed, these runs; ``whole``: Ctrl-C left all of it run."""
    if not whole:
        return INTERRUPTED
    return FAILED if any(run.bad for run in runs) else DONE
