"""Servers with slow readers, in made-up records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from bench.histograms import encode_latency
from bench.questions import slow_readers
from bench.schema import AnyRecord, LoadReport, Quantiles, TrialRecord
from tests.bench.altered import altered, replaced
from tests.bench.questions.test_hold import holding
from tests.bench.sure import sure
from tests.bench.synthetic import KNOWN, MODELS, analysed


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


def test_memory_and_waits_are_those_of_each_server() -> None:
    found = slow_readers.measured(analysed(read_slowly(blocks=5)))
    assert list(found.values) == list(MODELS)
    for label in MODELS:
        each = found.median(label, "user")
        assert each == pytest.approx(KNOWN[label].user_kib, rel=0.1)
        assert found.median(label, "alone") == 2.0
        assert found.median(label, "beside") == pytest.approx(4.0, rel=0.01)


def test_the_sentence_names_interpreter_and_segments() -> None:
    """The same command gave 39 KiB on one interpreter and 87 on another."""
    analysis = analysed(read_slowly(blocks=5))
    head = sure(sure(slow_readers.answer(analysis)).headline)
    python = analysis.campaign.environment.python
    assert head.text.startswith(f"A slow reader ({python}, 1,460-byte segments) costs ")
