"""Servers that get a connection for each request, in made-up records."""

from __future__ import annotations

import pytest

from bench.questions import accept
from bench.schema import AnyRecord, TrialRecord
from bench.show.figures import Bars
from tests.bench.questions.test_serve import BARE_US, US, loaded
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed
from tests.bench.turned import in_turns

OPENING_US = 30.0


def accepted(**options: object) -> list[AnyRecord]:
    """A campaign of servers under load, and each again with a connection for each request."""
    found = loaded(**options)
    for line in loaded(**options):
        if isinstance(line, TrialRecord) and line.point == "serve-100":
            us = 1000 * sure(line.turns).cpu_s + OPENING_US * (1 + 0.001 * line.block)
            at = {
                "workload": "accept",
                "point": "accept-100",
                "block": line.block + 5,  # kept connections had others
                "limiter": "client" if line.label == "callbacks" else "server",
            }
            found.append(in_turns(line.model_copy(update=at), us))
    return found


def test_a_connection_costs_what_a_kept_one_saves() -> None:
    found = accept.measured(analysed(accepted(blocks=5)))
    assert list(found.values) == [*MODELS, "bare"]
    for label in MODELS:
        assert found.median(label, accept.OPENED) == pytest.approx(OPENING_US, rel=0.01)
        over = (US[label] + OPENING_US) / (BARE_US + OPENING_US)
        assert found.median(label, accept.OVER) == pytest.approx(over, rel=0.01)


def test_a_server_that_waited_for_its_load_is_hollow() -> None:
    answer = sure(accept.answer(analysed(accepted(blocks=5))))
    (figure,) = answer.figures
    assert isinstance(figure.data, Bars)
    assert set(figure.data.panels[0].hollow) == {"callbacks"}
    assert "Hollow" in " ".join(figure.notes)
    assert "callbacks" in answer.warnings[0]
