"""A run that ends early keeps what it counted, and another one goes on with it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from bench.costs import lanes, measure, record
from bench.costs.measure import CostsOptions, Progress
from bench.costs.record import FILE_NAME, PART_NAME, Costs, CostsError, Sample
from bench.costs.tasks import Task
from tests.bench.costs.samples import sample

OPTIONS = CostsOptions(backends=["bare"], instruments=("kernel",), seeds=(1, 2, 3, 4))


class Counting:
    """Stands for the lanes: gives a sample for each task, and stops at a given one."""

    def __init__(self, stop_after: int | None = None, bad: tuple[int, ...] = ()) -> None:
        self.stop_after, self.bad = stop_after, bad
        self.seeds: list[int] = []

    def run(
        self, tasks: Sequence[Task], slots: int, jobs: int
    ) -> Generator[Sample | Task, None, None]:
        assert (slots, jobs) == (100, 1), "the kernel's counts are taken alone"
        for task in tasks:
            if len(self.seeds) == self.stop_after:
                raise KeyboardInterrupt
            self.seeds.append(task.seed)
            failed = {"status": "failed", "reason": "lost", "counts": {}}
            yield sample(
                "kernel", task.seed, backend="bare", page={"switches": task.seed},
                **(failed if task.seed in self.bad else {}),
            )  # fmt: skip
            yield task


@pytest.fixture
def seen() -> list[Progress]:
    return []


def run(
    monkeypatch: pytest.MonkeyPatch,
    counting: Counting,
    folder: Path,
    seen: list[Progress],
    *,
    resume: bool = False,
) -> Costs:
    monkeypatch.setattr(lanes, "run", counting.run)
    return measure.run(OPTIONS, seen.append, folder=folder, resume=resume)


def test_an_interrupted_run_keeps_its_samples_and_is_finished_by_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seen: list[Progress]
) -> None:
    first = run(monkeypatch, Counting(stop_after=2), tmp_path, seen)
    assert [each.seed for each in first.samples] == [1, 2]
    assert [file.name for file in tmp_path.iterdir()] == [PART_NAME]
    counting = Counting()
    second = run(monkeypatch, counting, tmp_path, seen, resume=True)
    assert counting.seeds == [3, 4]
    assert [each.seed for each in second.samples] == [1, 2, 3, 4]
    assert [file.name for file in tmp_path.iterdir()] == [FILE_NAME]
    assert record.load(tmp_path) == second
    assert [(each.done, each.planned) for each in seen] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert seen[0].left_s is None
    assert seen[1].left_s is not None


def test_a_torn_line_and_a_failed_sample_are_counted_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seen: list[Progress]
) -> None:
    run(monkeypatch, Counting(stop_after=3, bad=(2,)), tmp_path, seen)
    part = tmp_path / PART_NAME
    part.write_bytes(part.read_bytes()[:-40])
    counting = Counting()
    found = run(monkeypatch, counting, tmp_path, seen, resume=True)
    assert counting.seeds == [2, 3, 4]
    assert {each.status for each in found.samples} == {"ok"}


def test_a_sample_that_failed_is_in_the_record_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seen: list[Progress]
) -> None:
    run(monkeypatch, Counting(bad=(4,)), tmp_path, seen)
    assert [each.reason for each in record.load(tmp_path).samples] == [None, None, None, "lost"]


def test_an_unfinished_record_is_never_overwritten(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seen: list[Progress]
) -> None:
    run(monkeypatch, Counting(stop_after=1), tmp_path, seen)
    before = (tmp_path / PART_NAME).read_bytes()
    with pytest.raises(CostsError, match="continue with --resume, or delete it"):
        run(monkeypatch, Counting(), tmp_path, seen)
    assert (tmp_path / PART_NAME).read_bytes() == before


def test_only_what_was_counted_alike_is_resumed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seen: list[Progress]
) -> None:
    with pytest.raises(CostsError, match="nothing to resume"):
        run(monkeypatch, Counting(), tmp_path, seen, resume=True)
    run(monkeypatch, Counting(stop_after=1), tmp_path, seen)
    part = tmp_path / PART_NAME
    part.write_text(part.read_text().replace('"pages":500', '"pages":400', 1))
    with pytest.raises(CostsError, match=r"counted differently \(pages\)"):
        run(monkeypatch, Counting(), tmp_path, seen, resume=True)
