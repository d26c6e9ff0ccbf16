"""Made-up records of waiting tasks, whose slopes are known."""

from __future__ import annotations

from collections.abc import Mapping

from bench.micro.child import KINDS
from bench.micro.tasks import Held, KindRecord, TasksRecord
from bench.schema import Environment
from tests.bench.synthetic import environment

BYTES = {"coroutine": 400, "asyncio": 1000, "trio": 1900, "thread": 18_000}
STACK, TABLES, OTHER, FIXED = 16_384, 4096, 6000, 50_000


def held(name: str, count: int) -> Held:
    """One process: all parts are lines, and times grow with nothing."""
    threaded = KINDS[name].threaded
    return Held(
        count=count,
        user_bytes=FIXED + BYTES[name] * count,
        page_table_bytes=TABLES * count if threaded else 0,
        kernel_stack_bytes=STACK * count if threaded else 0,
        kernel_other_bytes=OTHER * count if threaded else None,
        spawn_s=3e-6 if count != KINDS[name].reference else 2e-6,
        cancel_s=1e-6,
    )


def record(
    names: Mapping[str, int] = BYTES, here: Environment | None = None, repeats: int = 2
) -> TasksRecord:
    """A run of these kinds, one that is missing, and one number that was refused."""
    kinds = {
        name: KindRecord(
            held=[held(name, count) for _ in range(repeats) for count in KINDS[name].counts],
            switches_s=[1e-6, 2e-6, 1.5e-6],
        )
        for name in names
    }
    kinds["asyncio_eager"] = KindRecord(missing="eager tasks need Python 3.12; this is 3.11")
    if "thread" in kinds:
        kinds["thread"] = kinds["thread"].model_copy(update={"refused": {99_999: "no room"}})
    return TasksRecord(
        created="2026-11-22T02:00:00.000+00:00",
        command=["bench", "micro"],
        environment=here or environment(),
        sources={},
        kinds=kinds,
    )
