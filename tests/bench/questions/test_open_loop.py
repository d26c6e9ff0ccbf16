"""Requests on a schedule: the whole distribution of their response times."""

from __future__ import annotations

import pytest

from bench.analysis import stats
from bench.analysis.schedules import shared_rate
from bench.analysis.wording import says
from bench.questions import open_loop
from bench.show.figures import Lines
from tests.bench.questions.campaigns import scheduled
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, altered, analysed

FULL = analysed(scheduled())


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
