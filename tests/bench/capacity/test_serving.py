"""Advice for a server, from made-up records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.capacity import serving
from bench.capacity.model import Need
from bench.questions import hold, serve
from bench.schema import TrialRecord
from bench.text import KIB, MIB
from tests.bench.costed import costed
from tests.bench.questions.test_hold import holding
from tests.bench.synthetic import MODELS, analysed

US = {"threads": 14.0, "callbacks": 9.0, "generators": 10.0, "async_await": 13.0, "bare": 6.0}
LOADED = costed(serve.COLUMNS, lambda label, _: US[label] / 1.1)
NEED = Need(connections=10_000, rate=100_000.0, load=0.5)


def test_processors_and_memory_are_those_of_the_measurement() -> None:
    held = [one for one in holding(blocks=3) if isinstance(one, TrialRecord)]
    analysis = analysed([*LOADED, *held])
    found = {one.server: one for one in serving.advise(analysis, NEED)}
    assert list(found) == sorted(MODELS, key=US.__getitem__)
    memory = hold.measured(analysis)
    for label, one in found.items():
        assert one.processors == pytest.approx(US[label] * 0.1 / 0.5, rel=0.01)
        each = memory.median(label, hold.PLAIN)
        assert one.connections_mib == pytest.approx(10_000 * each * KIB / MIB)
        processes = -(-one.processors // 1)  # type: ignore[operator]
        program = processes * memory.median(label, "program")
        assert one.memory_mib == pytest.approx(one.connections_mib + program)  # type: ignore[operator]


def test_work_is_added_and_what_is_unknown_stays_empty() -> None:
    found = serving.advise(analysed(LOADED), replace(NEED, rate=None, work_s=0.001))
    assert {one.server: round(one.request_us) for one in found}["callbacks"] == 1009
    assert all(one.processors is None and one.memory_mib is None for one in found)
    assert "| callbacks |" in serving.table(found, NEED)
