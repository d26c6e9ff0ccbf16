"""A page's processor time splits into sockets, shared parts and the model."""

from __future__ import annotations

import pytest

from bench.analysis import segments
from bench.analysis.analysis import Analysis
from bench.report.tables.segments import segments as segments_table
from bench.store import Records
from tests.bench.synthetic import MODELS, campaign, gathered, rungs
from tests.bench.turned import control, in_turns

COSTS = {"threads": 50.0, "callbacks": 20.0, "generators": 26.0, "async_await": 34.0}
BARE, SHARED = 11.0, 7.0


def made(stack: str | None = None) -> Records:
    """A campaign whose machine is slower in each block: only what is paired stays equal."""
    ladder = [
        rung.model_copy(update={"family": "stack"}) if rung.name == stack else rung
        for rung in rungs(MODELS)
    ]
    lines = campaign(blocks=5, samples=20, workloads=("throughput",), ladder=ladder)
    records = gathered(lines)
    point = "throughput-100"
    mine = [t for t in records.trials if t.point == point and t.label == t.backend]
    records.trials[:] = [in_turns(t, COSTS[t.label] * (1 + t.block / 10)) for t in mine]
    first = {t.block: t for t in mine}
    for block, trial in first.items():
        slow = 1 + block / 10
        records.controls.append(control(trial, "bare", BARE * slow))
        records.controls.append(control(trial, "shared", SHARED * slow))
    return records


def test_the_parts_add_up_to_the_whole() -> None:
    rows = segments.segments(made())
    assert [row.label for row in rows] == list(MODELS)
    for row in rows:
        assert row.shared is not None
        assert row.total.median == pytest.approx(COSTS[row.label] * 1.2)
        assert row.sockets == pytest.approx(BARE * 1.2)
        assert row.sockets + row.shared + row.rest.median == pytest.approx(row.total.median)
        assert row.over_sockets == pytest.approx(COSTS[row.label] / BARE)


def test_the_parts_are_those_of_the_same_block() -> None:
    """With the medians of all blocks instead, a drifting machine would blur the model."""
    (threads,) = (row for row in segments.segments(made()) if row.label == "threads")
    model = COSTS["threads"] - BARE - SHARED
    assert (threads.rest.low, threads.rest.high) == pytest.approx((model, model * 1.4))


def test_a_stack_has_no_shared_parts() -> None:
    (row,) = (row for row in segments.segments(made("threads")) if row.label == "threads")
    assert row.shared is None
    assert row.sockets + row.rest.median == pytest.approx(row.total.median)


def test_without_controls_there_is_nothing_to_split() -> None:
    records = made()
    records.controls.clear()
    assert segments.segments(records) == []
    assert segments_table(Analysis(records)).rows == []


def test_a_control_that_does_not_count_is_not_used() -> None:
    records = made()
    records.controls[:] = [c.model_copy(update={"status": "void"}) for c in records.controls]
    assert segments.segments(records) == []


def test_no_table_of_backends_has_a_control() -> None:
    analysis = Analysis(made())
    assert set(analysis.labels) == set(MODELS)
    assert all(row.label in MODELS for row in analysis.rows)
