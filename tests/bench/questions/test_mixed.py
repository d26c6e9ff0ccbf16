"""Mixed load: times of pages without work, and what a queue would have made of them."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest

from bench import arrivals
from bench.analysis.loops import SlotSchedule, predicted_ms, responses
from bench.arrivals import WORK_EVERY
from bench.questions import mixed
from bench.questions.mixed import MEAN, THEORY, key
from bench.questions.question import of_models
from crawlers.registry import MODELS
from tests.bench import committed
from tests.bench.questions.campaigns import worked
from tests.bench.sure import sure
from tests.bench.synthetic import analysed


def test_without_a_rate_nothing_is_predicted() -> None:
    """A record with a rate of 0 had ended cite with a ZeroDivisionError."""
    trial = next(t for t in analysed(worked()).records.trials if t.label == "callbacks" and t.work)
    assert predicted_ms(trial) is not None
    assert predicted_ms(trial.model_copy(update={"params": {**trial.params, "rate": 0}})) is None


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


@pytest.mark.parametrize(("work_ms", "wait_ms"), [(10.0, 5.0), (15.3, 25.0)])
def test_a_queue_waits_as_pollaczek_and_khinchine_say(work_ms: float, wait_ms: float) -> None:
    """So a tenth more work is another load, and a queue explains a quick run's 25 ms."""
    count, rate = 400_000, 500.0
    plan = SlotSchedule(arrivals.poisson(rate, 7, count), arrivals.chosen(count, WORK_EVERY, 7))
    waits = plan.others(responses(plan, 0.0, work_ms / 1000, step_s=0.0, slack_s=0.0))
    busy = rate / WORK_EVERY * work_ms / 1000
    formula = busy * work_ms / 1000 / (2 * (1 - busy))
    assert 1000 * formula == pytest.approx(wait_ms, rel=0.01)
    assert sum(waits) / len(waits) == pytest.approx(formula, rel=0.15)


def test_a_headline_begins_with_a_model() -> None:
    """threads_long_switch was the slowest of all, and stood in bold: nobody runs it."""
    name, full = key(MEAN, 10), mixed.measured(analysed(worked(blocks=5)))
    slower = {block: 3 * value for block, value in full.values["callbacks"][name].items()}
    found = replace(full, values={**full.values, "threads_long_switch": {name: slower}})
    head = sure(of_models(found, name, "Pages take", [w for w in found.values if w not in MODELS]))
    assert head.pairs[0].label in MODELS
    assert found.median("threads_long_switch", name) > found.median(head.pairs[0].label, name)
