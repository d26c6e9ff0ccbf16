"""Servers that work on some requests, in made-up records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.histograms import encode_latency
from bench.questions import mixed_server
from bench.schema import AnyRecord, LoadReport, Quantiles, TrialRecord
from tests.bench.altered import altered, replaced
from tests.bench.sure import sure
from tests.bench.synthetic import analysed, campaign

TAIL_MS = {
    **{"threads": 15.0, "callbacks": 40.0, "generators": 41.0, "async_await": 45.0},
    "async_await_pool": 2.0,
}


def beside_work(late: int = 0, **options: object) -> list[AnyRecord]:
    """A campaign whose crawls are servers on a schedule: a request in fifty waits so long."""

    def server(line: TrialRecord) -> Iterator[TrialRecord]:
        if line.params["slots"] == 100:
            tail = TAIL_MS.get(line.backend, 42.0) * (1 + 0.001 * line.block) / 1000
            yield altered(
                line,
                workload="mixed-server",
                point="mixed-server-10",
                params={"slots": 100, "role": "server", "rate": 400, "work_ms": 10.0},
                response_time=encode_latency(np.array([0.001] * 980 + [tail] * 20)),
                late_starts=late,
                loaded=LoadReport(connections_opened=1, working=Quantiles(p50_ms=11, p90_ms=12)),
            )

    return replaced(campaign(workloads=("throughput",), **options), server)  # type: ignore[arg-type]


def test_a_p99_needs_blocks() -> None:
    assert sure(mixed_server.answer(analysed(beside_work(blocks=4)))).headline is None


def test_a_load_that_was_late_is_told() -> None:
    answer = sure(mixed_server.answer(analysed(beside_work(blocks=2, late=10_000))))
    assert "late" in answer.warnings[0]
