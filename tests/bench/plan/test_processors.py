"""Points on one, two … all processors: which there are, and who takes part."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.plan import plan
from bench.plan.cast import Cast
from bench.plan.processors import processors, scaling, steps
from crawlers.registry import MODELS


def test_steps_double_up_to_all_but_the_servers() -> None:
    assert steps(1) == steps(2) == ()
    assert steps(3) == (1,)
    assert steps(4) == (1, 2)
    assert steps(8) == (1, 2, 4)
    assert steps(9) == (1, 2, 4)


@given(st.integers(0, 4096))
def test_steps_leave_all_but_the_servers_to_the_point_without_a_number(usable: int) -> None:
    assert all(0 < step < usable - 1 for step in steps(usable))


def test_a_point_names_its_processors_and_is_for_those_that_can_use_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    found = scaling(1000, 5)
    assert [point.id for point in found] == [f"processors-{n}apart" for n in (1, 2, 4)]
    names = [*MODELS, "processes", "loop_per_thread", "trio"]
    for point in found:
        assert point.params["processors"] == "apart"
        assert point.params["over"] == point.over
        cast = {label.backend for label in plan.cast(point, names)}
        assert cast == {"callbacks", "threads", "processes", "loop_per_thread"}
    assert "over" not in processors("apart", 1000, Cast(5)).params


def test_without_affinity_nothing_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert scaling(1000, 5) == []
