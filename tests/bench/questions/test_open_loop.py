"""Requests on a schedule: the rate that tells most, and what a closed loop would have missed."""

from __future__ import annotations

import re

import pytest

from bench.analysis import stats
from bench.analysis.offered import capacity, keeps_up, shared_rate
from bench.analysis.wording import says
from bench.questions import open_loop
from bench.show.figures import Lines
from bench.show.table import MISSING
from tests.bench.altered import altered
from tests.bench.questions.campaigns import scheduled
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed

FULL = analysed(scheduled())


def test_the_rate_is_the_lowest_that_some_model_does_not_keep_up_with() -> None:
    data = FULL.by_size("openloop", "rate")
    rate = sure(open_loop.telling(data, MODELS))
    rates = list(data["threads"])
    late = {r: [x for x in MODELS if not keeps_up(data[x][r], r)] for r in rates}
    assert late[rate]
    assert not any(late[r] for r in rates if r < rate)


def test_a_rate_that_is_not_reached_has_no_response_time() -> None:
    """Its p99 was quoted: 79 ms, which grows with the length of the trial."""
    data = FULL.by_size("openloop", "rate")
    found, rate = open_loop.measured(data), sure(open_loop.telling(data, MODELS))
    late = {label for label in MODELS if not keeps_up(data[label][rate], rate)}
    assert late
    assert {x for x in MODELS if not found.spread(x, open_loop.key("p99", rate))} == late
    answer = sure(open_loop.answer(FULL))
    assert re.search(r"\S+ do(es)? not reach [\d,]+ requests/s \([\d,]+\)", answer.prose)
    (table,) = answer.tables
    missing = [row[0] for row in table.texts if row[4] == MISSING and row[1] == f"{rate:,.0f}"]
    assert set(missing) & set(MODELS) == late
    figure = next(one for one in answer.figures if one.name == "open_loop")
    assert isinstance(figure.data, Lines)
    _, plot = figure.data.plots
    assert all(point.x < 1 for line in plot.lines.values() for point in line)
    assert plot.beyond
    assert set(plot.lines) == {x for x in MODELS if capacity(data[x])}


def test_a_rate_that_is_reached_in_one_block_is_not_out_of_reach() -> None:
    """Beside other programs generators "do not reach 2,000 requests/s (990 to 2,024)"."""
    data = FULL.by_size("openloop", "rate")
    rate = sure(open_loop.telling(data, MODELS))
    behind = sure(open_loop.behind(data, MODELS, rate))
    (label,) = (x for x in MODELS if says(x, "do") in behind.text.lower())
    first, *others = data[label][rate]
    quiet = [altered(first, achieved_per_s=first.offered_per_s), *others]
    assert open_loop.behind({label: {rate: others}}, [label], rate)
    assert open_loop.behind({label: {rate: quiet}}, [label], rate) is None


def test_a_line_of_the_spectrum_is_the_middle_of_its_blocks() -> None:
    answer = sure(open_loop.answer(FULL))
    (figure,) = (one for one in answer.figures if one.name == "spectrum")
    assert isinstance(figure.data, Lines)
    (plot,) = figure.data.plots
    rate = shared_rate(FULL.by_size("openloop", "rate"), MODELS)
    found = open_loop.measured(FULL.by_size("openloop", "rate"))
    for label, line in plot.lines.items():
        assert len(plot.hairs[label]) == line[0].y.count >= stats.MIN_BLOCKS
        expected = found.median(label, open_loop.key("p99", sure(rate)))
        assert plot.marks[label].y.median == expected, "p99 is not drawn where its number is"
        last = 100 * (1 - 10 ** -line[-1].x)
        least = min(t.response_time.count for t in FULL.records.trials if t.response_time)
        assert (1 - last / 100) * least == pytest.approx(stats.MIN_BEYOND, rel=0.2)


def test_a_place_on_the_axis_is_the_number_of_nines() -> None:
    assert [open_loop.nines(x) for x in (0, 90, 99, 99.9)] == pytest.approx([0, 1, 2, 3])
