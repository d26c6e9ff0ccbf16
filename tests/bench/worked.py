"""Made-up trials of ``mixed``, to add to a made-up campaign: loops that are queues, remedies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from bench import arrivals
from bench.analysis.loops import SlotSchedule, responses
from bench.arrivals import WORK_EVERY
from bench.histograms import encode_latency
from bench.schema import AnyRecord, Cpu, TrialRecord, Work
from tests.bench.synthetic import MODELS, _Maker, campaign, extended

PAGE_S: Final = 0.0001
SLOTS: Final = 100
REMEDIES: Final = ("async_await_pool",)
SHARES: Final = {"threads": 0.1, "async_await_pool": 0.05}
"""How much of a loop's wait is left with another backend."""

WORKS: Final[Mapping[int, tuple[int, int]]] = {1: (2000, 2000), 10: (500, 500), 100: (50, 150)}
"""Milliseconds of work -> requests per second, and requests in a trial."""


def worked(
    *,
    backends: Sequence[str] = (*MODELS, *REMEDIES),
    blocks: int = 3,
    works: Sequence[int] = (10,),
    slower: float = 1.0,
    **options: Any,
) -> list[AnyRecord]:
    """The records of a campaign that also measured mixed load.

    Loops are a queue with one server, exactly that is late by its timers; others let pages
    wait for a tenth of the queue, or less.
    ``slower`` is how many times its processor time the work takes by the clock.
    """
    models = [name for name in backends if name in MODELS]
    records = campaign(backends=models, blocks=blocks, **options)
    make = _Maker(11, 0.01, effects=True, samples=20)
    found = [
        _trial(make, block, place, name, work_ms, slower)
        for block in range(blocks)
        for place, name in enumerate(backends)
        for work_ms in works
    ]
    points = [f"mixed-{work_ms}" for work_ms in works]
    return extended(records, points, found, backends=list(backends))


def _trial(
    make: _Maker,
    block: int,
    place: int,
    name: str,
    work_ms: int,
    slower: float,
) -> TrialRecord:
    rate, count = WORKS[work_ms]
    chosen = arrivals.chosen(count, WORK_EVERY, block)
    due = arrivals.poisson(rate, block, count)
    work_s = slower * work_ms / 1000
    share = SHARES.get(name, 1.0)
    alone = {} if share == 1 else {"step_s": 0.0, "slack_s": 0.0}
    took = [share * time for time in responses(SlotSchedule(due, chosen), PAGE_S, work_s, **alone)]
    others = np.array([t for number, t in enumerate(took) if number not in chosen])
    mine = np.array([took[number] + work_s for number in sorted(chosen)])
    used = count * PAGE_S + len(chosen) * work_ms / 1000
    return make.open_loop(block, place, "callbacks", rate).model_copy(
        update={
            "label": name,
            "backend": name,
            "family": "async" if name.startswith("async") else name,
            "workload": "mixed",
            "point": f"mixed-{work_ms}",
            "params": {"slots": SLOTS, "rate": rate, "urls": count, "work_ms": float(work_ms)},
            "pages": count,
            "cpu": Cpu(
                client_user_s=used, client_system_s=0.0, server_user_s=0.1, server_system_s=0.1
            ),
            "service_time": encode_latency(np.full(count, PAGE_S)),
            "response_time": encode_latency(np.array(took)),
            "work": Work(
                every=WORK_EVERY,
                seed=block,
                work_ms=work_ms,
                round_us=50.0,
                round_after_us=50.0,
                rounds=20 * work_ms,
                pages=len(chosen),
                expected=len(chosen),
                check=1,
                check_expected=1,
                cpu_ms=float(work_ms),
                wall_ms=slower * work_ms,
                threads=1,
                others=encode_latency(others),
                worked=encode_latency(mine),
            ),
        }
    )
