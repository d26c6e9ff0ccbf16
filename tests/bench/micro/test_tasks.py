"""Waiting tasks: slopes and medians recounted from made-up records, tables, chart, a small run."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from bench.micro import report, study, tasks
from bench.micro.child import KINDS
from bench.micro.report import Found
from bench.micro.study import MicroError
from bench.micro.tasks import TOTAL, Held, fit, measured, refused
from bench.report.charts import Design, Skip
from tests.bench.micro import made
from tests.bench.synthetic import environment


def test_the_slope_leaves_out_what_a_process_takes_once() -> None:
    found = measured(made.record())
    assert list(found.values) == list(made.BYTES)
    for name, bytes_each in made.BYTES.items():
        assert found.median(name, "user_bytes") == pytest.approx(bytes_each)
    assert found.median("coroutine", TOTAL) == pytest.approx(400)
    whole = 18_000 + made.STACK + made.TABLES + made.OTHER
    thread = found.row("thread")[TOTAL]
    assert (thread.low, thread.high, thread.count) == (*[pytest.approx(whole)] * 2, 2)
    assert "kernel_other_bytes" not in found.row("asyncio")
    _, times = tasks.tables(made.record())
    rows = {row[0]: row for row in times.texts}
    assert rows["asyncio.Task"][1:] == ["2 [2–2]", "1.5 [1–2]", "1 [1–1]"]


def test_what_was_not_read_has_no_slope() -> None:
    held = [
        Held(**{**made.held("asyncio", count).model_dump(), "user_bytes": None})
        for count in KINDS["asyncio"].counts
    ]
    assert fit(held, "user_bytes") is None
    assert fit(held[:1], "page_table_bytes") is None, "one number of tasks is no line"


PATIENCE_S = 280
pytestmark = pytest.mark.timeout(PATIENCE_S + 20)


@pytest.mark.slow
def test_threads_take_more_than_generators(tmp_path: Path) -> None:
    record = tasks.run(
        tmp_path,
        1,
        Console(quiet=True),
        ("generator", "thread"),
        lambda kind: (20, 60, 120, 240) if kind.threaded else (5_000, 10_000, 20_000, 40_000),
        turns=20,
    )
    assert study.load(tmp_path, tasks.FILE_NAME, tasks.TasksRecord) == record
    generator, thread = (measured(record).median(kind, TOTAL) for kind in ("generator", "thread"))
    assert 100 < generator < 1000
    assert thread > 10 * generator


def test_what_does_not_fit_is_refused_with_the_numbers(tmp_path: Path) -> None:
    assert refused(KINDS["trio"], 1000, tmp_path) is None
    reason = refused(KINDS["trio"], 10**12, tmp_path)
    assert reason is not None
    assert "GiB of memory may be needed" in reason
    threads = refused(KINDS["thread"], 10**9, tmp_path)
    assert threads is not None
    assert "threads" in threads
    assert "needed" in threads


def test_a_process_that_fails_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "CHILD", "bench.micro.nonesuch")
    with pytest.raises(MicroError, match=r"the process of trio ended: .*nonesuch"):
        tasks.hold(KINDS["trio"], 10, [])


def test_the_table_has_parts_and_what_is_missing() -> None:
    table, _ = tasks.tables(made.record())
    rows = {row[0]: [cell.partition(" ")[0] for cell in row[1:]] for row in table.texts}
    assert rows["coroutine"] == ["400", "400", "0", "0", "–"]
    assert rows["thread"] == ["44,480", "18,000", "4,096", "16,384", "6,000"]
    assert table.notes[1:] == [
        "99,999 × thread: no room",
        "asyncio.Task, eager: eager tasks need Python 3.12; this is 3.11",
    ]


def test_every_table_and_chart_names_its_interpreter() -> None:
    whole = made.record(here=environment(python="CPython 3.11.2"))
    for table in tasks.tables(whole):
        assert table.caption.endswith("(CPython 3.11.2)")
    design = tasks.design(whole)
    assert isinstance(design, Design)
    assert "CPython 3.11.2" in design.footer[0]
    assert isinstance(tasks.design(made.record({})), Skip)


def test_the_chart_says_what_the_record_says(tmp_path: Path) -> None:
    design = tasks.design(made.record())
    assert isinstance(design, Design)
    assert design.finding == (
        "A waiting thread uses as much memory as 44 asyncio tasks, or 111 bare coroutines"
    )
    assert "400 B" in design.alt
    assert "43 KiB" in design.alt
    report.write(Found(tasks=made.record()), tmp_path, Console(quiet=True))
    assert (tmp_path / "charts" / "tasks.svg").stat().st_size > 1000
    assert "| thread | 44,480 [44,480–44,480] | 18,000 " in (tmp_path / "summary.md").read_text()


def test_records_are_read_back_and_parts_may_be_absent(tmp_path: Path) -> None:
    with pytest.raises(MicroError, match="measure with python -m bench micro"):
        report.load(tmp_path)
    study.save(made.record(), tmp_path, tasks.FILE_NAME)
    found = report.load(tmp_path)
    assert found == Found(tasks=made.record())
    (tmp_path / tasks.FILE_NAME).write_text("{}")
    with pytest.raises(MicroError, match="not a record"):
        report.load(tmp_path)
