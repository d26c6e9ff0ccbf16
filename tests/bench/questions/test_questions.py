"""Every question, by the same rules: what it says can be quoted, drawn and left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.analysis.analysis import Analysis
from bench.questions import QUESTIONS, answers
from bench.questions.question import Question, of_models
from bench.report import findings, page, summary
from bench.report.charts import story_of
from bench.show.measured import US, Measure, Measured
from tests.bench import synthetic
from tests.bench.encrypted import encrypted
from tests.bench.interrupted import interrupted
from tests.bench.mapped import mapped
from tests.bench.opened import opened
from tests.bench.questions.test_pinning import pinned
from tests.bench.questions.test_ten_thousand import ten_thousand_slots
from tests.bench.report.looks import draw_in_every_look
from tests.bench.synthetic import MODELS, analysed

MEASURED: dict[str, Callable[..., Any]] = {
    "receive": mapped,
    "pinning": pinned,
    "churn": opened,
    "tls_pages": encrypted,
    "cancel": interrupted,
    "ten_thousand": ten_thousand_slots,
}
"""Question -> records of a made-up campaign that answers it."""

MOST_WORDS = 20


def campaign_of(question: Question, **options: Any) -> Analysis:
    return analysed(MEASURED[question.NAME](backends=(*MODELS, "uvloop", "aiohttp"), **options))


def named(question: Question) -> str:
    return question.NAME


every = pytest.mark.parametrize("question", QUESTIONS, ids=named)


@every
def test_it_has_a_name_and_asks_something(question: Question) -> None:
    assert question.NAME.isidentifier()
    assert question.ASKS.endswith("?")


@every
def test_its_headline_is_short_and_has_an_interval_or_says_how_few(question: Question) -> None:
    for blocks in (1, 3, 5):
        answer = question.answer(campaign_of(question, blocks=blocks))
        assert answer is not None
        assert answer.headline is not None
        words = answer.headline.text.split()
        assert len(words) <= MOST_WORDS, answer.headline.text
        said = f"{answer.headline.text} {answer.headline.behind}"
        assert re.search(r"\b(one trial|[135] (trials?|blocks?))\b", said), said


@every
def test_report_findings_and_json_have_it(question: Question) -> None:
    analysis = campaign_of(question, blocks=5)
    answer = {one.NAME: found for one, found in answers(analysis)}[question.NAME]
    assert answer.finding in findings.findings(analysis)
    assert all(table.caption in summary.to_markdown(analysis) for table in answer.tables)
    assert {figure.name for figure in answer.figures} <= {name for name, _ in story_of(analysis)}
    assert json.loads(page.summary_json(analysis))[question.NAME] == answer.measured.as_json()


@every
def test_its_figures_are_drawn_in_every_look(question: Question, tmp_path: Path) -> None:
    analysis = campaign_of(question, blocks=3)
    answer = question.answer(analysis)
    assert answer is not None
    for figure in answer.figures:
        draw_in_every_look(analysis, tmp_path, figure.name)


@every
def test_a_campaign_without_it_says_nothing(question: Question) -> None:
    assert question.answer(analysed(synthetic.campaign(blocks=2, workloads=["throughput"]))) is None


# --- the rule of the headline, on made-up measurements ----------------------------------


def cost(threads: Sequence[float], callbacks: Sequence[float]) -> Measured:
    rows = {"threads": threads, "callbacks": callbacks}
    return Measured(
        {"cost": Measure("cost", "a cost", US)},
        {label: {"cost": dict(enumerate(values))} for label, values in rows.items()},
    )


def test_two_models_that_do_not_differ_are_not_contrasted() -> None:
    found = of_models(cost([10, 11, 9, 10, 12], [10, 9, 11, 12, 9.5]), "cost", "It costs")
    assert found is not None
    assert found.text == "It costs about as much with every model"


def test_two_models_that_differ_are() -> None:
    found = of_models(cost([20, 21, 19, 20, 22], [10, 9, 11, 12, 9.5]), "cost", "It costs")
    assert found is not None
    assert found.text == "It costs 20.0 µs with threads and 10.0 µs with callbacks"
    assert found.behind.startswith("19.0 µs to 22.0 µs and 9.00 µs to 12.0 µs: lowest")


def test_few_blocks_are_said_in_the_headline_itself() -> None:
    found = of_models(cost([20], [10]), "cost", "It costs")
    assert found is not None
    assert found.text.endswith("with callbacks, in one trial")


def test_one_model_alone_is_not_contrasted() -> None:
    whole = cost([20.0], [10.0])
    alone = replace(whole, values={"threads": whole.values["threads"]})
    assert of_models(alone, "cost", "It costs") is None
