"""Servers under load, in made-up records."""

from __future__ import annotations

import pytest

from bench.questions import serve
from bench.schema import AnyRecord, TrialRecord
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed, campaign
from tests.bench.turned import control, in_turns

US = {"threads": 14.0, "callbacks": 9.0, "generators": 10.0, "async_await": 13.0}
BARE_US = 6.0


def loaded(**options: object) -> list[AnyRecord]:
    """A campaign whose crawls are servers under load: a tenth more at 1,000 connections."""
    found: list[AnyRecord] = []
    for line in campaign(workloads=("throughput",), **options):  # type: ignore[arg-type]
        if not isinstance(line, TrialRecord):
            found.append(line)
        elif (slots := line.params["slots"]) in (10, 100, 1000):
            us = US.get(line.backend, 12.0) * (1 + 0.001 * line.block) * (1 + (slots == 1000) / 10)
            at = {
                "workload": "serve",
                "point": f"serve-{slots}",
                "params": {"slots": slots, "role": "server"},
                "limiter": "client" if line.backend == "callbacks" and slots == 10 else "server",
            }
            moved = in_turns(line.model_copy(update=at), us)
            found.append(moved)
            if line.label == "callbacks":
                found.append(control(moved, "bare", BARE_US))
    return found


def test_a_request_is_compared_with_the_floor() -> None:
    found = serve.measured(analysed(loaded(blocks=5)))
    assert list(found.values) == [*MODELS, "bare"]
    for label in MODELS:
        assert found.median(label, "100") == pytest.approx(US[label], rel=0.01)
        assert found.median(label, "1000") == pytest.approx(1.1 * US[label], rel=0.01)
        assert found.median(label, serve.OVER) == pytest.approx(US[label] / BARE_US, rel=0.01)


def test_a_load_that_was_the_limit_is_named() -> None:
    answer = sure(serve.answer(analysed(loaded(blocks=5))))
    assert len(answer.warnings) == 1
    assert "bare at 10 connections and callbacks at 10 connections" in answer.warnings[0]
    assert sure(answer.headline).text == (
        "On one processor, serving a request costs 14.0 µs with threads and 9.02 µs with callbacks"
    )
    assert "Every server ran on one processor, threads as well." in answer.tables[0].about


def test_a_server_on_several_processors_is_named() -> None:
    """One word, ``threads``, was two processors as a client and one as a server."""
    lines = [
        line.model_copy(update={"pinning": {"client": [0], "server": [1, 2]}})
        if isinstance(line, TrialRecord) and line.label == "threads"
        else line
        for line in loaded(blocks=5)
    ]
    answer = sure(serve.answer(analysed(lines)))
    assert sure(answer.headline).text.startswith("Serving a request costs 14.0 µs with threads")
    said = "Every server ran on one processor, but threads on 2 processors."
    assert said in answer.tables[0].about
    assert said in answer.figures[0].subtitle
