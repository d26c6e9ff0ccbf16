"""Requests on a schedule: the distribution of their response times, and that beside work."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from statistics import median
from typing import Any

import pytest

from bench.analysis import stats
from bench.analysis.schedules import capacity, heard, predicted_ms, responses, shared_rate
from bench.questions import mixed, open_loop
from bench.questions.mixed import MEAN, THEORY, key
from bench.questions.question import of_models
from bench.schema import Shares, TrialRecord
from bench.show.figures import Lines
from bench.show.words import says
from bench.sides.protocol import WORK_EVERY, chosen, poisson
from tests.bench import committed
from tests.bench.questions.campaigns import scheduled, worked
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, altered, analysed, where


def test_without_a_rate_nothing_is_predicted() -> None:
    """A record with a rate of 0 had ended cite with a ZeroDivisionError."""
    trial = next(t for t in analysed(worked()).records.trials if t.label == "callbacks" and t.work)
    assert predicted_ms(trial) is not None
    for nothing in ({"rate": 0}, {"warmup": 10**9}):
        other = trial.model_copy(update={"params": {**trial.params, **nothing}})
        assert predicted_ms(other) is None


def test_the_reference_is_what_a_queue_makes_of_its_schedules() -> None:
    """Measured, and calculated without fitting anything to it: off by little in the median."""
    found = mixed.measured(committed.analysis())
    errors = [
        abs(found.value(label, name) / found.value(label, name.replace(THEORY, MEAN)) - 1)
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
    worked = chosen(count, WORK_EVERY, 7)
    times = responses(poisson(rate, 7, count), worked, 0.0, work_ms / 1000, 0.0, 0.0)
    waits = [time for place, time in enumerate(times) if place not in worked]
    busy = rate / WORK_EVERY * work_ms / 1000
    formula = busy * work_ms / 1000 / (2 * (1 - busy))
    assert 1000 * formula == pytest.approx(wait_ms, rel=0.01)
    assert sum(waits) / len(waits) == pytest.approx(formula, rel=0.15)


def test_who_has_no_trial_at_an_amount_of_work_is_named() -> None:
    """The chart had a dash for uvloop beside 1 ms of work."""
    (chart,) = sure(mixed.answer(committed.analysis())).figures
    assert "No trial of threads_long_switch and uvloop at 1 ms." in chart.notes[0]


def test_a_headline_begins_with_a_model() -> None:
    """threads_long_switch was the slowest of all, and stood in bold: nobody runs it."""
    name, full = key(MEAN, 10), mixed.measured(analysed(worked(blocks=5)))
    slower = {block: 3 * value for block, value in full.values["callbacks"][name].items()}
    found = replace(full, values={**full.values, "threads_long_switch": {name: slower}})
    head = sure(of_models(found, name, "Pages take", [w for w in found.values if w not in MODELS]))
    assert head.pairs[0].label in MODELS
    assert found.value("threads_long_switch", name) > found.value(head.pairs[0].label, name)


@pytest.mark.parametrize("model", [4.9, 5.0, 5.1])
def test_nothing_is_said_of_one_model_that_differs_from_no_remedy(model: float) -> None:
    """Where async_await_pool was no faster, a quick run ended with a traceback."""
    name, full = key(MEAN, 10), mixed.measured(analysed(worked(blocks=5)))
    up, down = (
        {block: mean + sign * (block % 3) for block in range(5)}
        for mean, sign in ((model, 1), (7.0, -1))
    )
    rows = {"async_await": {name: up}, "async_await_pool": {name: down}}
    found = replace(full, values=rows)
    assert of_models(found, name, "Pages take", ["async_await_pool"]) is None


full = cache(lambda: analysed(scheduled()))


def test_a_rate_that_is_reached_in_one_block_is_not_out_of_reach() -> None:
    """Beside other programs generators "do not reach 2,000 requests/s (990 to 2,024)"."""
    data = full().by_size("openloop", "rate")
    rate = sure(open_loop.telling(data, MODELS))
    behind = sure(open_loop.behind(data, MODELS, rate))
    (label,) = (x for x in MODELS if says(x, "do") in behind.text.lower())
    first, *others = data[label][rate]
    quiet = [altered(first, achieved_per_s=first.offered_per_s), *others]
    assert open_loop.behind({label: {rate: others}}, [label], rate)
    assert open_loop.behind({label: {rate: quiet}}, [label], rate) is None


def test_a_rate_that_is_reached_to_the_digits_that_are_said_is_reached() -> None:
    """Of 1,014 that were due, "generators do not reach 1,000 requests/s (1,000)"."""
    data = full().by_size("openloop", "rate")
    rate = sure(open_loop.telling(data, MODELS))
    trials = [altered(t, offered_per_s=1.02 * rate) for t in data["threads"][rate]]
    for achieved, told in ((rate - 0.3, False), (0.9 * rate, True)):
        own = [altered(t, achieved_per_s=achieved) for t in trials]
        found = open_loop.behind({"threads": {rate: own}}, ["threads"], rate)
        assert (found is not None) == told


def test_a_rate_that_a_disturbed_trial_missed_is_no_capacity() -> None:
    """Callbacks reached 957 of 1,000 requests/s and all of 4,000: a point at 418 % was drawn."""
    rates = full().by_size("openloop", "rate")["callbacks"]
    most = sure(capacity(rates))
    low = min(rates)
    disturbed = [altered(trial, achieved_per_s=0.5 * low) for trial in rates[low]]
    assert capacity(rates | {low: disturbed}) == most, "it carried more than that"
    carried = {rate: trials for rate, trials in rates.items() if rate < most}
    assert capacity(carried | {low: disturbed}) is capacity(carried) is None


def test_who_carries_every_rate_is_named_where_a_line_is_missing() -> None:
    """A user's chart of eight had no callbacks, the base, and no word of them."""
    data = full().by_size("openloop", "rate")
    carried = {
        rate: [altered(trial, achieved_per_s=trial.offered_per_s) for trial in trials]
        for rate, trials in data["callbacks"].items()
    }
    for callbacks, named in ((data["callbacks"], False), (carried, True)):
        every = {**data, "callbacks": callbacks}
        drawn = sure(open_loop.over_capacity(MODELS, every, open_loop.measured(every)))
        assert drawn.notes[-1].endswith("beyond what they carry: callbacks.") == named


def test_who_carries_no_rate_is_named_where_a_line_is_missing() -> None:
    """A slow machine's aiohttp kept up with none of four rates."""
    data = full().by_size("openloop", "rate")
    slow = {
        rate: [altered(trial, achieved_per_s=900.0) for trial in trials]
        for rate, trials in data["callbacks"].items()
    }
    every = {**data, "callbacks": slow}
    drawn = sure(open_loop.over_capacity(MODELS, every, open_loop.measured(every)))
    assert drawn.notes[-1].endswith("that they carry: callbacks.")


@pytest.mark.parametrize(
    "others",
    [
        {"host__steal_s": 0.93},
        {"shares": Shares(server_share=0.1, waited_share=0.93)},
        {"kernel__throttled_us": 930_000},
    ],
)
def test_a_tail_that_may_be_another_s_is_left_out(others: dict[str, Any]) -> None:
    """Callbacks had a p99 of 120 ms in a trial of a second of which the host took 0.93."""
    lines = where(scheduled(), lambda t: t.workload == "openloop", elapsed_s=1.0, host__steal_s=0.0)
    usual = sure(open_loop.answer(analysed(lines)))
    assert not usual.warnings
    point = next(t.point for t in analysed(lines).records.trials if t.label == "threads")

    def robbed(blocks: Collection[int]) -> tuple[str, int]:
        """What is said where the host took part in these, and how many blocks are left."""

        def there(trial: TrialRecord) -> bool:
            return trial.block in blocks and (trial.label, trial.point) == ("threads", point)

        analysis = analysed(where(lines, there, **others))
        (said,) = sure(open_loop.answer(analysis)).warnings
        found = open_loop.measured(heard(analysis.by_size("openloop", "rate")))
        rate = float(point.rpartition("-")[2])
        spread = found.spread("threads", open_loop.key("p99", rate))
        return said, spread.count if spread else 0

    every = {trial.block for trial in analysed(lines).records.trials}
    said, left = robbed([0])
    assert re.match(r"In 1 of \d+ trials .* took more than 2 % of the time, up to 930 ms:", said)
    assert said.endswith("in no response time.")
    assert left == len(every) - 1
    assert robbed(every)[1] == 0


def test_without_a_warm_up_no_response_time_is_shown() -> None:
    """At 4,000/s the p99 of threads was 7.2 ms with the start of its slots, 0.85 without."""
    lines = where(scheduled(), lambda t: t.workload == "openloop", params__warmup=None)
    answer = sure(open_loop.answer(analysed(lines)))
    assert not answer.figures
    assert "p99" not in sure(answer.headline).text
    assert any("no warm-up" in text for text in answer.warnings)


def test_where_the_host_takes_part_in_most_trials_it_is_the_machine() -> None:
    lines = where(scheduled(), lambda t: t.workload == "openloop", elapsed_s=1.0, host__steal_s=0.3)
    data = analysed(lines).by_size("openloop", "rate")
    assert heard(data) == data
    (said,) = sure(open_loop.answer(analysed(lines))).warnings
    assert said.endswith("a p99 there may be theirs.")


@pytest.mark.parametrize("at_once", [False, True])
def test_few_trials_differ_where_they_do_not_overlap(at_once: bool) -> None:
    """Three blocks have no interval: 1.9 and 1.8 ms "in 3 trials each" is no headline."""
    name = key(MEAN, 10)
    found = mixed.measured(analysed(worked(blocks=3)))
    values = {"threads": (5.0, 6.0, 2.5), "callbacks": (1.0, 2.0, 3.0 if at_once else 2.4)}
    rows = {label: {name: dict(enumerate(own))} for label, own in values.items()}
    head = sure(of_models(replace(found, values=rows), name, "Pages take"))
    assert ("no difference is shown" in head.text) == at_once
    assert ("in 3 trials each" in head.text) != at_once


def test_a_title_has_the_values_that_are_drawn() -> None:
    """A user's said 1.6 ms over a mark at 1.5: of the blocks that both had, and of all."""
    name = key(MEAN, 10)
    found = mixed.measured(analysed(worked(blocks=5)))
    values = {
        "threads": (5.0, 5.1, 4.9, 5.2, 4.8, 9.0, 9.0),
        "callbacks": (1.0, 1.1, 1.2, 0.9, 0.8),
    }
    rows = {label: {name: dict(enumerate(own))} for label, own in values.items()}
    head = sure(of_models(replace(found, values=rows), name, "Pages take"))
    assert head.text == "Pages take 5.1 ms with threads and 1.0 ms with callbacks"


def test_a_line_of_the_spectrum_is_the_middle_of_its_blocks() -> None:
    answer = sure(open_loop.answer(full()))
    (figure,) = (one for one in answer.figures if one.name == "spectrum")
    assert isinstance(figure.data, Lines)
    (plot,) = figure.data.plots
    rate = shared_rate(full().by_size("openloop", "rate"), MODELS)
    found = open_loop.measured(full().by_size("openloop", "rate"))
    for label, line in plot.lines.items():
        assert len(plot.hairs[label]) == line[0].y.count >= stats.MIN_BLOCKS
        expected = found.value(label, open_loop.key("p99", sure(rate)))
        assert plot.marks[label].y.value == expected, "p99 is not drawn where its number is"
        last = 100 * (1 - 10 ** -line[-1].x)
        least = min(t.response_time.count for t in full().records.trials if t.response_time)
        assert (1 - last / 100) * least == pytest.approx(stats.MIN_BEYOND, rel=0.2)


def test_a_place_on_the_axis_is_the_number_of_nines() -> None:
    assert [open_loop.nines(x) for x in (0, 90, 99, 99.9)] == pytest.approx([0, 1, 2, 3])
