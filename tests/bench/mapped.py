"""A made-up campaign with a variant in which malloc maps every receive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.schema import AnyRecord, TrialRecord
from crawlers.heap import KEEPS, ON_PURPOSE
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
    found: list[AnyRecord] = []
    for line in records:
        if isinstance(line, TrialRecord) and line.pages:
            variant = line.label == MAPPED
            line = faulting(line, 2.2 if variant else 0.1, ON_PURPOSE if variant else KEEPS)
            if variant:
                line = slower(line, theirs[line.block, line.point])
        found.append(line)
    return found


def faulting(line: TrialRecord, per_page: float, state: str) -> TrialRecord:
    faults = round(per_page * (line.pages or 0))
    mechanism = line.mechanism | {"malloc": state}
    return line.model_copy(update={"page_faults": faults, "mechanism": mechanism})


def slower(line: TrialRecord, plain: TrialRecord) -> TrialRecord:
    """With the processor time of the other's page, times :data:`AS_MUCH`."""
    if plain.cpu is None or not plain.pages or not line.pages:
        return line
    each = AS_MUCH * line.pages / plain.pages
    cpu = plain.cpu.model_copy(
        update={
            "client_user_s": plain.cpu.client_user_s * each,
            "client_system_s": plain.cpu.client_system_s * each,
        }
    )
    return line.model_copy(update={"cpu": cpu})
