"""The ripped stacks, from real runs."""

from __future__ import annotations

import re

import pytest

from bench.claims.experiments import stack_ripping
from bench.claims.experiments.stack_ripping import Ripped
from crawlers.registry import MODELS
from tools import tracebacks


@pytest.fixture(scope="module")
def ripped() -> list[Ripped]:
    return stack_ripping.rip_all()


def test_callbacks_lose_the_callers_and_the_others_keep_them(ripped: list[Ripped]) -> None:
    assert [one.model for one in ripped] == list(MODELS)
    left = {one.model: [frame.function for frame in one.of("slot")] for one in ripped}
    assert left.pop("callbacks") == ["receive"]
    assert all(functions == ["work", "fetch"] for functions in left.values())
    assert [one.callers for one in ripped] == [1, 0, 1, 1]


def test_only_callbacks_need_a_handler_in_every_step() -> None:
    ends = {model: stack_ripping.handlers(model) for model in MODELS}
    assert {"connected", "fetch", "send", "receive"} < set(ends.pop("callbacks"))
    assert all(names == ["fetch"] for names in ends.values())


def structure(page: str) -> list[str]:
    """The page without line numbers and frames of other projects."""
    kept = [
        line
        for line in page.splitlines()
        if not line.startswith(("    ", "| the model's", "httptools"))
        and not (line.startswith('  File "') and "crawlers/" not in line)
    ]
    return [re.sub(r"\d+", "N", line) for line in kept]


def test_the_documented_exhibit_is_what_comes_out(ripped: list[Ripped]) -> None:
    """Rebuild with: python -m tools.rebuild documents."""
    assert structure(tracebacks.PAGE.read_text()) == structure(tracebacks.markdown(ripped))
