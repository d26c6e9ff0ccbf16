"""The questions, in the order of the story. To add one: a module here, and its name below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from weakref import WeakKeyDictionary

from bench.analysis.analysis import Analysis
from bench.questions import cancelling, churn, pinning, receive, ten_thousand, tls
from bench.questions.question import Answer, Question

QUESTIONS: Final[tuple[Question, ...]] = (receive, pinning, ten_thousand, churn, tls, cancelling)

_answered: WeakKeyDictionary[Analysis, list[tuple[Question, Answer]]] = WeakKeyDictionary()


def answers(analysis: Analysis) -> Iterator[tuple[Question, Answer]]:
    """Every question that the campaign answers, with its answer; each is computed once."""
    if analysis not in _answered:
        found = ((question, question.answer(analysis)) for question in QUESTIONS)
        _answered[analysis] = [(question, answer) for question, answer in found if answer]
    yield from _answered[analysis]


def finding(analysis: Analysis, name: str) -> str | None:
    """What the question of this name found, as a paragraph; None where it was not measured."""
    found = (answer.finding for question, answer in answers(analysis) if name == question.NAME)
    return next(found, None)
