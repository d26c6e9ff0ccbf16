"""A made-up record of the study, whose numbers are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench.study.record import Run
from bench.tasks.study import KINDS, STUDY, Switched, TaskSample, TasksHeld
from tests.bench.study.made import run, samples

BYTES: Final = {"coroutine": 400, "asyncio": 1000, "trio": 1900, "thread": 18_000}
STACK, TABLES, OTHER, FIXED = 16_384, 4096, 6000, 50_000


def held(name: str, count: int) -> TasksHeld:
    """One process: all parts are lines, and times grow with nothing."""
    threaded = KINDS[name].threaded
    return TasksHeld(
        count=count,
        user_bytes=FIXED + BYTES[name] * count,
        page_table_bytes=TABLES * count if threaded else 0,
        kernel_stack_bytes=STACK * count if threaded else 0,
        kernel_other_bytes=OTHER * count if threaded else None,
        spawn_s=3e-6 if count != KINDS[name].counts[1] else 2e-6,
        cancel_s=1e-6,
    )


def tasks(names: Mapping[str, int] = BYTES) -> Run[TaskSample]:
    """Two repeats of these kinds, one that is missing, and one number that was refused."""
    parts: dict[str, list[TaskSample]] = {}
    for name in names:
        parts[f"{name} switch"] = [Switched(switch_s=us / 1e6) for us in (1, 2, 1.5)]
        for count in KINDS[name].counts:
            parts[f"{name} {count}"] = [held(name, count) for _ in range(2)]
    eager = "eager tasks need Python 3.12; this is 3.11"
    lost = {"asyncio_eager": ("refused", eager), "thread 99999": ("refused", "no room")}
    return run(STUDY, samples(parts, lost))
