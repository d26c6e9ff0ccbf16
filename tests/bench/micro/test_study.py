"""Every study of the micro-benchmarks is kept, shown, and redrawn from its record alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from bench.__main__ import main
from bench.cli import DONE, USAGE
from bench.micro import hops, pool, report, startup
from bench.micro.hops import SUBMIT, HopsRecord
from bench.micro.pool import PoolRecord
from bench.micro.startup import BARE, StartupRecord
from bench.micro.study import MicroError, Process, Study
from bench.text import capital
from tests.bench.micro import made

MADE = (made.tasks(), made.startup(), made.hops(), made.pool())
QUIET = Console(quiet=True)
ABSENT = "no_such_backend"


@pytest.mark.parametrize("record", MADE, ids=lambda record: record.NAME)
def test_a_record_is_kept_and_shown_and_redrawn_to_the_byte(record: Study, tmp_path: Path) -> None:
    record.save(tmp_path)
    assert report.load(tmp_path) == [record]
    report.write([record], tmp_path, QUIET)
    summary = (tmp_path / "summary.md").read_text()
    stamp = "2026-11-25, Intel(R) Xeon(R) Processor @ 2.60GHz, CPython 3.11.9"
    assert f"\n{capital(record.WHAT)}: {stamp}.\n" in summary
    for table in record.tables():
        assert table.caption.endswith("(CPython 3.11.9)")
        assert f"\n## {table.caption}\n" in summary
    for design in record.designs():
        assert "CPython 3.11.9" in design.footer[0]
        assert (tmp_path / "charts" / f"{design.name}.svg").stat().st_size > 1000
    (tmp_path / "summary.md").unlink()
    assert main(["study", "micro", "--redraw", "--out", str(tmp_path)]) == DONE
    assert (tmp_path / "summary.md").read_text() == summary
    (tmp_path / f"{record.NAME}.json").write_text("{}")
    with pytest.raises(MicroError, match="not a record of bench study micro"):
        report.load(tmp_path)


def test_no_record_and_an_unknown_part_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MicroError, match="measure with python -m bench study micro"):
        report.load(tmp_path)
    assert main(["study", "micro", "--only", "prices", "--out", str(tmp_path)]) == USAGE
    words = "no part 'prices': choose from tasks, startup, hops, pool"
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_process_that_fails_is_one_clear_line() -> None:
    with (
        Process("trio", ["-m", "bench.micro.nonesuch"], []) as child,
        pytest.raises(MicroError, match=r"the process of trio ended: .*nonesuch"),
    ):
        child.ask()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_command_measures_what_there_is_and_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup, "registry", SimpleNamespace(names=lambda: ["callbacks", ABSENT]))
    monkeypatch.setattr(hops, "WAYS", {SUBMIT: "", "to_thread": "", "x": "no_such_library"})
    monkeypatch.setattr(hops, "CALLS", 200)
    worker = "asyncio with workers"
    ways = {worker: pool.WAYS[worker], "x": ("variants.no_such", "x"), "y": ("no_such", "workers")}
    for name, value in {"WAYS": ways, "PAGES": 60, "LIMIT": 5}.items():
        monkeypatch.setattr(pool, name, value)
    asked = ["--only", "startup,hops,pool", "--repeats", "1", "--out", str(tmp_path)]
    assert main(["study", "micro", *asked]) == DONE
    starts, calls, pages = report.load(tmp_path)

    assert isinstance(starts, StartupRecord)
    assert {name: len(each) for name, each in starts.starts.items()} == {BARE: 2, "callbacks": 2}
    row = starts.measured().row("callbacks")
    assert row["modules"].median > 20
    assert "private" not in row or row["private"].median > 0
    assert set(starts.absent) == {ABSENT}
    assert ABSENT in starts.absent[ABSENT]
    assert "Traceback" not in starts.absent[ABSENT]

    assert isinstance(calls, HopsRecord)
    assert {way: len(each) for way, each in calls.hops.items()} == {SUBMIT: 2, "to_thread": 2}
    assert calls.hops["to_thread"][0].many is not None
    assert calls.absent == {"x": "no_such_library is not installed"}

    assert isinstance(pages, PoolRecord)
    assert {way: len(each) for way, each in pages.samples.items()} == {worker: 2, "y": 0}
    assert pages.absent == {"x": "no_such is not installed"}
    assert "No module named 'crawlers.no_such'" in pages.void["y"][0]


def test_an_import_is_compared_with_the_bare_interpreter_of_the_same_repeat() -> None:
    found = made.startup().measured()
    assert list(found.values) == ["threads", "callbacks", "aiohttp"]
    cpu = found.row("aiohttp")["cpu"]
    assert [cpu.low, cpu.high] == pytest.approx([150, 150])
    assert {key: found.median("aiohttp", key) for key in ("ready", "private", "modules")} == {
        "ready": pytest.approx(300), "private": 7, "modules": 132,
    }  # fmt: skip
    (table,) = made.startup().tables()
    rows = {row[0]: row for row in table.texts}
    assert rows["threads"][2:4] == ["50 [50–50]", "5 [5–5]"]
    assert table.notes == ["uvloop: uvloop has no wheel"]
    (table,) = made.startup(unread=True).tables()
    assert {row[3] for row in table.texts} == {"–"}
