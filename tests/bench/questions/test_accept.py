"""Servers that get a connection for each request, in made-up records."""

from __future__ import annotations

import pytest

from bench.questions import accept
from bench.schema import AnyRecord
from bench.show.figures import Bars
from tests.bench.altered import where
from tests.bench.costed import US, costed
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed

OPENING_US = 30.0


def accepted() -> list[AnyRecord]:
    """Connections were kept in other blocks; the load was slower than callbacks."""

    def us(label: str, key: str) -> float:
        return US[label] + OPENING_US * (key == "all")

    return where(
        costed(accept.COLUMNS, us, blocks=5),
        bool,
        block=lambda t: t.block + 5 * (t.point == "serve-100"),
        limiter=lambda t: "client" if t.label == "callbacks" else "server",
    )


def test_a_connection_costs_what_a_kept_one_saves() -> None:
    found = accept.measured(analysed(accepted()))
    assert list(found.values) == [*MODELS, "bare"]
    for label in MODELS:
        assert found.median(label, "opened") == pytest.approx(1.2 * OPENING_US)
        over = (US[label] + OPENING_US) / (US["bare"] + OPENING_US)
        assert found.median(label, "over") == pytest.approx(over)


def test_a_server_that_waited_for_its_load_is_hollow() -> None:
    answer = sure(accept.answer(analysed(accepted())))
    (figure,) = answer.figures
    assert isinstance(figure.data, Bars)
    assert set(figure.data.panels[0].hollow) == {"callbacks"}
    assert "Hollow" in " ".join(figure.notes)
    assert "callbacks" in answer.warnings[0]
