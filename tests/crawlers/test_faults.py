"""The models on sites drawn at random: the outcome is the graph's, whoever crawls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from crawlers.registry import MODELS
from tests.torture.arena import Lane, arena, differences
from tests.torture.cases import Case, cases, every_kind

EXAMPLES = settings().max_examples
"""Fewer where slow tests are left out."""

quick = settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
def lanes() -> Iterator[list[Lane]]:
    """The four models, each with a server."""
    with arena(MODELS) as found:
        yield found


def patiently(lanes: list[Lane], case: Case) -> list[str]:
    """The differences; on a busy machine more than what is silent may run into a short timeout."""
    found: list[str] = []
    for timeout_s in (1.5, 6.0, 60.0):
        found = differences(lanes, replace(case, timeout_s=timeout_s))
        if not found:
            break
    return found


@pytest.fixture(scope="module")
def tls_lanes() -> Iterator[list[Lane]]:
    """The four models, each with a server over TLS."""
    pytest.importorskip("trustme")
    with arena(MODELS, tls=True) as found:
        yield found


@pytest.mark.slow
def test_every_kind_has_its_outcome_over_tls(tls_lanes: list[Lane]) -> None:
    assert differences(tls_lanes, every_kind(tls=True)) == []


@pytest.mark.slow
@settings(quick, max_examples=max(EXAMPLES // 4, 1))
@given(cases(tls=True))
def test_the_outcome_over_tls_is_that_of_the_graph(tls_lanes: list[Lane], case: Case) -> None:
    assert differences(tls_lanes, case) == []


def test_every_kind_has_its_outcome(lanes: list[Lane]) -> None:
    assert patiently(lanes, every_kind()) == []


@settings(quick, max_examples=EXAMPLES)
@given(cases())
def test_the_outcome_is_that_of_the_graph(lanes: list[Lane], case: Case) -> None:
    assert differences(lanes, case) == []


@settings(quick, max_examples=EXAMPLES // 20)
@given(cases(timed=True))
def test_what_never_answers_times_out_everywhere(lanes: list[Lane], case: Case) -> None:
    assert patiently(lanes, case) == []
