"""Against asyncio: every ratio with its interval, and in words what it does not show."""

from __future__ import annotations

import re

import pytest

from bench.questions import asked
from bench.questions.against import HELD, OVER_TLS, PAGE, Against
from bench.show.figures import Bars
from tests.bench import committed
from tests.bench.sure import sure


def test_the_ratios_are_those_of_the_pages_and_of_the_slopes() -> None:
    analysis = committed.analysis()
    answer = sure(asked(analysis, "against"))
    found = answer.measured
    assert isinstance(found, Against)
    page, base = (analysis.at_point("throughput-100")[label] for label in ("trio", "async_await"))
    assert len(page) == found.ratios[PAGE]["trio"].blocks == len(base)
    fits = analysis.memory
    ratio = found.ratios[HELD]["trio"]
    trio, asyncio = (sure(fits[label].total) for label in ("trio", "async_await"))
    assert ratio.value == pytest.approx(trio / asyncio)
    assert sure(ratio.low) < sure(ratio.value) < sure(ratio.high)
    assert sure(found.ratios[OVER_TLS]["uvloop"].value) < 0.5, "asyncio has a large buffer"
    (figure,) = answer.figures
    assert isinstance(figure.data, Bars)
    assert {panel.axis for panel in figure.data.panels} >= {"time per page", "memory over TLS"}
    assert figure.data.panels[0].around == found.floor
    said = str(answer.details["against-uvloop"])
    assert re.match(r"`uvloop` against asyncio: time per page \d+ % less \(\d+ to \d+ %\), ", said)
