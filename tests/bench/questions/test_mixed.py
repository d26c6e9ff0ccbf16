"""Mixed load: times of pages without work, and what a queue would have made of them."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any, Final

import pytest

from bench.analysis import loops
from bench.questions import mixed
from bench.questions.mixed import Mixed
from tests.bench import committed
from tests.bench.sure import sure
from tests.bench.synthetic import analysed
from tests.bench.worked import worked


def rows_of(**options: Any) -> list[Mixed]:
    return mixed.rows(analysed(worked(**options)))


def said(**options: Any) -> str:
    """The finding about a made-up campaign."""
    answer = sure(mixed.answer(analysed(worked(**options))))
    return sure(answer.finding)


FULL = rows_of()
BY_LABEL = {row.label: row for row in FULL}
ON_EPOLL: Final = {"timers": loops.EPOLL, "mechanism": {"selector": "EpollSelector"}}


def test_a_loop_is_compared_with_a_queue_and_nothing_else_is() -> None:
    assert [row.label for row in FULL if row.predicted] == [
        "callbacks",
        "generators",
        "async_await",
    ]


def test_what_is_a_queue_agrees_with_the_queue() -> None:
    row = BY_LABEL["callbacks"]
    assert row.predicted is not None
    assert row.predicted.loop is None, "how it waits for a time is not in its record"
    assert row.predicted.best == row.predicted.queue
    assert row.mean_ms == pytest.approx(row.predicted.queue.mean_ms, rel=0.02)
    assert row.p50_ms == pytest.approx(row.predicted.queue.p50_ms, rel=0.02)
    assert row.tail_ms == pytest.approx(row.predicted.queue.tail_ms, rel=0.02)
    assert 0 < sure(row.predicted.long_run_ms) < 10 * row.mean_ms


@pytest.mark.parametrize(
    ("timers", "mechanism"),
    [
        (loops.EPOLL, {"selector": "EpollSelector"}),
        (loops.SELECT, {"selector": "SelectSelector"}),
        (loops.LIBUV, {"loop": "uvloop.Loop"}),
    ],
)
def test_a_loop_whose_timers_are_known_is_followed(
    timers: loops.Timers, mechanism: dict[str, str]
) -> None:
    rows = rows_of(timers=timers, mechanism=mechanism)
    row = next(r for r in rows if r.label == "callbacks")
    assert row.predicted is not None
    assert row.predicted.loop is not None
    assert row.predicted.best == row.predicted.loop
    # Trials of uvloop begin somewhere between two steps of its clock, which no record has.
    near = 0.1 if timers.counted else 0.01
    assert row.mean_ms == pytest.approx(row.predicted.loop.mean_ms, rel=near)
    assert row.tail_ms == pytest.approx(row.predicted.loop.tail_ms, rel=near)
    assert row.predicted.queue.mean_ms < row.predicted.loop.mean_ms


def test_the_finding_says_what_of_it_is_the_queue() -> None:
    found = said(**ON_EPOLL)
    assert "On the same schedules, theory gives a mean of" in found
    assert "; the rest is the loop’s timers and the steps of a page." in found
    assert "not 10 ms" not in found


def test_work_that_took_another_time_is_said() -> None:
    rows = [replace(row, cpu_ms=7.0 + 0.1 * n) for n, row in enumerate(FULL)]
    (found,) = mixed.speed(rows)
    assert "The work took 7.0 ms to 7.4 ms of the processor in these trials, not 10 ms" in found
    assert "the machine was slower when a round of it was measured alone" in found
    assert mixed.speed([replace(row, cpu_ms=9.5) for row in FULL]) == []


def test_the_reference_is_what_a_loop_makes_of_its_schedules() -> None:
    """Measured, and calculated without fitting anything to it: off by little in the median."""
    rows = [r for r in mixed.rows(committed.analysis()) if r.undisturbed]
    found = [r for r in rows if r.predicted and r.predicted.loop]
    if not found:
        pytest.skip("this campaign does not measure mixed load with loops")
    errors = [abs(r.predicted.best.mean_ms / r.mean_ms - 1) for r in found if r.predicted]
    queue_only = [abs(r.predicted.queue.mean_ms / r.mean_ms - 1) for r in found if r.predicted]
    assert median(errors) < 0.15
    assert median(errors) < median(queue_only)


def test_pages_with_work_are_not_among_the_others() -> None:
    row = BY_LABEL["async_await_pool"]
    assert (row.count, len(row.means), row.every, row.rate) == (1350, 3, 10, 500)
    assert sure(row.worked_p50_ms) > 10 > row.p50_ms
    assert min(row.means.values()) <= row.mean_ms <= max(row.means.values())


def test_the_tail_has_samples_beyond_it() -> None:
    (few,) = {row.tail for row in rows_of(blocks=1)}
    (many,) = {row.tail for row in FULL}
    assert (few, many) == (90.0, 99.0)


def test_the_least_work_comes_first() -> None:
    rows = rows_of(works=(100, 1, 10))
    assert list(dict.fromkeys(row.work_ms for row in rows)) == [1, 10, 100]
    assert {row.work_ms for row in mixed.usual(rows)} == {10}


def test_the_finding_has_its_cause_its_check_and_its_command() -> None:
    found = said(blocks=5)
    assert found.startswith("**While others compute 10 ms, pages take ")
    assert "async_await_pool** (means; " in found
    assert "99th percentile" in found
    assert "That is the queue for the processor, without timers." in found
    assert "--only mixed" in found
    assert "had the client’s processor as well" not in found


def test_chart_and_table_have_every_amount_of_work() -> None:
    answer = sure(mixed.answer(analysed(worked(works=(1, 10, 100)))))
    (table,), (figure,) = answer.tables, answer.figures
    rows = [row for row in table.texts if row[0] == "callbacks"]
    assert [row[1] for row in rows] == ["1.0 ms of work", "10 ms of work", "100 ms of work"]
    assert rows[1][5].endswith("(p99)")
    assert next(row for row in table.texts if row[0] == "threads")[6:9] == ["–"] * 3
    assert "3 blocks" in figure.subtitle
    assert "500 requests/s at 10 ms" in figure.notes[0]


def test_a_processor_that_was_shared_is_said() -> None:
    rows = rows_of(slower=1.6)
    assert [row.undisturbed for row in rows if row.predicted] == [False] * 3
    found = said(slower=1.6)
    assert "the work took 16 ms by the clock and 10 ms of the processor" in found


def test_a_queue_that_grows_has_no_long_run() -> None:
    row = next(r for r in rows_of(slower=3.0) if r.label == "callbacks")
    assert row.predicted is not None
    assert row.predicted.long_run_ms is None
    assert row.mean_ms == pytest.approx(row.predicted.queue.mean_ms, rel=0.05)
