"""The ripped stacks, from real runs."""

from __future__ import annotations

import pytest

from bench.claims.experiments import stack_ripping
from bench.claims.experiments.stack_ripping import Ripped
from crawlers.registry import MODELS


@pytest.fixture(scope="module")
def ripped() -> list[Ripped]:
    return stack_ripping.rip_all()


def test_callbacks_lose_the_callers_and_the_others_keep_them(ripped: list[Ripped]) -> None:
    assert [run.model for run in ripped] == list(MODELS)
    left = {run.model: [frame.function for frame in run.of("slot")] for run in ripped}
    assert left.pop("callbacks") == ["receive"]
    assert all(functions == ["work", "fetch"] for functions in left.values())
    assert [run.callers for run in ripped] == [1, 0, 1, 1]


def test_only_callbacks_need_a_handler_in_every_step() -> None:
    ends = {model: stack_ripping.handlers(model) for model in MODELS}
    assert {"connected", "fetch", "send", "receive"} < set(ends.pop("callbacks"))
    assert all(names == ["fetch"] for names in ends.values())
