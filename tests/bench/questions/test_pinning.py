"""Threads on one processor and on all, in made-up records."""

from __future__ import annotations

import pytest

from bench.plan.participants import PINNED
from bench.questions import pinning
from bench.schema import AnyRecord, TrialRecord
from tests.bench import synthetic
from tests.bench.sure import sure
from tests.bench.synthetic import analysed
from tests.bench.turned import in_turns

ON_ONE = {"threads": 30.0, "callbacks": 20.0, "async_await": 25.0}


def pinned(*, blocks: int = 5, over: float = 2.3, **options: object) -> list[AnyRecord]:
    """The records of a campaign in which a page of threads needs so many times as much on all."""
    lines = synthetic.campaign(blocks=blocks, workloads=["throughput"], **options)  # type: ignore[arg-type]
    found: list[AnyRecord] = []
    number = 10_000
    for line in lines:
        if not isinstance(line, TrialRecord):
            found.append(line)
        elif line.point == "throughput-100" and line.label in ON_ONE:
            threads, us = line.label == "threads", ON_ONE[line.label] * (1 + line.block / 200)
            place = {"workload": pinning.NAME, "point": "pinning-100"}
            shared = {"client": [0, 1], "server": [0], "reason": None}
            name = PINNED if threads else line.label
            one = {"backend": name, "label": name, "params": line.params}
            wide = {"params": line.params | ({} if threads else {"processors": "all"})}
            found.append(in_turns(line.model_copy(update=place | one), us))
            every = place | wide | {"trial": number, "pinning": shared}
            us *= over * (1 + line.block / 500) if threads else 1.01
            found.append(in_turns(line.model_copy(update=every), us))
            number += 1
    return found


@pytest.mark.parametrize(
    ("over", "said"),
    [
        (2.3, "need 57 % less processor time per page than on all"),
        (0.5, "need 99 % more processor time per page than on all"),
        (0.999, "cost about as much as on all"),
    ],
)
def test_a_page_of_threads_on_one_processor(over: float, said: str) -> None:
    answer = sure(pinning.answer(analysed(pinned(over=over))))
    assert answer.headline is not None
    assert answer.headline.text == f"Threads on one processor {said}"
    assert "5 blocks" in answer.headline.behind
    assert "`callbacks` 1.01 [1.01–1.01]" in answer.prose
    (table,) = answer.tables
    assert [row[0] for row in table.rows] == ["threads", "callbacks", "async_await"]
    assert "2 processors, shared with the server" in table.about


def test_without_the_pinned_threads_there_is_no_answer() -> None:
    alone = [
        line for line in pinned() if not isinstance(line, TrialRecord) or line.backend != PINNED
    ]
    assert pinning.answer(analysed(alone)) is None
