"""Two records compared, and the guard of our four models: only what really grew fails."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.__main__ import main
from bench.costs import guard, record
from bench.costs.guard import CROWD, Baseline, Entry
from bench.costs.record import Costs, CostsError
from bench.machine import instruments
from bench.machine.instruments import Instrument
from tests.bench.costs.samples import costs, header, sample
from tests.bench.synthetic import environment

COSTS = st.lists(st.floats(1000, 1e6), min_size=1, max_size=4)


@given(COSTS)
def test_a_record_passes_against_itself(values: list[float]) -> None:
    found = guard.compare(costs(*values), costs(*values))
    assert not found.failed
    assert [row.verdict for row in found.rows] == ["same"]


@given(COSTS, st.floats(1.03, 3))
def test_what_grew_beyond_all_ranges_fails_and_its_reverse_does_not(
    values: list[float], factor: float
) -> None:
    low, high = min(values), max(values)
    more = [value * factor * high / low for value in values]
    assert guard.compare(costs(*values), costs(*more)).failed
    assert [row.verdict for row in guard.compare(costs(*more), costs(*values)).rows] == ["fewer"]


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
        guard.compare(costs(1000.0), costs(1000.0, **other))
    assert guard.compare(costs(1000.0), costs(1000.0, **other), force=True).notes


def test_waiting_is_not_gated() -> None:
    """How often a thread meets another at a lock is not a matter of the code alone."""
    tools = {"system calls": "strace 6.1"}
    before = sample("system calls", page={"system_calls": 25.0, "working_calls": 3.0})
    more = sample("system calls", page={"system_calls": 90.0, "working_calls": 3.0})
    found = guard.compare(
        Costs(header(tools=tools), (before,)), Costs(header(tools=tools), (more,))
    )
    assert [row.cost for row in found.rows] == ["working_calls"]
    assert not found.failed


def test_a_backend_that_is_void_now_fails() -> None:
    void = Costs(header(), (sample(status="void", reason="wrong digest", counts={}),))
    found = guard.compare(costs(1000.0), void)
    assert found.failed
    assert found.lost == ("fetch, callbacks: instructions, seed 1: void: wrong digest",)


def test_compare_takes_records_of_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in (("old", 87_000.0), ("new", 95_000.0)):
        record.save(costs(value), tmp_path / name)
    old, new = str(tmp_path / "old"), str(tmp_path / "new" / record.FILE_NAME)
    assert main(["compare", old, new]) == 1
    assert "A page needs more in 1 of 1 comparisons." in capsys.readouterr().out
    assert main(["compare", old, new, "--within", "10%"]) == 0
    assert main(["compare", new, old]) == 0
    assert "No page needs more." in capsys.readouterr().out


HERE = "CPython 3.11.7, tool 1"
NAMES = [f"{workload} {who}" for workload, crowd in CROWD.items() for who in crowd]
BEFORE = dict.fromkeys(NAMES, 100_000.0)


@pytest.fixture(name="machine")
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "interpreter", lambda: HERE)


@pytest.fixture
def file(tmp_path: Path, machine: None) -> Path:
    """A baseline of this machine and of another."""
    entry = Entry(created="2026-11-22", instructions=BEFORE)
    made = Baseline(entries={HERE: entry, "another": entry})
    path = tmp_path / "baseline.json"
    path.write_text(made.model_dump_json())
    return path


@pytest.mark.parametrize(
    ("counted", "status"),
    [
        (BEFORE, "passed"),
        (dict.fromkeys(NAMES, 101_500.0), "passed"),
        (dict.fromkeys(NAMES, 50_000.0), "passed"),
        (BEFORE | {"fetch threads": 119_000.0}, "passed"),
        (BEFORE | {"fetch threads": 121_000.0}, "more"),
        (BEFORE | {"fetch generators": 102_500.0}, "more"),
    ],
)
def test_each_model_has_its_margin(file: Path, counted: dict[str, float], status: str) -> None:
    assert guard.check(file, lambda: counted).status == status


def test_the_outcome_says_what_to_do_and_what_was_not_counted(file: Path) -> None:
    outcome = guard.check(file, lambda: BEFORE | {"fetch generators": 102_500.0})
    assert "fetch generators" in outcome.lines[-1]
    assert guard.UPDATE in outcome.lines[-1]
    outcome = guard.check(file, lambda: {"fetch callbacks": 100_000.0})
    assert outcome.status == "passed"
    assert "fetch threads: not counted" in outcome.lines


def test_another_interpreter_is_recorded_and_passes(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "interpreter", lambda: "CPython 3.14.0, tool 1")
    outcome = guard.check(file, lambda: dict.fromkeys(NAMES, 9e9))
    assert outcome.status == "not checked"
    assert "no baseline for this interpreter (CPython 3.14.0" in outcome.lines[-1]


def test_a_machine_without_valgrind_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "baseline.json"
    gone = Instrument("instructions", "", missing="valgrind is not installed")
    monkeypatch.setattr(instruments, "cachegrind", lambda: gone)
    outcome = guard.check(file, lambda: BEFORE)
    assert (outcome.status, outcome.lines) == (
        "not checked",
        ("instructions are not checked: valgrind is not installed",),
    )
    with pytest.raises(CostsError, match="valgrind is not installed"):
        guard.update(file, lambda: BEFORE)


def test_an_update_keeps_others_only_if_nothing_got_more_expensive(file: Path) -> None:
    less = dict.fromkeys(NAMES, 90_000.0)
    guard.update(file, lambda: less)
    assert set(guard.load(file).entries) == {HERE, "another"}
    assert guard.load(file).entries[HERE].instructions == less
    outcome = guard.update(file, lambda: dict.fromkeys(NAMES, 120_000.0))
    assert set(guard.load(file).entries) == {HERE}
    assert "1 entries of other interpreters are gone" in outcome.lines[-1]


def test_an_update_needs_every_count(file: Path) -> None:
    before = file.read_text()
    with pytest.raises(CostsError, match="fetch threads"):
        guard.update(file, lambda: {"fetch callbacks": 1.0})
    assert file.read_text() == before


def test_the_committed_baseline_is_whole() -> None:
    for entry in guard.load().entries.values():
        assert set(entry.instructions) == set(NAMES)
        assert all(value > 1000 for value in entry.instructions.values())


def test_an_interpreter_is_its_release_build_and_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruments, "cachegrind", lambda: Instrument("instructions", "tool 1"))
    here = guard.interpreter()
    assert platform.python_version() in here
    assert here.endswith(f"{platform.machine()}, tool 1")
