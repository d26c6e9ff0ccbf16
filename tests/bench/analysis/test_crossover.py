"""Where threads stop being fine, from records: cells, crossings, and what is said of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from bench.analysis import crossover
from bench.analysis.crossover import DEFAULT, LONG, Crossing, Crossover
from bench.report import findings
from bench.report.charts import crossover as chart
from bench.report.charts import story_of
from bench.report.charts.design import Design, Skip
from bench.schema import AnyRecord, TrialRecord
from tests.bench.synthetic import analysed, campaign, gathered

NAMES = ("threads", "threads_long_switch", "callbacks", "async_await")
Rates = Mapping[tuple[int, int], Mapping[str, float]]
"""(Slots, delay in ms) -> pages per second; ``async_await`` and ``callbacks`` fetch 10,000."""


def made(rates: Rates, blocks: int = 6, noise: float = 0.01) -> list[AnyRecord]:
    """A campaign with one point of crossover for each pair of slots and delay."""
    lines: list[AnyRecord] = []
    rng = np.random.default_rng(3)
    for line in campaign(
        backends=NAMES, base="callbacks", blocks=blocks, samples=1200, workloads=("throughput",)
    ):
        if not isinstance(line, TrialRecord):
            lines.append(line)
        elif line.point == "throughput-100":
            for (slots, delay), found in rates.items():
                if line.label in found or line.label in ("callbacks", "async_await"):
                    lines.append(
                        line.model_copy(
                            update={
                                "workload": "crossover",
                                "point": f"crossover-{slots}x{delay}ms",
                                "params": {
                                    **line.params,
                                    "slots": slots,
                                    "delay": f"fixed:{delay}" if delay else "none",
                                },
                                "pages_per_s": found.get(line.label, 10_000.0)
                                * math.exp(rng.normal(0, noise)),
                            }
                        )
                    )
    return lines


FALLING: Rates = {
    (100, 0): {DEFAULT: 15_000.0},
    (1000, 0): {DEFAULT: 5_000.0, LONG: 9_000.0},
    (1000, 100): {DEFAULT: 10_000.0},
    (10_000, 100): {DEFAULT: 9_990.0},
}


def found(lines: list[AnyRecord]) -> Crossover:
    result = crossover.crossover(gathered(lines))
    assert result is not None
    return result


def crossing(result: Crossover, label: str, delay: float) -> Crossing:
    (each,) = (c for c in result.crossings if (c.label, c.delay_ms) == (label, delay))
    return each


def test_threads_cross_between_the_last_that_is_fine_and_the_first_that_is_not() -> None:
    each = crossing(found(made(FALLING)), DEFAULT, 0)
    assert (each.above, each.below, each.most) == (100, 1000, 1000)
    # log(1.5) / log(3) of the way, on a logarithmic axis.
    assert each.at is not None
    assert each.at == pytest.approx(100 * 10 ** (math.log(1.5) / math.log(3)), rel=0.05)
    assert each.low is not None
    assert each.high is not None
    assert 100 < each.low < each.at < each.high < 1000


def test_where_the_delay_sets_the_rate_nothing_crosses() -> None:
    each = crossing(found(made(FALLING)), DEFAULT, 100)
    assert (each.above, each.below, each.at) == (10_000, None, None)


@pytest.mark.parametrize(("low", "counts"), [(0.991, False), (0.982, False), (0.97, True)])
def test_a_difference_within_two_percent_is_no_end_of_being_fine(low: float, counts: bool) -> None:
    """Behind 50 ms, at 100 slots, half a percent was shown, and became the headline."""
    (shown,) = (
        cell.against.ratio
        for cell in found(made(FALLING)).cells
        if (cell.label, cell.slots, cell.delay_ms) == (DEFAULT, 1000, 0.0) and cell.against
    )
    assert crossover.slower(shown)
    assert crossover.slower(replace(shown, value=0.995, low=low, high=0.999)) is counts


def test_a_crossing_that_is_undone_at_more_slots_is_none() -> None:
    rates = {(100, 0): {DEFAULT: 5_000.0}, (1000, 0): {DEFAULT: 10_000.0}}
    assert crossing(found(made(rates)), DEFAULT, 0).below is None


def test_slower_from_the_fewest_slots_has_no_place_of_crossing() -> None:
    each = crossing(found(made({(100, 0): {DEFAULT: 5_000.0}})), DEFAULT, 0)
    assert (each.above, each.below, each.at) == (None, 100, None)
    assert "the fewest that were measured" in crossover.said(each)


@pytest.mark.parametrize(
    ("low", "at", "high", "words"),
    [
        (180.0, 241.0, 395.0, "; interpolated, they cross at about 240 slots, 180 to 400"),
        (100.0, 100.0, 300.0, "; interpolated, they cross at about 100 slots, 100 to 300"),
        (306.0, 309.0, 312.0, "; interpolated, they cross at about 310 slots"),
        (100.0, 100.0, 100.0, ""),
        (100.0, 100.4, 100.9, ""),
        (1000.0, 1000.0, 1000.0, ""),
    ],
)
def test_an_interval_that_is_a_point_is_not_said(
    low: float, at: float, high: float, words: str
) -> None:
    """It said "not at 100; they cross at about 100 slots, 100 to 100"."""
    each = Crossing(DEFAULT, 50.0, 100, 1000, 1000, at, low, high)
    assert crossover.said(each) == f"from 1,000 slots on (not at 100{words})"


def test_too_few_blocks_cross_nowhere() -> None:
    result = found(made(FALLING, blocks=3))
    assert result.crossings == []
    assert crossover.finding(result) is None


def test_the_finding_has_both_intervals_the_cause_and_the_command() -> None:
    text = crossover.finding(found(made(FALLING)))
    assert text is not None
    head = "Threads fetch fewer pages per second than async/await from 1,000 slots on without delay"
    assert text.startswith(f"**{head}.** Shown without delay from 1,000 slots on")
    assert "without delay from 1,000 slots on (not at 100; interpolated" in text
    assert "Not shown behind 100 ms, with up to 10,000 slots." in text
    assert "at 1,000 slots without delay 50 % fewer" in text
    assert " by default and " in text
    assert "Cause: " in text
    assert crossover.COMMAND in text
    assert text in findings.findings(analysed(made(FALLING)))


def test_the_chart_is_told_where_it_was_measured() -> None:
    assert "crossover" in dict(story_of(analysed(made(FALLING))))
    assert "crossover" not in dict(story_of(analysed(campaign(blocks=2, samples=20))))


def test_the_chart_says_from_where_on() -> None:
    design = chart.design(analysed(made(FALLING)))
    assert isinstance(design, Design)
    assert design.finding is not None
    assert "from 1,000 slots on without delay" in design.finding
    assert "threads_long_switch 0.9" in design.alt
    assert "threads below async_await without delay from 1,000 slots on." in design.alt


def test_without_threads_and_coroutines_at_one_point_nothing_is_said() -> None:
    lines = campaign(backends=("callbacks", "threads"), blocks=2, samples=20)
    assert crossover.crossover(gathered(lines)) is None
    assert isinstance(chart.design(analysed(lines)), Skip)
    assert crossover.finding(None) is None


def test_delays_of_a_millisecond_are_left_to_the_map() -> None:
    map_only = campaign(blocks=5, samples=20, workloads=("throughput", "regime"))
    assert crossover.crossover(gathered(map_only)) is None
    lines = [*map_only, *(t for t in made(FALLING) if isinstance(t, TrialRecord))]
    assert {cell.delay_ms for cell in found(lines).cells} == {0, 10, 100}
