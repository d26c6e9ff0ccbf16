"""Ten thousand threads that crawl, in made-up records: none ends in time, some do, all do."""

from __future__ import annotations

import pytest

from bench.questions import ten_thousand
from bench.questions.ten_thousand import POINT
from bench.schema import AnyRecord, TrialRecord
from tests.bench import synthetic
from tests.bench.sure import sure
from tests.bench.synthetic import analysed

RATE = {"threads": 300.0, "callbacks": 9900.0, "generators": 9000.0, "async_await": 8000.0}


def ten_thousand_slots(*, blocks: int = 3, ended: int = 0, **options: object) -> list[AnyRecord]:
    """The records of a campaign in which so many crawls of threads ended in time."""

    def moved(trial: TrialRecord) -> TrialRecord:
        late = trial.label == "threads" and trial.block >= ended
        return trial.model_copy(
            update={
                "workload": "crossover",
                "point": POINT,
                "pages_per_s": None if late else RATE.get(trial.label, 5000.0),
                **({"status": "failed", "reason": "no result in 60 s"} if late else {}),
            }
        )

    lines = synthetic.campaign(blocks=blocks, workloads=["throughput"], **options)  # type: ignore[arg-type]
    return [
        moved(line) if isinstance(line, TrialRecord) else line
        for line in lines
        if not isinstance(line, TrialRecord) or line.point == "throughput-100"
    ]


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (0, "10,000 threads end no crawl in 60 s (3 trials); callbacks fetch"),
        (1, "10,000 threads fetch 300 (1 of 3 trials), callbacks"),
    ],
)
def test_a_crawl_that_does_not_end_is_an_answer(ended: int, said: str) -> None:
    answer = sure(ten_thousand.answer(analysed(ten_thousand_slots(ended=ended))))
    assert sure(answer.headline).text == f"With a delay of 1 s, {said} 9,900 pages/s"
