"""Which backends starve a slot, in made-up crawls."""

from __future__ import annotations

import pytest

from bench.questions import fairness
from bench.schema import AnyRecord
from tests.bench.sure import sure
from tests.bench.synthetic import analysed, campaign


def unfair(**options: object) -> list[AnyRecord]:
    """A campaign in which threads starve some of their slots."""
    return campaign(workloads=("fairness",), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("blocks", "where"), [(6, "all 6 trials"), (1, "one trial")])
def test_starving_needs_every_trial(blocks: int, where: str) -> None:
    answer = sure(fairness.answer(analysed(unfair(blocks=blocks))))
    assert sure(answer.headline).text == f"Threads starve some of 200 slots in {where}"


def test_where_nothing_differs_nobody_starves() -> None:
    answer = sure(fairness.answer(analysed(unfair(effects=False))))
    assert answer.headline is not None
    assert answer.headline.text == "No backend starves any of 200 slots"
    assert "6 blocks" in answer.headline.behind
