"""What counts of a crawl with a paced start, in a real trial."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.plan.opening import Opening
from bench.run import record as writing
from bench.run.state import Bench
from bench.run.steady import NOTHING_STEADY
from bench.schema import TrialRecord
from tests.bench import small

SLOTS, PAGES = 20, 400


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", str(small.OUTSIDE))
    with small.bench(tmp_path_factory.mktemp("scratch"), deadline_s=60) as found:
        yield found
    patch.undo()


def measured(shared: Bench) -> TrialRecord:
    where = small.point(
        f"list:{PAGES}:512",
        SLOTS,
        urls=PAGES,
        delay="fixed:10",
        recorder="slots",
        opening=Opening(SLOTS, 0.01),
    )
    assert where.ramp_per_s == SLOTS / 0.01
    return small.trial(shared, where, "callbacks")


def test_a_trial_counts_from_when_all_slots_are_at_work(shared: Bench) -> None:
    record = measured(shared)
    assert (record.status, record.reason) == ("ok", None)
    assert record.pages == PAGES
    counted, took = record.extra["steady_exchanges"], record.extra["steady_s"]
    assert isinstance(counted, int)
    assert isinstance(took, float)
    assert 0 < counted <= PAGES
    assert record.pages_per_s == pytest.approx(counted / took)
    assert record.params["ramp_per_s"] == SLOTS / 0.01
    assert record.extra["slots_unused"] == 0
    assert record.service_time is not None
    assert record.service_time.count <= PAGES
    assert record.fairness is None


def test_a_trial_without_a_part_that_counts_is_void(
    shared: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "steady_part", lambda trial, result: None)
    record = measured(shared)
    assert (record.status, record.reason) == ("void", NOTHING_STEADY)
    assert record.pages_per_s is None
