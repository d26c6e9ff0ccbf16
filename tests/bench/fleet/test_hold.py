"""The trial of a fleet, with hosts that only say what they are told to."""

from __future__ import annotations

from typing import Any

import pytest

from bench.fleet import hold, plan
from bench.fleet.hold import Fleet, HostStatus
from bench.fleet.plan import FleetPlan
from bench.fleet.records import Worker
from bench.study.runner import Lost
from crawlers.registry import load
from tests.bench.fleet.test_plan import HOST

PLAN = FleetPlan(10, load("callbacks"), [HOST], ramp_per_s=1e9)


class Stub:
    """A host with one worker."""

    def __init__(self, status: HostStatus, void: str | None) -> None:
        seen: dict[str, Any] = {"worker": 0, "connections": 10, "void": void}
        worker = Worker.model_construct(**seen)
        self.answers = {"look": status, "report": HOST.model_copy(update={"workers": [worker]})}
        self.calls: list[str] = []

    def do(self, method: str, *_: object) -> object:
        self.calls.append(method)
        return self.answers.get(method)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "SPARE_S", 0.05)
    monkeypatch.setattr(hold, "LOOK_EVERY_S", 0.01)


def test_memory_is_read_once_all_are_held_and_before_any_is_released() -> None:
    host = Stub(HostStatus(held=10, results=1, free_bytes=7), None)
    trial = hold.measure(Fleet({HOST.host: host}), PLAN)
    assert host.calls == ["limits", "start", "go", "look", "release", "look", "report", "stop"]
    assert (trial.samples[0].connections, trial.samples[0].used_bytes) == (10, 0)
    assert len(trial.workers) == 1


@pytest.mark.parametrize(
    ("held", "results", "void", "reason"),
    [
        (9, 0, None, "only 9 of 10 connections after 0 s"),
        (10, 0, None, "only 0 of 1 workers gave a result"),
        (10, 1, "wrong digest", "worker 0 on host 10.0.0.1:1: wrong digest"),
    ],
)
def test_a_trial_that_does_not_count_is_void_and_keeps_what_there_is(
    held: int, results: int, void: str | None, reason: str
) -> None:
    host = Stub(HostStatus(held, results, free_bytes=None), void)
    with pytest.raises(Lost, match=reason) as lost:
        hold.measure(Fleet({HOST.host: host}), PLAN)
    assert lost.value.status == "void"
    assert getattr(lost.value.part, "samples", [])[-1].connections == held
    assert host.calls[-1] == "stop"
