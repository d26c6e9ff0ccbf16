"""A call from a loop to a thread, recounted from a made-up record; and a real one in every way."""

from __future__ import annotations

import asyncio

import pytest

from bench.micro import hop_child, hops
from bench.micro.hops import SUBMIT, WAYS
from bench.study.runner import Lost, missing
from tests.bench.micro import made

INSTALLED = [way for way, library in WAYS.items() if missing(library) is None]


def test_every_measure_is_in_microseconds_of_one_call() -> None:
    found = hops.measured(made.hops())
    assert {key: found.median("to_thread", key) for key in hops.MEASURES} == {
        "alone": pytest.approx(62.5),
        "one": pytest.approx(31.25),
        "wall": pytest.approx(187.5),
        "many": pytest.approx(15.625),
    }
    assert found.spread(SUBMIT, "many") is None
    assert hops.measured(made.hops(pinned=False)).spread(SUBMIT, "one") is None
    (table,) = hops.tables(made.hops())
    assert {row[0]: row[4] for row in table.texts}[SUBMIT] == "–"
    assert table.notes == ["trio: trio is not installed"]


def test_the_headline_leaves_out_what_has_no_loop_and_says_how_few_trials_there_are() -> None:
    words = (
        "On one processor, a call to a thread costs 41.2 µs with anyio "
        "and 21.2 µs with call_soon_threadsafe"
    )
    (table,) = hops.tables(made.hops())
    assert table.about.startswith(f"{words}. Processor time")
    assert table.header[1:3] == ["on one processor, µs", "on all processors, µs"]
    unpinned = hops.headline(hops.measured(made.hops(pinned=False))) or ""
    assert unpinned.startswith("On all processors, a call to a thread costs 82.5 µs with anyio")
    assert (hops.headline(hops.measured(made.hops(2))) or "").endswith(", in 2 trials each")
    even = "On one processor, a call to a thread costs about as much in every way"
    assert hops.headline(hops.measured(made.hops(gap=0))) == even
    assert hops.headline(hops.measured(made.hops(0))) is None


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
