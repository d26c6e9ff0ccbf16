"""A whole small run, and what a machine has no room for."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from bench.machine import instruments
from bench.machine.instruments import Instrument
from bench.micro.record import MicroError
from bench.micro.waiting import measure, record
from bench.micro.waiting import report as tasks
from bench.micro.waiting.kinds import KINDS
from bench.micro.waiting.lines import lines
from bench.micro.waiting.measure import TasksOptions, refused

PATIENCE_S = 280
pytestmark = pytest.mark.timeout(PATIENCE_S + 20)


@pytest.mark.slow
def test_threads_take_more_than_generators(tmp_path: Path) -> None:
    options = TasksOptions(
        tmp_path,
        repeats=1,
        kinds=("generator", "thread"),
        counts=lambda kind: (
            (20, 60, 120, 240) if kind.threaded else (5_000, 10_000, 20_000, 40_000)
        ),
        turns=20,
        count_instructions=False,
    )
    made = measure.run(options, Console(quiet=True))
    assert record.load(tmp_path) == made
    generator, thread = lines(made)
    assert generator.total is not None
    assert thread.total is not None
    assert 100 < generator.total < 1000
    assert thread.total > 10 * generator.total
    assert made.kinds["thread"].not_counted == "not asked for"


def test_a_tool_that_counts_nothing_loses_no_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = Instrument("instructions", "a tool")
    monkeypatch.setattr(instruments, "cachegrind", lambda: tool)
    options = TasksOptions(
        tmp_path, repeats=1, kinds=("generator",), counts=lambda _: (100, 200), turns=5
    )
    made = measure.run(options, Console(quiet=True))
    assert len(made.kinds["generator"].held) == 2
    assert made.kinds["generator"].instructions is None
    assert "generator under a tool: no count" in (made.kinds["generator"].not_counted or "")
    notes = tasks.times(made).notes
    assert any("generator were not counted" in note for note in notes)


def test_what_does_not_fit_is_refused_with_the_numbers(tmp_path: Path) -> None:
    assert refused(KINDS["trio"], 1000, tmp_path) is None
    reason = refused(KINDS["trio"], 10**12, tmp_path)
    assert reason is not None
    assert "GiB of memory may be needed" in reason
    threads = refused(KINDS["thread"], 10**9, tmp_path)
    assert threads is not None
    assert "threads" in threads
    assert "needed" in threads


def test_a_process_that_fails_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "CHILD", "bench.micro.waiting.nonesuch")
    with pytest.raises(MicroError, match=r"the process of trio ended: .*nonesuch"):
        measure.hold(KINDS["trio"], 10, [])
