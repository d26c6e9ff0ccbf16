"""Sides that took other numbers of page faults for a page get no verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bench.analysis import stats
from bench.analysis.stats import OTHER_WORK, Comparison, Metric
from bench.analysis.stats.work import Faults
from bench.schema import TrialRecord
from bench.store import Records
from crawlers.heap import KEEPS, ON_PURPOSE
from tests.bench import synthetic
from tests.bench.synthetic import where

MAPPED = 2.2


def faulting(faults: Callable[[TrialRecord], float], state: str = KEEPS) -> Records:
    """A campaign in which async_await's processes have another state of malloc."""
    lines = synthetic.campaign(workloads=("throughput", "c10k"), noise=0.01, samples=20)
    seen: dict[str, Any] = {
        "page_faults": lambda t: round(faults(t) * t.pages),
        "mechanism__malloc": lambda t: state if t.backend == "async_await" else KEEPS,
    }
    return synthetic.gathered(where(lines, lambda t: t.pages, **seen))


def verdicts(records: Records, metric: Metric = stats.CPU_PER_1000) -> dict[str, Comparison]:
    return {c.label: c for c in synthetic.compared(records, metric) if c.point == "throughput-100"}


def mapped(trial: TrialRecord) -> float:
    return MAPPED if trial.backend == "async_await" else 0.1


def test_no_verdict_where_malloc_was_in_another_state() -> None:
    alike = verdicts(faulting(lambda trial: 0.1))["async_await"].ratio
    found = verdicts(faulting(mapped))
    refused = found.pop("async_await").ratio
    assert alike.shown
    assert (refused.verdict, refused.value) == (OTHER_WORK, alike.value)
    assert (refused.low, refused.high, refused.p, refused.shown) == (None, None, None, False)
    assert refused.reason.startswith("2.2 page faults for a page, and 0.1 of the other")
    assert all(other.ratio.verdict != OTHER_WORK for other in found.values())
    assert verdicts(faulting(mapped), stats.PAGES_PER_S)["async_await"].ratio.verdict == OTHER_WORK
    assert verdicts(faulting(mapped, ON_PURPOSE))["async_await"].ratio.shown


def test_one_block_in_another_state_is_enough() -> None:
    once = faulting(lambda trial: mapped(trial) if trial.block == 1 else 0.1)
    assert verdicts(once)["async_await"].ratio.verdict == OTHER_WORK


def test_memory_is_compared_although_it_is_made_of_page_faults() -> None:
    found = synthetic.compared(faulting(lambda t: 10 * mapped(t)), stats.USER_PER_CONNECTION)
    assert found
    assert all(each.ratio.verdict != OTHER_WORK for each in found)


def test_what_a_slot_takes_once_is_no_other_work() -> None:
    """A thousand threads fetch 3,000 pages: 2.7 faults for a page, and callbacks take 0.4."""
    few, many = Faults(0.36, slots=1 / 3), Faults(2.73, slots=1 / 3)
    assert not few.apart(many)
    once, fewer = Faults(2.73, slots=0.01), Faults(0.36, slots=0.01)
    assert fewer.apart(once)
    assert not fewer.apart(replace(once, slots=1 / 3))
    assert not replace(fewer, on_purpose=True).apart(once)
    assert not fewer.apart(replace(once, on_purpose=True))


def test_a_page_with_a_connection_of_its_own_has_what_a_slot_takes() -> None:
    records = faulting(lambda trial: 0.1)
    trials = [synthetic.altered(t, workload="accept") for t in records.trials]
    faults = stats.faults_of(replace(records, trials=trials))
    assert {one.slots for blocks in faults.values() for one in blocks.values()} == {1.0}
