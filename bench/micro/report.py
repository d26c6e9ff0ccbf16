"""The results for readers: tables on the terminal, ``summary.md``, charts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.micro import hops, pool, startup, tasks
from bench.micro import study as studies
from bench.micro.child import KINDS
from bench.micro.hops import HopsRecord
from bench.micro.pool import PoolRecord
from bench.micro.startup import StartupRecord
from bench.micro.study import MicroError
from bench.micro.tasks import TasksRecord
from bench.plan.participants import MAIN_VARIANTS
from bench.report import study
from bench.report.charts import Design, Skip
from bench.report.tables import section, show
from bench.show import table as tables
from bench.text import capital, listing
from crawlers.registry import MODELS


@dataclass(frozen=True, slots=True)
class Found:
    """The records of a folder; None for what was not measured."""

    tasks: TasksRecord | None = None
    startup: StartupRecord | None = None
    hops: HopsRecord | None = None
    pool: PoolRecord | None = None


def load(folder: Path) -> Found:
    """The records in a folder. Raises :class:`MicroError` if there is none at all."""
    found = Found(
        studies.load(folder, tasks.FILE_NAME, TasksRecord),
        studies.load(folder, startup.FILE_NAME, StartupRecord),
        studies.load(folder, hops.FILE_NAME, HopsRecord),
        studies.load(folder, pool.FILE_NAME, PoolRecord),
    )
    if found == Found():
        raise MicroError(f"{folder}: no records; measure with python -m bench micro --out {folder}")
    return found


def write(found: Found, folder: Path, console: Console) -> None:
    kinds = (kind.backend or kind.name for kind in KINDS.values())
    coloured = dict.fromkeys((*MODELS, *MAIN_VARIANTS, *kinds))
    study.write(folder, summary(found), designs(found), list(coloured))
    for each in further(found):
        show(each, console)


def designs(found: Found) -> Iterator[Design | Skip]:
    if found.tasks is not None:
        yield tasks.design(found.tasks)
    if found.hops is not None:
        yield hops.design(found.hops)


def further(found: Found) -> list[tables.Table]:
    made = []
    if found.tasks is not None:
        made += tasks.tables(found.tasks)
    if found.startup is not None:
        made.append(startup.table(found.startup))
    if found.hops is not None:
        made.append(hops.table(found.hops))
    if found.pool is not None:
        made.append(pool.table(found.pool))
    return made


def summary(found: Found) -> str:
    text = (
        "# What single operations cost\n\nRebuild with `python -m bench micro --redraw`; "
        "docs/method.md says how they are measured.\n"
    )
    parts = {
        "waiting tasks": found.tasks, "start-up": found.startup, "hops": found.hops,
        "pool": found.pool,
    }  # fmt: skip
    records = {part: record.stamp for part, record in parts.items() if record is not None}
    if records:
        text += (
            f"\n{capital(listing(list(records)))}: {'; '.join(sorted(set(records.values())))}.\n"
        )
    for each in further(found):
        text += "\n" + "\n".join(section(each)).rstrip("\n") + "\n"
    return text
