"""What a page leaves to the garbage collector, from made-up counts."""

from __future__ import annotations

import pytest

from bench.questions import garbage
from bench.schema import AnyRecord, TrialRecord
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed, campaign

EACH = {"plain": {"async_await": 2.0}, "churn": {"async_await": 11.5, "threads": 1.0}}
"""Mode -> backend -> objects for each page; the others leave none."""


def littered(**options: object) -> list[AnyRecord]:
    """A campaign that counted what pages leave."""
    found: list[AnyRecord] = []
    for line in campaign(workloads=("throughput",), **options):  # type: ignore[arg-type]
        if not isinstance(line, TrialRecord):
            found.append(line)
        elif line.point == "throughput-100" and line.pages:
            for mode, each in EACH.items():
                objects = round(each.get(line.backend, 0.0) * line.pages)
                update = {
                    "workload": "garbage",
                    "point": "garbage-100",
                    "params": {**line.params, "mode": mode},
                    "extra": {"garbage": objects},
                }
                found.append(line.model_copy(update=update))
    return found


def test_objects_are_shared_out_over_the_pages() -> None:
    found = garbage.measured(analysed(littered(blocks=1)))
    assert list(found.values) == list(MODELS)
    for mode, each in EACH.items():
        for label in MODELS:
            assert found.median(label, mode) == pytest.approx(each.get(label, 0.0), abs=0.001)
    answer = sure(garbage.answer(analysed(littered(blocks=1))))
    assert sure(answer.headline).text == (
        "A page on a new connection leaves 11.5 objects to the garbage collector with "
        "async/await, in one trial"
    )


def test_what_the_end_of_a_crawl_leaves_is_no_object_of_a_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """530 objects of 2,000 pages, on kept connections and on new ones, stood in a headline."""
    once = {"callbacks": 0.265}
    monkeypatch.setattr(f"{__name__}.EACH", {"plain": once, "churn": once})
    answer = sure(garbage.answer(analysed(littered(blocks=1))))
    assert sure(answer.headline).text.startswith("No model leaves the garbage collector objects")
