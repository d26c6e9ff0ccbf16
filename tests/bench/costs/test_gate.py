"""Comparing two records: only what really grew fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.__main__ import main
from bench.costs import gate, record
from bench.costs.record import Costs, CostsError
from tests.bench.costs.samples import costs, header, sample
from tests.bench.synthetic import environment

COSTS = st.lists(st.floats(1000, 1e6), min_size=1, max_size=4)


@given(COSTS)
def test_a_record_passes_against_itself(values: list[float]) -> None:
    found = gate.compare(costs(*values), costs(*values))
    assert not found.failed
    assert [row.verdict for row in found.rows] == ["same"]


@given(COSTS, st.floats(1.03, 3))
def test_what_grew_beyond_all_ranges_fails_and_its_reverse_does_not(
    values: list[float], factor: float
) -> None:
    low, high = min(values), max(values)
    more = [value * factor * high / low for value in values]
    assert gate.compare(costs(*values), costs(*more)).failed
    assert [row.verdict for row in gate.compare(costs(*more), costs(*values)).rows] == ["fewer"]


def test_ranges_that_overlap_are_the_same() -> None:
    """Threads: a range of seven per cent must not fail by chance."""
    assert not gate.compare(costs(100_000, 107_000), costs(104_000, 111_000)).failed


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"pages": 600}, "pages: 500 and 600"),
        ({"slots": 10}, "slots: 100 and 10"),
        ({"environment": environment(python="CPython 3.12.1")}, "3.11.9 and CPython 3.12.1"),
        ({"environment": environment(python_build={"pgo": False})}, "build of the interpreter"),
        ({"environment": environment(packages={"httptools": "0.7.0"})}, "0.6.4 and 0.7.0"),
    ],
)
def test_records_that_were_counted_differently_are_refused(
    other: dict[str, Any], words: str
) -> None:
    with pytest.raises(CostsError, match=words):
        gate.compare(costs(1000.0), costs(1000.0, **other))
    assert gate.compare(costs(1000.0), costs(1000.0, **other), force=True).notes


def test_another_tool_is_not_compared() -> None:
    with pytest.raises(CostsError, match="nothing in common"):
        gate.compare(costs(1.0), costs(9.0, tools={"instructions": "hardware counter"}))


def test_switches_and_faults_are_not_gated() -> None:
    old = Costs(header(), (sample("kernel", page={"switches": 0.1, "bytes_sent": 90.0}),))
    new = Costs(header(), (sample("kernel", page={"switches": 9.0, "bytes_sent": 90.0}),))
    assert [row.cost for row in gate.compare(old, new).rows] == ["bytes_sent"]


def test_waiting_is_not_gated() -> None:
    """How often a thread meets another at a lock is not a matter of the code alone."""
    tools = {"system calls": "strace 6.1"}
    before = sample("system calls", page={"system_calls": 25.0, "working_calls": 3.0})
    more = sample("system calls", page={"system_calls": 90.0, "working_calls": 3.0})
    found = gate.compare(Costs(header(tools=tools), (before,)), Costs(header(tools=tools), (more,)))
    assert [row.cost for row in found.rows] == ["working_calls"]
    assert not found.failed


def test_a_backend_that_is_void_now_fails() -> None:
    void = Costs(header(), (sample(status="void", reason="wrong digest", counts={}),))
    found = gate.compare(costs(1000.0), void)
    assert found.failed
    assert found.lost == ("fetch, callbacks: instructions, seed 1: void: wrong digest",)


def test_compare_takes_records_of_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in (("old", 87_000.0), ("new", 95_000.0)):
        record.save(costs(value), tmp_path / name)
    old, new = str(tmp_path / "old"), str(tmp_path / "new" / record.FILE_NAME)
    assert main(["compare", old, new]) == 1
    assert "A page takes more in 1 of 1 comparisons." in capsys.readouterr().out
    assert main(["compare", old, new, "--within", "10%"]) == 0
    assert main(["compare", new, old]) == 0
    assert "No page takes more." in capsys.readouterr().out
