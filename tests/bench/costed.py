"""Made-up campaigns that follow from a question's columns: what each reads costs so much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bench.questions.columns import Columns, Read
from bench.questions.served import BARE, ServedColumns
from bench.schema import AnyRecord, TrialRecord
from tests.bench.synthetic import MODELS, _Maker, campaign, extended
from tests.bench.turned import control, in_turns

US = {"threads": 30.0, "callbacks": 9.0, "generators": 10.0, "async_await": 15.0, BARE: 6.0}
OTHERS_US = 12.0

Costs = Callable[[str, str], float]
"""Label and column -> microseconds of a page."""


def in_order(columns: Columns) -> Costs:
    """Each column costs more than the one before."""
    keys = list(columns.columns)
    return lambda label, key: US.get(label, OTHERS_US) * (1 + keys.index(key))


def trials(
    columns: Columns, us: Costs, backends: Sequence[str] = MODELS, blocks: int = 3
) -> list[TrialRecord]:
    """Each block is slower by a tenth; of servers there is the floor, too."""
    make, workload = _Maker(9, 0.01, effects=True, samples=20), columns.workloads[0]
    found = []
    for block in range(blocks):
        for key, read in columns.columns.items():
            if not isinstance(read, Read):
                continue
            for place, name in enumerate(backends):
                trial = make.closed(block, place, name, read.at or f"{workload}-100")
                params = {**trial.params, "urls": 500, "mode": read.mode}
                trial = trial.model_copy(update={"params": params, "limiter": "server"})
                found.append(in_turns(trial, (1 + 0.1 * block) * us(name, key)))
            if isinstance(columns, ServedColumns):
                found.append(control(trial, BARE, (1 + 0.1 * block) * us(BARE, key)))
    return found


def costed(
    columns: Columns,
    us: Costs | None = None,
    *,
    backends: Sequence[str] = MODELS,
    blocks: int = 3,
    **options: Any,
) -> list[AnyRecord]:
    """The records of a campaign that also measured this."""
    made: dict[str, Any] = {"workloads": ("throughput",), "samples": 20} | options
    found = trials(columns, us or in_order(columns), backends, blocks)
    points = dict.fromkeys(trial.point for trial in found)
    return extended(campaign(backends=backends, blocks=blocks, **made), points, found)
