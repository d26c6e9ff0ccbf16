"""A real call from a loop to a thread, in every way."""

from __future__ import annotations

import asyncio

import pytest

from bench.micro import hop_child, hops
from bench.micro.hops import SUBMIT, WAYS
from bench.study.runner import Lost, missing

INSTALLED = [way for way, library in WAYS.items() if missing(library) is None]


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize("way", INSTALLED)
def test_every_way_calls_another_thread(way: str, at_once: int) -> None:
    if way == SUBMIT and at_once > 1:
        pytest.skip("without a loop there are no tasks")
    found = hops.ask(way, 30, at_once)
    assert found.cpu_s > 0
    assert found.wall_s > 0
    assert found.threads >= 1


def test_a_wrong_result_and_work_on_the_loop_are_no_measurement() -> None:
    async def another(number: int) -> int:
        return hop_child.work(number) + 1

    with pytest.raises(RuntimeError, match="result of another"):
        asyncio.run(hop_child.call(another, 3))

    async def here(number: int) -> int:
        return hop_child.work(number)

    async def many(calls: int) -> None:
        await hop_child.call(here, calls)

    with pytest.raises(RuntimeError, match="did not run in another thread"):
        asyncio.run(hop_child.measure(many, 3, 1))
    with pytest.raises(Lost, match="no_such_way"):
        hops.ask("no_such_way", 1)
