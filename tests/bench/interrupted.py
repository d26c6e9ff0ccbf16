"""Made-up trials of interrupted crawls, to add to a made-up campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.plan.participants import Participants
from bench.plan.workloads import cancel
from bench.questions.cancel import CONTROL
from bench.schema import AnyRecord, Cancelled
from tests.bench.altered import altered
from tests.bench.synthetic import MODELS, _Maker, campaign, extended

SIZES = (1, 1000, 10_000)
EACH_US = {"threads": 90.0, "callbacks": 12.0, "generators": 16.0, "async_await": 30.0}
OTHERS_US = 60.0
CONTROL_US, SERVER_US = 8.0, 20.0


def interrupted(
    *,
    backends: Sequence[str] = MODELS,
    blocks: int = 3,
    sizes: Sequence[int] = SIZES,
    control: bool = True,
    left: str | None = None,
    **options: Any,
) -> list[AnyRecord]:
    """The records of a campaign that also interrupted crawls; ``left`` leaves a socket behind."""
    records = campaign(backends=backends, blocks=blocks, **options)
    make = _Maker(9, 0.01, effects=True, samples=20)
    found = [
        _trial(make, block, place, name, size)
        for block in range(blocks)
        for size in sizes
        for place, name in enumerate([*backends, *([CONTROL] if control else [])])
    ]
    if left:
        found = [_void(trial) if trial.label == left else trial for trial in found]
    return extended(records, [cancel(size, Participants(1)).id for size in sizes], found)


def each_us(name: str) -> float:
    return CONTROL_US if name == CONTROL else EACH_US.get(name, OTHERS_US)


def _trial(make: _Maker, block: int, place: int, name: str, size: int) -> Any:
    cpu_s = each_us(name) * size / 1e6 * (1 + 0.1 * block)
    work_s = SERVER_US * size / 1e6
    trial = make.held(block, place, "callbacks" if name == CONTROL else name, size)
    own = {"kind": "control", "family": "control"} if name == CONTROL else {}
    return trial.model_copy(
        update={
            **{"workload": "cancel", "point": f"cancel-{size}", "backend": name, "label": name},
            **{"memory": None, "ramp": None, "pages": 0, "pages_per_s": None, "limiter": None},
            **{"service_time": None, "statuses": {}, "errors": {"cancelled": size}},
            **own,
            "cancelled": Cancelled(
                in_flight=size,
                noticed_s=0.1,
                returned_s=1.1 * cpu_s,
                first_closed_s=0.0001,
                closed_s=max(1.2 * cpu_s, 1.1 * work_s),
                client_cpu_s=cpu_s,
                server_work_s=work_s,
                switch_interval_s=0.005,
                left={},
                open_at_server=0,
            ),
        }
    )


def _void(trial: Any) -> Any:
    reason = "the crawl left behind: 1 × descriptor socket"
    left = {"descriptor socket": 1}
    return altered(trial, status="void", reason=reason, cancelled__left=left)
