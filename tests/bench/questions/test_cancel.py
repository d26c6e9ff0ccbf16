"""Interrupted crawls, recounted from made-up records with known costs."""

from __future__ import annotations

from bench.questions import cancel
from tests.bench import synthetic
from tests.bench.interrupted import interrupted
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed


def test_the_headline_is_about_the_most_that_has_five_blocks() -> None:
    records = interrupted(sizes=(1000,), blocks=5, backends=(*MODELS, "trio"))
    few = [one for one in interrupted(sizes=(10_000,), blocks=1) if one not in records]
    trials = [one for one in few if getattr(one, "point", "") == "cancel-10000"]
    analysis = analysed([*records[:-1], *trials, records[-1]])
    answer = sure(cancel.answer(analysis))
    assert sure(answer.headline).text == (
        "Interrupting 1,000 exchanges takes 130 ms with threads and 22 ms with callbacks"
    )
    assert "closed-10000" in cancel.measured(analysis).measures


def test_what_leaves_something_behind_is_not_counted() -> None:
    found = cancel.measured(analysed(interrupted(left="threads")))
    assert "threads" not in found.values


def test_its_trials_are_compared_with_no_other_point() -> None:
    plain = analysed(synthetic.campaign(blocks=3))
    analysis = analysed(interrupted())
    assert [row.point for row in analysis.rows] == [row.point for row in plain.rows]
    assert analysis.memory == plain.memory
