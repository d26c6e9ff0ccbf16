"""The claims' experiments: what they count, not how fast they are."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from rich.console import Console

from bench.claims import measure, records
from bench.claims.experiments import (
    NAMES,
    awaiting,
    readiness,
    seen_set,
    spinning_connect,
    thread_ceiling,
)


def test_awaiting_a_coroutine_gives_the_loop_no_turn_and_a_task_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(awaiting, "AWAITS", 50)
    values = awaiting.measure().values
    assert values["coroutine_turns"] == 0
    assert (values["task_turns"] or 0) >= 1


def test_coroutines_lose_no_update_unless_an_await_lies_between() -> None:
    assert asyncio.run(seen_set.in_coroutines(await_between=False)) == 0
    assert asyncio.run(seen_set.in_coroutines(await_between=True)) > 0


def test_every_url_is_taken_once_by_one_worker_and_with_a_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    urls = [str(number) for number in range(1000)]
    for make in (seen_set.calls, seen_set.statements, seen_set.locked):
        assert make()([*urls, *urls]) == len(urls)
    monkeypatch.setattr(seen_set, "THREADS_S", 0.05)
    assert seen_set.in_threads(seen_set.locked) == 0


def test_the_ceiling_says_what_stopped_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoMore:
        def __init__(self, **_: object) -> None: ...

        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(thread_ceiling, "Thread", NoMore)
    result = thread_ceiling.measure()
    assert result.values["started"] == 0
    assert "can't start new thread" in str(result.facts["note"])


def test_a_missing_way_of_waiting_is_null_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "SELECT_MOST", 20)
    monkeypatch.setattr(readiness, "MANY", 30)
    monkeypatch.setattr(readiness, "BATCH_S", 0.001)
    monkeypatch.setitem(readiness.KINDS, "epoll", "NoSuchSelector")
    result = readiness.measure()
    assert result.values["poll_growth"] is not None
    assert result.values["poll_over_epoll"] is None
    assert "no epoll" in result.reasons["poll_over_epoll"]


def test_spinning_asks_more_than_once_and_select_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spinning_connect, "WAIT_S", 0.1)
    result = spinning_connect.measure()
    spin, waiting = result.values["spin_share"], result.values["select_share"]
    if spin is None or waiting is None:
        assert set(result.reasons) == {"spin_share", "select_share"}
    else:
        assert spin > 2 * waiting


def test_measurements_are_appended_with_their_environment(tmp_path: Path) -> None:
    for _ in range(2):
        measure.run(tmp_path, ["awaiting"], 1, Console(quiet=True))
    lines = records.load(tmp_path)
    assert [line.kind for line in lines] == ["run", "measurement"] * 2
    assert len({line.run for line in lines}) == 2
    (last,) = records.latest(lines, "awaiting")
    assert last.values["coroutine_turns"] == 0
    assert records.runs(lines)[0].environment.python


def test_a_failed_experiment_is_recorded_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure.measure("nonesuch", [], "run", 0)
    assert found.values == {}
    assert "name one experiment" in found.reasons["experiment"]


def test_all_experiments_by_default_in_their_order() -> None:
    assert measure.choose(None) == list(NAMES)
    assert measure.choose(["thread_ceiling", "awaiting"]) == ["awaiting", "thread_ceiling"]
