"""What is held equal, flipped in made-up records."""

from __future__ import annotations

import pytest

from bench.conditions.flips import FLIPS
from bench.plan.labels import Label
from bench.plan.plan import labels_of
from bench.plan.profiles import STARRING, equal
from bench.plan.workloads import Point
from bench.questions import equal as question
from bench.schema import AnyRecord, TrialRecord
from tests.bench import synthetic
from tests.bench.sure import sure
from tests.bench.synthetic import analysed
from tests.bench.turned import in_turns

US = {"threads": 30.0, "callbacks": 20.0, "generators": 22.0, "async_await": 25.0, "uvloop": 24.0}


def flipped(*, blocks: int = 5, over: float = 1.5, **options: object) -> list[AnyRecord]:
    """A campaign in which another state of malloc makes async_await dearer, and nothing else."""
    lines = synthetic.campaign(blocks=blocks, workloads=["throughput"], **options)  # type: ignore[arg-type]
    found: list[AnyRecord] = []
    for line in lines:
        if not isinstance(line, TrialRecord):
            found.append(line)
        elif line.point == "throughput-100" and line.label in US:
            for flip in ("heap", "collector"):
                place = {"workload": question.NAME, "point": f"equal-{flip}"}
                us = US[line.label] * (1 + line.block / 200)
                found.append(in_turns(line.model_copy(update=place), us))
                if (flip, line.label) == ("heap", "async_await"):
                    us *= over * (1 + line.block / 500)
                mark = {"params": line.params | {"flipped": 1}, "trial": 10_000 + len(found)}
                found.append(in_turns(line.model_copy(update=place | mark), us))
    return found


def test_a_flip_that_changes_a_ratio_is_named() -> None:
    answer = sure(question.answer(analysed(flipped())))
    assert answer.headline is not None
    assert "heap" in answer.headline.text
    assert "collector" not in answer.headline.text
    (table,) = answer.tables
    cells = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert cells["heap"]["async_await, × threads"] == "0.83 → 1.25 ≠"
    assert cells["heap"]["callbacks, × threads"] == "0.67 → 0.67"


def test_nothing_that_changes_is_said_to_be_nothing() -> None:
    answer = sure(question.answer(analysed(flipped(over=1.0))))
    assert sure(answer.headline).text.startswith("Nothing that is held equal changes")


@pytest.mark.parametrize("point", equal().points, ids=lambda point: point.id)
def test_every_backend_takes_part_as_always_and_flipped(point: Point) -> None:
    labels = labels_of(point, STARRING)
    assert {label.name for label in labels if label.condition} == set(STARRING)
    assert {label.name for label in labels if not label.condition} == set(STARRING)
    assert all(Label.parse(str(label)) == label for label in labels)
    assert point.params["flip"] in FLIPS


def test_only_the_flipped_crawl_has_large_pages() -> None:
    assert FLIPS["page"].site("tree:14000:10:2048") == "tree:3500:10:65536"
    assert FLIPS["heap"].site("tree:14000:10:2048") == "tree:14000:10:2048"
