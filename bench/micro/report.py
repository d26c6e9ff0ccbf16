"""The results for readers: tables on the terminal, ``summary.md``, charts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from bench.micro.hops import HopsRecord
from bench.micro.pool import PoolRecord
from bench.micro.startup import StartupRecord
from bench.micro.study import MicroError, Study
from bench.micro.tasks import KINDS, TasksRecord
from bench.plan.participants import MAIN_VARIANTS
from bench.report import study
from bench.report.tables import section, show
from bench.text import capital, listing
from crawlers.registry import MODELS

STUDIES: Final[tuple[type[Study], ...]] = (TasksRecord, StartupRecord, HopsRecord, PoolRecord)
"""In the order of the command and of the summary."""


def load(folder: Path) -> list[Study]:
    """The records in a folder. Raises :class:`MicroError` if there is none at all."""
    found = [record for each in STUDIES if (record := each.load(folder)) is not None]
    if not found:
        raise MicroError(
            f"{folder}: no records; measure with python -m bench study micro --out {folder}"
        )
    return found


def write(found: Sequence[Study], folder: Path, console: Console) -> None:
    kinds = (kind.backend or kind.name for kind in KINDS.values())
    coloured = dict.fromkeys((*MODELS, *MAIN_VARIANTS, *kinds))
    designs = (design for record in found for design in record.designs())
    study.write(folder, summary(found), designs, list(coloured))
    for record in found:
        for table in record.tables():
            show(table, console)


def summary(found: Sequence[Study]) -> str:
    stamps = "; ".join(sorted({record.stamp for record in found}))
    text = (
        "# What single operations cost\n\n"
        "Rebuild with `python -m bench study micro --redraw`; docs/method.md says how they are "
        f"measured.\n\n{capital(listing([record.WHAT for record in found]))}: {stamps}.\n"
    )
    for record in found:
        for table in record.tables():
            text += "\n" + "\n".join(section(table)).rstrip("\n") + "\n"
    return text
