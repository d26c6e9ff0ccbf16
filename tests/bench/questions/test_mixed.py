"""Mixed load: times of pages without work, and what a queue would have made of them."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

import pytest

from bench import arrivals
from bench.analysis.loops import SlotSchedule, predicted_ms, responses
from bench.arrivals import WORK_EVERY
from bench.capacity.model import waiting_s
from bench.questions import mixed
from bench.questions.mixed import HALF, MEAN, TAIL, THEORY, WORK, key
from bench.questions.question import Answer, of_models
from bench.show.measured import Measured
from crawlers.registry import MODELS
from tests.bench import committed
from tests.bench.altered import where
from tests.bench.sure import sure
from tests.bench.synthetic import analysed
from tests.bench.worked import worked


def answered(**options: Any) -> Answer:
    return sure(mixed.answer(analysed(worked(**options))))


def found_in(**options: Any) -> Measured:
    return mixed.measured(analysed(worked(**options)))


FULL = found_in(blocks=5)


def test_a_loop_is_compared_with_a_queue_and_nothing_else_is() -> None:
    loops = FULL.with_(key(THEORY, 10), FULL.values)
    assert set(loops) == {"callbacks", "generators", "async_await"}
    for label in loops:
        theory = FULL.median(label, key(THEORY, 10))
        assert FULL.median(label, key(MEAN, 10)) == pytest.approx(theory, rel=0.02)


def test_without_a_rate_nothing_is_predicted() -> None:
    """A record with a rate of 0 had ended cite with a ZeroDivisionError."""
    trial = next(t for t in analysed(worked()).records.trials if t.label == "callbacks" and t.work)
    assert predicted_ms(trial) is not None
    assert predicted_ms(trial.model_copy(update={"params": {**trial.params, "rate": 0}})) is None


def test_pages_with_work_are_not_among_the_others() -> None:
    half, mean, tail = (
        FULL.median("async_await_pool", key(part, 10)) for part in (HALF, MEAN, TAIL)
    )
    assert half < mean < tail < FULL.median("async_await_pool", key(WORK, 10)) == 10


def test_the_tail_has_samples_beyond_it() -> None:
    """150 pages of which 15 need work: 100 are enough for ten beyond a 90th percentile."""
    found = found_in(works=(100,))
    assert {name.partition("-")[0] for name in found.values["callbacks"]} >= {TAIL}
    assert mixed.ENOUGH == 100


def test_the_reference_is_what_a_queue_makes_of_its_schedules() -> None:
    """Measured, and calculated without fitting anything to it: off by little in the median."""
    found = mixed.measured(committed.analysis())
    errors = [
        abs(found.median(label, name) / found.median(label, name.replace(THEORY, MEAN)) - 1)
        for name in found.measures
        if name.startswith(THEORY)
        for label in found.with_(name, found.values)
    ]
    if not errors:
        pytest.skip("this campaign does not measure mixed load with loops")
    assert median(errors) < 0.15


def test_chart_and_table_have_every_amount_of_work() -> None:
    answer = answered(works=(1, 10, 100))
    (table,), (figure,) = answer.tables, answer.figures
    rows = [row for row in table.texts if row[0] == "callbacks"]
    assert [row[1] for row in rows] == ["1.0 ms of work", "10 ms of work", "100 ms of work"]
    assert next(row for row in table.texts if row[0] == "threads")[5] == "–"
    assert "500 requests/s at 10 ms" in figure.notes[0]


@pytest.mark.parametrize("before", [True, False])
def test_a_load_that_changed_with_the_machine_is_in_the_table_alone(before: bool) -> None:
    """Work took 15.3 ms, so the processor was busy for 76 % and not 50, and pages took 25 ms."""
    took = (
        {"work__cpu_ms": lambda t: 15.3 if t.block < 2 else 10.9, "work__round_after_us": None}
        if before
        else {"work__round_after_us": lambda t: 76.5 if t.block < 2 else 54.5}
    )
    lines = where(worked(blocks=5), lambda t: t.work, **took)
    found = sure(mixed.answer(analysed(lines)))
    assert sure(found.headline).behind == "no interval"
    assert "in 3 trials each" in sure(found.headline).text
    assert "In 10 of 25 trials work took 1.53 to 1.53 times as long" in found.warnings[0]
    values = mixed.measured(analysed(lines)).values["callbacks"][key(MEAN, 10)]
    assert set(values) == {2, 3, 4}
    (table,) = found.tables
    assert {row[0] for row in table.texts} == {*MODELS, "async_await_pool"}


def test_threads_that_make_their_own_work_dearer_are_compared() -> None:
    """Their trials were left out for it, on a machine that had not changed: up to all but one."""
    lines = where(worked(blocks=5), lambda t: t.label == "threads" and t.work, work__cpu_ms=14.0)
    found = mixed.measured(analysed(lines)).values["threads"][key(MEAN, 10)]
    assert len(found) == 5


@pytest.mark.parametrize(("work_ms", "wait_ms"), [(10.0, 5.0), (15.3, 25.0)])
def test_a_queue_waits_as_pollaczek_and_khinchine_say(work_ms: float, wait_ms: float) -> None:
    """So a tenth more work is another load, and a queue explains a quick run's 25 ms."""
    count, rate = 400_000, 500.0
    plan = SlotSchedule(arrivals.poisson(rate, 7, count), arrivals.chosen(count, WORK_EVERY, 7))
    waits = plan.others(responses(plan, 0.0, work_ms / 1000, step_s=0.0, slack_s=0.0))
    formula = waiting_s(rate, 0.0, work_ms / 1000, 1 / WORK_EVERY)
    assert 1000 * formula == pytest.approx(wait_ms, rel=0.01)
    assert sum(waits) / len(waits) == pytest.approx(formula, rel=0.15)


def test_a_headline_begins_with_a_model() -> None:
    """threads_long_switch was the slowest of all, and stood in bold: nobody runs it."""
    name = key(MEAN, 10)
    slower = {block: 3 * value for block, value in FULL.values["callbacks"][name].items()}
    found = replace(FULL, values={**FULL.values, "threads_long_switch": {name: slower}})
    head = sure(of_models(found, name, "Pages take", [w for w in found.values if w not in MODELS]))
    assert head.pairs[0].label in MODELS
    assert found.median("threads_long_switch", name) > found.median(head.pairs[0].label, name)
