"""Waiting tasks: what has no slope, what is refused or missing, and a small run."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from bench.analysis.stats import MIN_CONNECTION_COUNTS
from bench.micro import tasks
from bench.micro.tasks import KINDS, STUDY, TOTAL, TaskKind, TasksHeld, fit, refused
from bench.study import runner
from crawlers.registry import names
from tests.bench.micro import made


def test_what_was_not_read_has_no_slope() -> None:
    held = [
        TasksHeld(**{**made.held("asyncio", count).model_dump(), "user_bytes": None})
        for count in KINDS["asyncio"].counts
    ]
    assert fit(held, "user_bytes") is None
    assert fit(held[:1], "page_table_bytes") is None, "one number of tasks is no line"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.root
def test_threads_take_more_than_generators(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    two = {name: KINDS[name] for name in ("generator", "thread")}
    counts = {"COUNTS": (5_000, 10_000, 20_000, 40_000), "THREAD_COUNTS": (20, 60, 120, 240)}
    for name, value in ({"KINDS": two, "TURNS": 20} | counts).items():
        monkeypatch.setattr(tasks, name, value)
    with ExitStack() as stack:
        runner.run(STUDY, tmp_path, tasks.programs(stack), 1, Console(quiet=True))
    found = tasks.measured(STUDY.last(tmp_path))
    if found.spread("thread", TOTAL) is None:
        pytest.skip("not all memory of a thread can be read: the kernel's part is root's")
    assert 100 < found.median("generator", TOTAL) < 1000
    assert found.median("thread", TOTAL) > 10 * found.median("generator", TOTAL)
    assert all(found.spread(name, key) for name in two for key in tasks.TIMES)


def test_what_does_not_fit_is_refused_with_the_numbers() -> None:
    assert refused(KINDS["trio"], 1000) is None
    assert "GiB of memory may be needed" in (refused(KINDS["trio"], 10**12) or "")
    threads = refused(KINDS["thread"], 10**9) or ""
    assert "threads" in threads
    assert "needed" in threads


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_has_numbers_for_a_slope_and_a_backend_that_exists(kind: TaskKind) -> None:
    assert len(kind.counts) >= MIN_CONNECTION_COUNTS
    assert all(a < b for a, b in pairwise(kind.counts))
    assert kind.backend == "" or kind.backend in names()


def test_what_is_missing_says_why() -> None:
    assert (KINDS["asyncio_eager"].missing is None) == (sys.version_info >= (3, 12))
    later = TaskKind("x", "x", "", "", since=99)
    assert (later.missing or "").startswith("it needs Python 3.99; this is 3.")
    absent = TaskKind("x", "x", "", "", library="no_such_library_here")
    assert absent.missing == "no_such_library_here is not installed"
