"""The questions, in the order of the story. To add one: a module here, and its name below."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final, cast
from weakref import WeakKeyDictionary

from bench import store
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Metric, Pair
from bench.questions.question import Across, Answer, Compares, Question
from bench.store import Records

SERVE: Final = ("serve", "accept", "hold", "mixed_server", "slow_readers")
"""What is asked of servers."""

STORY: Final = (
    *("glance", "page", "receive", "memory", "waiting", "crossover", "handovers", "against"),
    *("churn", "headers", "tls_pages", "open_loop", "mixed", "timeouts"),
    *("cancel", "fairness", "processors", "variants", *SERVE, "interpreters", "equal", "trust"),
)
QUESTIONS: Final[tuple[Question, ...]] = tuple(
    cast("Question", import_module(f"{__name__}.{name}")) for name in STORY
)


def pairs(records: Records, metric: Metric) -> Iterator[Pair]:
    """What all questions compare in a campaign by one metric."""
    for question in QUESTIONS:
        if isinstance(question, Compares):
            yield from question.pairs(records, metric)


def analysis_of(records: Records) -> Analysis:
    """The analysis of a campaign, with the pairs that the questions compare."""
    return Analysis(records, pairs)


def analysis_in(file: Path) -> Analysis:
    """The analysis of a file of records. Raises :class:`bench.store.StoreError`."""
    return analysis_of(store.load(file))


_answered: WeakKeyDictionary[Analysis, list[tuple[Question, Answer]]] = WeakKeyDictionary()


def answers(analysis: Analysis) -> Iterator[tuple[Question, Answer]]:
    """Every question that the campaign answers, with its answer; each is computed once."""
    if analysis not in _answered:
        across = analysis.campaign.interpreters
        fitting = [question for question in QUESTIONS if isinstance(question, Across) or not across]
        given = ((question, question.answer(analysis)) for question in fitting)
        _answered[analysis] = [(question, answer) for question, answer in given if answer]
    yield from _answered[analysis]


def asked(analysis: Analysis, name: str) -> Answer | None:
    """The answer to the question of this name; None where it was not measured."""
    named = (answer for question, answer in answers(analysis) if name == question.NAME)
    return next(named, None)
