"""Where threads stop being fine, from records: cells, crossings, and what is said of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
import pytest

from bench.plan.workloads import SWITCHING
from bench.questions import crossover
from bench.questions.crossover import DEFAULT, Crossing, Crossover
from bench.questions.question import Answer, Headline
from bench.schema import AnyRecord, TrialRecord
from bench.show.figures import Lines
from tests.bench.altered import altered, replaced
from tests.bench.sure import sure
from tests.bench.synthetic import analysed, campaign

NAMES = ("threads", "threads_long_switch", "callbacks", "async_await")
LONG = SWITCHING[1]
Rates = Mapping[tuple[int, int], Mapping[str, float]]
"""(Slots, delay in ms) -> pages per second; ``async_await`` and ``callbacks`` fetch 10,000."""


def made(rates: Rates, blocks: int = 6) -> list[AnyRecord]:
    """A campaign with one point of crossover for each pair of slots and delay."""
    rng = np.random.default_rng(3)

    def moved(line: TrialRecord) -> Iterator[TrialRecord]:
        others = dict.fromkeys(("callbacks", "async_await"), 10_000.0)
        for (slots, delay), found in rates.items() if line.point == "throughput-100" else ():
            if rate := {**others, **found}.get(line.label):
                yield altered(
                    line,
                    workload="crossover",
                    point=f"crossover-{slots}x{delay}ms",
                    params__slots=slots,
                    params__delay=f"fixed:{delay}" if delay else "none",
                    pages_per_s=rate * math.exp(rng.normal(0, 0.01)),
                )

    whole = {"base": "callbacks", "samples": 1200, "workloads": ("throughput",)}
    return replaced(campaign(backends=NAMES, blocks=blocks, **whole), moved)  # type: ignore[arg-type]


FALLING: Rates = {
    (100, 0): {DEFAULT: 15_000.0},
    (1000, 0): {DEFAULT: 5_000.0, LONG: 9_000.0},
    (1000, 100): {DEFAULT: 10_000.0},
    (10_000, 100): {DEFAULT: 9_990.0},
}


def found(lines: list[AnyRecord]) -> Crossover:
    result = sure(crossover.measured(analysed(lines)))
    return result


@cache
def falling() -> Crossover:
    return found(made(FALLING))


def answered(lines: list[AnyRecord]) -> tuple[Answer, Headline]:
    result = sure(crossover.answer(analysed(lines)))
    return result, sure(result.headline)


def crossed(*, blocks: int = 5, **_: object) -> list[AnyRecord]:
    """A campaign that answers the question, whatever the backends of others."""
    return made(FALLING, blocks)


def crossing(result: Crossover, delay: float = 0) -> Crossing:
    """Where the threads with the usual switch interval cross."""
    (each,) = (c for c in result.crossings if (c.label, c.delay_ms) == (DEFAULT, delay))
    return each


def test_threads_cross_between_the_last_that_is_fine_and_the_first_that_is_not() -> None:
    each = crossing(falling())
    assert (each.above, each.below, each.most) == (100, 1000, 1000)


def test_where_the_delay_sets_the_rate_nothing_crosses() -> None:
    each = crossing(falling(), 100)
    assert (each.above, each.below) == (10_000, None)


def test_a_crossing_that_is_undone_at_more_slots_is_none() -> None:
    rates = {(100, 0): {DEFAULT: 5_000.0}, (1000, 0): {DEFAULT: 10_000.0}}
    assert crossing(found(made(rates))).below is None


def test_slower_from_the_fewest_slots_has_no_place_of_crossing() -> None:
    each = crossing(found(made({(100, 0): {DEFAULT: 5_000.0}})))
    assert (each.above, each.below) == (None, 100)
    assert "the fewest that were measured" in crossover.said(each)


def test_where_nothing_crosses_the_headline_says_so() -> None:
    _, headline = answered(made(FALLING, blocks=3))
    assert headline.text.startswith("Too few blocks")
    assert headline.behind == "3 blocks, and an interval needs 5"
    _, headline = answered(made({(1000, 100): {DEFAULT: 10_000.0}}))
    assert headline.text == "With up to 1,000 slots threads do not fall behind"


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (0, "`threads` end no crawl in 60 s (3 trials)"),
        (1, "`threads` 300 (1 of 3 trials)"),
    ],
)
def test_a_crawl_of_ten_thousand_that_does_not_end_is_an_answer(ended: int, said: str) -> None:
    lines: list[AnyRecord] = []
    for line in made({**FALLING, (10_000, 1000): {DEFAULT: 300.0}}, blocks=3):
        if isinstance(line, TrialRecord) and line.point == crossover.TEN_THOUSAND:
            late = line.label == DEFAULT and line.block >= ended
            rate = 300.0 if line.label == DEFAULT else 9900.0
            update = {"pages_per_s": rate, "status": "failed" if late else "ok"}
            line = line.model_copy(update=update | ({"pages_per_s": None} if late else {}))
        lines.append(line)
    prose = answered(lines)[0].prose
    assert said in prose
    assert "`callbacks` 9,900 (3 of 3 trials)" in prose
    assert "trials)" not in answered(made(FALLING, blocks=3))[0].prose


def test_finding_and_chart_say_from_where_on() -> None:
    answer, headline = answered(made(FALLING))
    assert headline.text == (
        "From 1,000 slots on without delay, threads fetch fewer pages/s than async/await"
    )
    assert headline.behind == "95 % intervals of 6 blocks"
    for words in (
        "without delay from 1,000 slots on (not at 100)",
        "Not shown with a delay of 100 ms, with up to 10,000 slots.",
        "`python -m bench run --profile reference --only throughput,waiting",
    ):
        assert words in answer.prose
    (figure,) = answer.figures
    assert isinstance(figure.data, Lines)
    without, behind = figure.data.plots[:2]
    assert list(without.shade or ()) == [100, 1000]
    assert behind.shade is None


def test_a_delay_with_one_number_of_slots_has_no_panel() -> None:
    """Half of the chart's panels were empty."""
    answer, _ = answered(made({**FALLING, (1000, 50): {DEFAULT: 10_000.0}}))
    (figure,) = answer.figures
    assert isinstance(figure.data, Lines)
    assert [plot.title for plot in figure.data.plots] == ["no delay", "100 ms"]


def test_the_map_alone_is_no_question_of_crossing() -> None:
    assert crossover.measured(analysed(campaign(blocks=2, workloads=("regime",)))) is None
