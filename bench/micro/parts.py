"""The four parts of ``bench study micro``: what each measures, and all that they show together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Protocol

from rich.console import Console

from bench.micro import hops, pool, startup, tasks
from bench.plan.participants import MAIN_VARIANTS
from bench.show.table import Table
from bench.study import runner
from bench.study.record import Run, Study, StudyError
from bench.study.report import Report
from bench.study.runner import Program
from bench.text import capital, listing
from crawlers.registry import MODELS


class Micro(Protocol):
    """A module with a study of one operation."""

    STUDY: Study[Any]
    PROCESSES: int

    def programs(self, stack: ExitStack, /) -> list[Program[Any]]: ...

    def tables(self, run: Run[Any], /) -> list[Table]: ...


PARTS: Final[dict[str, Micro]] = {part.STUDY.name: part for part in (tasks, startup, hops, pool)}
"""In the order of the command and of the summary."""


def measure(
    names: Sequence[str], folder: Path, repeats: int, console: Console, *, resume: bool
) -> bool:
    """Measure these parts; returns False after Ctrl-C.

    An interrupted run did not reach a part whose record is older than that of a part before it.
    """
    runs = {name: PARTS[name].STUDY.runs(folder)[-1:] for name in names}
    created = {name: run.head.created for name, latest in runs.items() for run in latest}
    newest = ""
    for name in names:
        part, begun = PARTS[name], created.get(name, "")
        more = resume and (begun > newest or not created)
        newest = max(newest, begun)
        with ExitStack() as stack:
            rounds = part.PROCESSES * repeats
            made = part.programs(stack)
            if not runner.run(part.STUDY, folder, made, rounds, console, resume=more):
                return False
    return True


def last(folder: Path) -> list[tuple[Micro, Run[Any]]]:
    """The last run of each part. Raises :class:`StudyError` if there is none at all."""
    latest = [(part, run) for part in PARTS.values() for run in part.STUDY.runs(folder)[-1:]]
    if not latest:
        raise StudyError(
            f"{folder}: no records; measure with python -m bench study micro --out {folder}"
        )
    return latest


def report(latest: Sequence[tuple[Micro, Run[Any]]]) -> Report:
    stamps = "; ".join(sorted({run.head.stamp for _, run in latest}))
    what = capital(listing([part.STUDY.what for part, _ in latest]))
    kinds = (kind.backend or kind.name for kind in tasks.KINDS.values())
    return Report(
        title="What single operations cost",
        about="Rebuild with `python -m bench study micro --redraw`; docs/method.md says how they "
        f"are measured.\n\n{what}: {stamps}.",
        tables=[table for part, run in latest for table in part.tables(run)],
        designs=[made for part, run in latest if part is tasks for made in tasks.designs(run)],
        backends=list(dict.fromkeys((*MODELS, *MAIN_VARIANTS, *kinds))),
    )
