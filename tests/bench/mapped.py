"""A made-up campaign with a variant in which malloc maps every receive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.schema import AnyRecord, TrialRecord
from crawlers.heap import KEEPS, ON_PURPOSE
from tests.bench.altered import altered, replaced
from tests.bench.synthetic import MODELS, campaign

MAPPED = "async_await_mapped"
AS_MUCH = 1.6
"""A page of it, in pages of ``async_await``."""


def mapped(*, backends: Sequence[str] = MODELS, blocks: int = 3, **options: Any) -> list[AnyRecord]:
    """The records of a campaign; the variant's trials follow those of what it changes."""
    records = campaign(backends=(*backends, MAPPED), blocks=blocks, **options)
    theirs = {
        (line.block, line.point): line
        for line in records
        if isinstance(line, TrialRecord) and line.label == "async_await"
    }

    def made(line: TrialRecord) -> TrialRecord:
        if line.label != MAPPED:
            return faulting(line, 0.1, KEEPS)
        return slower(faulting(line, 2.2, ON_PURPOSE), theirs[line.block, line.point], AS_MUCH)

    return replaced(records, made)


def faulting(line: TrialRecord, per_page: float, state: str) -> TrialRecord:
    faults = round(per_page * (line.pages or 0))
    return altered(line, page_faults=faults, mechanism__malloc=state) if line.pages else line


def slower(line: TrialRecord, plain: TrialRecord, factor: float) -> TrialRecord:
    """With so many times the processor time of the other's page."""
    if plain.cpu is None or not plain.pages or not line.pages:
        return line
    each = factor * line.pages / plain.pages
    user_s, system_s = plain.cpu.client_user_s * each, plain.cpu.client_system_s * each
    return altered(line, cpu=altered(plain.cpu, client_user_s=user_s, client_system_s=system_s))
