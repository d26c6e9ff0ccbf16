"""Made-up trials of ``churn``, to add to a made-up campaign: kept and new connections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.plan.tls import OPENED, Mode
from bench.schema import AnyRecord
from tests.bench.synthetic import MODELS, _Maker, campaign, extended
from tests.bench.turned import in_turns

POINT = "churn-100"
KEPT_US = 25.0
CONNECTION_US = {"threads": 60.0, "callbacks": 40.0, "generators": 45.0, "async_await": 110.0}
OTHERS_US = 75.0


def opened(*, backends: Sequence[str] = MODELS, blocks: int = 3, **options: Any) -> list[AnyRecord]:
    """The records of a campaign that also measured a connection for each page."""
    records = campaign(backends=backends, blocks=blocks, **options)
    make = _Maker(9, 0.01, effects=True, samples=20)
    found = [
        _page(make, block, place, name, mode)
        for block in range(blocks)
        for place, name in enumerate(backends)
        for mode in OPENED
    ]
    return extended(records, [POINT], found)


def cost_us(name: str, mode: Mode, block: int = 0) -> float:
    """Microseconds of a page of this made-up backend in this mode: each block is slower."""
    more = CONNECTION_US.get(name, OTHERS_US) if mode == "churn" else 0.0
    return (KEPT_US + more) * (1 + 0.1 * block)


def _page(make: _Maker, block: int, place: int, name: str, mode: Mode) -> Any:
    params = {"slots": 100, "urls": 500, "delay": "none", "mode": mode}
    trial = in_turns(make.closed(block, place, name, POINT), cost_us(name, mode, block))
    return trial.model_copy(update={"workload": "churn", "params": params})
