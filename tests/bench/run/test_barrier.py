"""Crawls that are interrupted at a barrier, void if anything is left."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.plan.participants import MAIN_VARIANTS, Participants
from bench.plan.workloads import cancel
from bench.run.judge import void_reason
from bench.run.trial import Bench
from bench.schema import Cancelled
from bench.sides import leftovers
from crawlers.registry import MODELS
from crawlers.stop import Stop
from tests.bench import small
from tests.bench.small import some
from tests.bench.sure import sure

EXCHANGES = 25
POINT = cancel(EXCHANGES, Participants(1))


@pytest.mark.parametrize(
    "label", some((*MODELS, *MAIN_VARIANTS, "bare_close"), "threads", "async_await", "bare_close")
)
def test_an_interrupted_crawl_is_timed_and_leaves_nothing(shared: Bench, label: str) -> None:
    if missing := shared.backends[label].missing:
        pytest.skip(missing)
    record = small.trial(shared, POINT, label)
    assert (record.status, record.reason) == ("ok", None)
    assert record.kind == ("control" if label == "bare_close" else "trial")
    assert record.errors == {"cancelled": EXCHANGES}
    assert (record.pages, record.pages_per_s, record.limiter) == (0, None, None)
    assert sure(record.ledger).peak_in_flight == EXCHANGES
    found = sure(record.cancelled)
    assert found.in_flight == EXCHANGES
    assert 0 <= found.first_closed_s <= found.closed_s
    assert found.returned_s > 0
    assert found.client_cpu_s > 0
    assert (found.left, found.open_at_server) == ({}, 0)
    # The barrier fills with a long one, and what is measured has Python's own.
    assert found.switch_interval_s == pytest.approx(sys.getswitchinterval())
    assert record.params["switch_interval_s"] == 10.0


def test_a_harness_in_the_background_interrupts_as_well(shared: Bench) -> None:
    """A shell starts it with SIGINT ignored; its workers did so too, and each trial took 180 s."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        record = small.trial(shared, POINT, "callbacks")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (record.status, record.reason) == ("ok", None)


def test_a_crawl_that_ends_by_itself_fails(shared: Bench) -> None:
    record = small.trial(shared, POINT, "crash")
    assert record.status == "failed"
    assert record.cancelled is None


CANCELLED = Cancelled(
    in_flight=4,
    noticed_s=0.1,
    returned_s=0.01,
    first_closed_s=0.001,
    closed_s=0.02,
    client_cpu_s=0.005,
    server_work_s=0.001,
    switch_interval_s=0.005,
    left={},
    open_at_server=0,
)
LEDGER = small.LEDGER.model_copy(update={"requests": 4, "distinct": 4})
RESULT = replace(small.RESULT, pages=0, stopped="interrupted", errors={"cancelled": 4})


@pytest.mark.parametrize(
    ("result", "ledger", "cancelled", "reason"),
    [
        ({}, {}, {}, None),
        ({"stopped": None}, {}, {}, "it ended as complete"),
        ({"stopped": "deadline"}, {}, {}, "it ended as deadline"),
        ({"errors": {"cancelled": 3, "timeout": 1}}, {}, {}, "3 cancelled, 1 timeout of 4"),
        ({"errors": {}}, {}, {}, "none of 4"),
        ({}, {"peak_in_flight": 3}, {}, "only 3 of 4"),
        ({}, {"requests": 5}, {}, "of 5 in all"),
        ({}, {}, {"left": {"descriptor socket": 2}}, "left behind: 2 × descriptor socket"),
        ({}, {}, {"open_at_server": 1}, "1 connections were still open"),
    ],
)
def test_a_crawl_that_leaves_something_is_void(
    result: dict[str, Any], ledger: dict[str, Any], cancelled: dict[str, Any], reason: str | None
) -> None:
    found = void_reason(
        cancel(4, Participants(1)),
        replace(RESULT, **result),
        LEDGER.model_copy(update=ledger),
        "any digest",
        cancelled=CANCELLED.model_copy(update=cancelled),
    )
    assert found == reason or (reason is not None and reason in (found or ""))


def test_leftovers_are_counted_by_kind() -> None:
    before = leftovers.count()
    left, right = os.pipe()
    try:
        more = leftovers.more_than(before, 0.0)
    finally:
        os.close(left)
        os.close(right)
    assert more["descriptor pipe"] == 2
    assert leftovers.more_than(before, 60.0) == Counter()


def test_a_file_that_is_left_open_counts_and_that_of_a_library_does_not(tmp_path: Path) -> None:
    """libffi 3.5 keeps its own file open from its first closure on: httpx and trio make one."""
    before = leftovers.count()
    paths = [tmp_path / name for name in ("records.jsonl", "libffi.so.8.5.0")]
    for path in paths:
        path.touch()
    with paths[0].open(), paths[1].open():
        assert dict(leftovers.count() - before) == {f"descriptor {paths[0]}": 1}


def test_a_worker_goes_back_to_its_own_switch_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    before, handler = sys.getswitchinterval(), signal.getsignal(leftovers.AS_USUAL)
    try:
        monkeypatch.setattr(Stop, "noticed", None)
        watch = leftovers.Watch()
        sys.setswitchinterval(10.0)
        signal.raise_signal(leftovers.AS_USUAL)
        ending = watch.ending(1.0, 2.0)
        assert ending.switch_interval_s == pytest.approx(before)
        assert (ending.noticed, ending.returned, ending.cpu_s) == (None, 1.0, 0.0)
    finally:
        sys.setswitchinterval(before)
        signal.signal(leftovers.AS_USUAL, handler)
