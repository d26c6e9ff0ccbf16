"""A call from a loop to a thread, recounted from a made-up record; and a real one in every way."""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.console import Console

from bench.micro import hop_child, hops, report, study
from bench.micro.hops import CHILD, SUBMIT, WAYS, Call, Hop, HopsRecord
from bench.micro.report import Found
from bench.micro.study import MicroError, answer
from bench.report.charts import Design, Skip
from bench.run.process import Child
from tests.bench.synthetic import environment

INSTALLED = [way for way, needs in WAYS.items() if needs is None or find_spec(needs)]


def call(us: float) -> Call:
    return Call(cpu_s=us / 1e6, wall_s=3 * us / 1e6, threads=2)


def made(repeats: int = 6, gap: float = 20, pinned: bool = True) -> HopsRecord:
    """Each way costs ``gap`` µs more than the one before, and each repeat 1 µs more."""
    found = {}
    for place, way in enumerate(("submit", "call_soon_threadsafe", "to_thread", "anyio")):
        each = [20 + gap * place + repeat for repeat in range(repeats)]
        found[way] = [
            Hop(
                alone=call(us),
                one=call(us / 2) if pinned else None,
                many=None if way == SUBMIT else call(us / 4),
            )
            for us in each
        ]
    return HopsRecord(
        created="2026-11-25T02:00:00.000+00:00",
        command=["bench", "micro"],
        environment=environment(),
        hops=found,
        absent={"trio": "trio is not installed"},
    )


def test_every_measure_is_in_microseconds_of_one_call() -> None:
    found = hops.measured(made())
    assert {key: found.median("to_thread", key) for key in hops.MEASURES} == {
        "alone": pytest.approx(62.5), "one": pytest.approx(31.25),
        "wall": pytest.approx(187.5), "many": pytest.approx(15.625),
    }  # fmt: skip
    assert found.spread(SUBMIT, "many") is None
    assert hops.measured(made(pinned=False)).spread(SUBMIT, "one") is None


def test_the_headline_leaves_out_what_has_no_loop_and_says_how_few_trials_there_are() -> None:
    words = "A call to a thread costs 82.5 µs with anyio, 42.5 µs with call_soon_threadsafe"
    assert hops.headline(hops.measured(made())) == words
    assert (hops.headline(hops.measured(made(2))) or "").endswith(", in 2 trials each")
    even = "A call to a thread and back costs about as much in every way"
    assert hops.headline(hops.measured(made(gap=0))) == even


def test_table_chart_summary_and_json_say_it(tmp_path: Path) -> None:
    table = hops.table(made())
    assert {row[0]: row[4] for row in table.texts}[SUBMIT] == "–"
    assert table.notes == ["trio: trio is not installed"]
    design = hops.design(made())
    assert isinstance(design, Design)
    assert "82.5 µs with anyio" in (design.finding or "")
    assert isinstance(hops.design(made().model_copy(update={"hops": {}})), Skip)
    found = Found(hops=made())
    report.write(found, tmp_path, Console(quiet=True))
    assert (tmp_path / "charts" / "hops.svg").stat().st_size > 1000
    summary = (tmp_path / "summary.md").read_text()
    assert "\nHops: 2026-11-25, CPython 3.11.9.\n" in summary
    assert f"## {hops.TITLE}" in summary


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize("way", INSTALLED)
def test_every_way_calls_another_thread(way: str, at_once: int) -> None:
    if way == SUBMIT and at_once > 1:
        pytest.skip("without a loop there are no tasks")
    with Child(way, ["-m", CHILD, way, "30", str(at_once)]) as child:
        found = json.loads(answer(child, 60))
    assert found["cpu_s"] > 0
    assert found["wall_s"] > 0
    assert found["threads"] >= 1


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


def test_a_real_run_is_kept_and_a_way_that_fails_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hops, "WAYS", {SUBMIT: None, "to_thread": None, "x": "no_such_library"})
    found = hops.run(tmp_path, 1, Console(quiet=True), calls=200)
    assert study.load(tmp_path, hops.FILE_NAME, HopsRecord) == found
    assert set(found.hops) == {SUBMIT, "to_thread"}
    assert found.hops["to_thread"][0].many is not None
    assert found.absent == {"x": "no_such_library is not installed"}
    with pytest.raises(MicroError, match="No module named 'no_such_way'"):
        hops.ask("no_such_way", 1)
