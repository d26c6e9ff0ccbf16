"""Servers with slow readers, in made-up records."""

from __future__ import annotations

import numpy as np

from bench.histograms import encode_latency
from bench.schema import AnyRecord, LoadReport, Quantiles, TrialRecord
from tests.bench.questions.test_hold import holding


def read_slowly(**options: object) -> list[AnyRecord]:
    """A campaign whose held connections are slow readers; fast ones wait twice as long beside."""
    found: list[AnyRecord] = []
    for line in holding(**options):
        if not isinstance(line, TrialRecord):
            found.append(line)
        elif line.point == "hold-1000":
            at = {
                "workload": "slow-readers",
                "point": "slow-readers-1000",
                "response_time": encode_latency(np.full(150, 0.004)),
                "loaded": LoadReport(connections_opened=1, alone=Quantiles(p50_ms=2.0, p90_ms=3.0)),
            }
            found.append(line.model_copy(update=at))
    return found
