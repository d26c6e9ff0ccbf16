"""Advice for a server, from made-up records: the same model, table and JSON as for a client."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.capacity import model, report
from bench.capacity.advice import advise
from bench.capacity.model import Need
from bench.questions import hold, serve
from bench.schema import TrialRecord
from bench.text import KIB, MIB
from tests.bench.costed import costed
from tests.bench.questions.test_hold import holding
from tests.bench.synthetic import MODELS, analysed

US = {"threads": 14.0, "callbacks": 9.0, "generators": 10.0, "async_await": 13.0, "bare": 6.0}
LOADED = costed(serve.COLUMNS, lambda label, _: US[label] / 1.1)
NEED = Need(connections=10_000, rate=100_000.0, delay_s=0.0, load=0.5)


def test_processors_and_memory_are_those_of_the_measurement() -> None:
    held = [one for one in holding(blocks=3) if isinstance(one, TrialRecord)]
    analysis = analysed([*LOADED, *held])
    costs = model.costs_of_servers(analysis)
    assert costs is not None
    found = {row.name: row for row in advise(costs, NEED).rows}
    assert set(found) == set(MODELS)
    memory = hold.measured(analysis)
    for label, row in found.items():
        assert row.can == "yes"
        assert row.processors == pytest.approx(US[label] * 0.1 / 0.5, rel=0.01)
        each = 10_000 * memory.median(label, hold.PLAIN) * KIB
        assert row.processes is not None
        program = row.processes * memory.median(label, "program") * MIB
        assert row.user_bytes == pytest.approx(each + program)
        assert row.notes == ()


def test_work_is_added_and_what_is_unknown_stays_empty() -> None:
    costs = model.costs_of_servers(analysed(LOADED))
    assert costs is not None
    found = advise(costs, replace(NEED, rate=None, work_s=0.001, tls=True))
    rows = {row.name: row for row in found.rows}
    assert round(rows["callbacks"].total_us or 0) == 1009
    assert all(row.user_bytes is None for row in found.rows)
    assert "What TLS costs a server" in " ".join(report.remarks(costs, found))
    assert model.costs_of_servers(analysed(LOADED[:1])) is None
