"""Servers with slow readers, in made-up records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.histograms import encode_latency
from bench.questions import slow_readers
from bench.schema import AnyRecord, LoadReport, Quantiles, TrialRecord
from tests.bench.altered import altered, replaced
from tests.bench.questions.test_hold import holding
from tests.bench.synthetic import MODELS, analysed


def read_slowly(**options: object) -> list[AnyRecord]:
    """A campaign whose held connections are slow readers; fast ones wait twice as long beside."""

    def slow(line: TrialRecord) -> Iterator[TrialRecord]:
        if line.point == "hold-1000":
            yield altered(
                line,
                workload="slow-readers",
                point="slow-readers-1000",
                response_time=encode_latency(np.full(150, 0.004)),
                loaded=LoadReport(connections_opened=1, alone=Quantiles(p50_ms=2.0, p90_ms=3.0)),
            )

    return replaced(holding(**options), slow)


def test_every_server_has_the_wait_that_its_load_reported() -> None:
    found = slow_readers.measured(analysed(read_slowly(blocks=2)))
    assert list(found.values) == list(MODELS)
    assert {found.median(label, "alone") for label in MODELS} == {2.0}
