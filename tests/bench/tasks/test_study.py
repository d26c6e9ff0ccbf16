"""Waiting tasks: slopes and medians recounted from made-up records, tables, chart, a small run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from bench.__main__ import main
from bench.analysis.stats import MIN_CONNECTION_COUNTS
from bench.cli import DONE, FAILED
from bench.show.pictures import alt
from bench.study import Run, runner
from bench.tasks import study as tasks
from bench.tasks.study import (
    KINDS,
    STUDY,
    TOTAL,
    Switched,
    TaskKind,
    TaskSample,
    TasksHeld,
    fit,
    refused,
)
from crawlers.registry import names
from tests.bench.study.made import kept, run, samples
from tests.bench.sure import sure

BYTES: Final = {"thread": 18_000, "asyncio": 1000, "trio": 1900, "coroutine": 400}
STACK, TABLES, OTHER, FIXED = 16_384, 4096, 6000, 50_000


def held(name: str, count: int) -> TasksHeld:
    """One process: all parts are lines, and times grow with nothing."""
    threaded = KINDS[name].threaded
    return TasksHeld(
        count=count,
        user_bytes=FIXED + BYTES[name] * count,
        page_table_bytes=TABLES * count if threaded else 0,
        kernel_stack_bytes=STACK * count if threaded else 0,
        kernel_other_bytes=OTHER * count if threaded else None,
        spawn_s=3e-6 if count != KINDS[name].counts[1] else 2e-6,
        cancel_s=1e-6,
    )


def made(names: Mapping[str, int] = BYTES) -> Run[TaskSample]:
    """Two repeats of these kinds, one that is missing, and one number that was refused."""
    parts: dict[str, list[TaskSample]] = {}
    for name in names:
        parts[f"{name} switch"] = [Switched(switch_s=us / 1e6) for us in (1, 2, 1.5)]
        for count in KINDS[name].counts:
            parts[f"{name} {count}"] = [held(name, count) for _ in range(2)]
    eager = "eager tasks need Python 3.12; this is 3.11"
    lost = {"asyncio_eager": ("refused", eager), "thread 99999": ("refused", "no room")}
    return run(STUDY, samples(parts, lost))


def test_the_slope_leaves_out_what_a_process_takes_once() -> None:
    found = tasks.measured(made())
    assert list(found.values) == list(BYTES)
    for name, bytes_each in BYTES.items():
        assert found.value(name, "user_bytes") == pytest.approx(bytes_each)
    assert found.value("coroutine", TOTAL) == pytest.approx(400)
    whole = 18_000 + STACK + TABLES + OTHER
    thread = sure(found.spread("thread", TOTAL))
    assert (thread.low, thread.high, thread.count) == (*[pytest.approx(whole)] * 2, 2)
    assert found.spread("asyncio", "kernel_other_bytes") is None


def test_the_tables_have_parts_times_and_what_is_missing() -> None:
    memory, times = tasks.tables(made())
    rows = {row[0]: [cell.partition(" ")[0] for cell in row[1:]] for row in memory.rows}
    assert rows["coroutine"] == ["400", "400", "0", "0", "–"]
    assert rows["thread"] == ["44,480", "18,000", "4,096", "16,384", "6,000"]
    for table in (memory, times):
        assert table.notes[:-1] == [
            "asyncio_eager: eager tasks need Python 3.12; this is 3.11",
            "thread 99999: no room",
        ]
    rows = {row[0]: list(row[1:]) for row in times.rows}
    assert rows["asyncio.Task"] == ["2", "1.44 [1.00–2.00]", "1"]


def test_what_was_not_read_has_no_slope() -> None:
    unread = [
        TasksHeld(**{**held("asyncio", count).model_dump(), "user_bytes": None})
        for count in KINDS["asyncio"].counts
    ]
    assert fit(unread, "user_bytes") is None
    assert fit(unread[:1], "page_table_bytes") is None, "one number of tasks is no line"


def test_the_chart_says_what_the_record_says() -> None:
    (design,) = tasks.designs(made())
    assert design.headline == (
        "A waiting thread uses as much memory as 44 asyncio tasks, or 111 bare coroutines"
    )
    words = alt(design.title, design.data)
    assert "400 B" in words
    assert "memory of one, KiB" in words, "ticks of its axis had been 9.76562 KiB"
    assert "43 KiB" in words
    assert design.notes[-1].endswith("Thin ticks: what each repeat found."), design.notes
    assert list(tasks.designs(made({}))) == []


def test_a_record_is_shown_and_redrawn_to_the_byte(tmp_path: Path) -> None:
    run = made()
    kept(STUDY, tmp_path, run)
    assert STUDY.last(tmp_path) == run
    tasks.report(run).write(tmp_path, Console(quiet=True))
    summary = (tmp_path / "summary.md").read_text()
    assert ": 2026-11-25, Intel(R) Xeon(R) Processor @ 2.60GHz, CPython 3.11.9.\n" in summary
    for table in tasks.tables(run):
        assert table.caption.endswith("(CPython 3.11.9)")
        assert f"\n## {table.caption}\n" in summary
    (design,) = tasks.designs(run)
    assert "CPython 3.11.9" in design.footer[0]
    assert (tmp_path / "charts" / f"{design.name}.svg").stat().st_size > 1000
    (tmp_path / "summary.md").unlink()
    code = FAILED if run.bad else DONE
    assert main(["study", "tasks", "--redraw", "--out", str(tmp_path)]) == code
    assert (tmp_path / "summary.md").read_text() == summary


def test_a_table_says_once_what_stands_behind_its_cells() -> None:
    """It said "Medians over repeats and their range. Medians over blocks and their range."."""
    for table in tasks.tables(made()):
        assert table.about.casefold().count("geometric mean") == 1
        assert table.about.endswith("Geometric mean of the repeats, and their range.")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_command_measures_what_there_is_and_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = TaskKind("x", "x", library="no_such_library_here")
    monkeypatch.setattr(tasks, "KINDS", {"coroutine": KINDS["coroutine"], "x": absent})
    monkeypatch.setattr(tasks, "COUNTS", (100, 200, 300, 400))
    assert main(["study", "tasks", "--repeats", "2", "--out", str(tmp_path)]) == DONE
    run = STUDY.last(tmp_path)
    programs = ["coroutine 100", "coroutine 200", "coroutine 300", "coroutine 400"]
    assert {name: len(parts) for name, parts in run.by_program().items()} == dict.fromkeys(
        ["coroutine switch", *programs], 2
    )
    assert run.reasons() == {"x": "no_such_library_here is not installed"}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.root
def test_threads_take_more_than_generators(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    two = {name: KINDS[name] for name in ("generator", "thread")}
    counts = {"COUNTS": (5_000, 10_000, 20_000, 40_000), "THREAD_COUNTS": (20, 60, 120, 240)}
    for name, value in ({"KINDS": two, "TURNS": 20} | counts).items():
        monkeypatch.setattr(tasks, name, value)
    runner.run(STUDY, tmp_path, tasks.programs(), 1, Console(quiet=True))
    found = tasks.measured(STUDY.last(tmp_path))
    if found.spread("thread", TOTAL) is None:
        pytest.skip("not all memory of a thread can be read: the kernel's part is root's")
    assert 100 < found.value("generator", TOTAL) < 1000
    assert found.value("thread", TOTAL) > 10 * found.value("generator", TOTAL)
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
    assert KINDS["coroutine"].missing is None
    later = TaskKind("x", "x", "", "", since=99)
    assert (later.missing or "").startswith("it needs Python 3.99; this is 3.")
