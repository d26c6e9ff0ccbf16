"""What an import takes beyond the bare interpreter, recounted; and a real one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.console import Console

from bench.micro import report, startup, study
from bench.micro.report import Found
from bench.micro.startup import BARE, Start, StartupRecord
from bench.text import MIB
from tests.bench.synthetic import environment

ABSENT = "asyncio_eager" if sys.version_info < (3, 12) else "curio"


def start(cpu_s: float, mib: float | None, modules: int) -> Start:
    size = None if mib is None else round(mib * MIB)
    return Start(ready_s=2 * cpu_s, cpu_s=cpu_s, rss_bytes=size, user_bytes=size, modules=modules)


def made(unread: bool = False) -> StartupRecord:
    """Every repeat is slower than the one before, the bare interpreter too."""
    starts = {BARE: [start(0.02 + 0.01 * n, 5, 70) for n in range(3)]}
    for place, name in enumerate(("threads", "callbacks", "aiohttp")):
        extra = 0.05 * (place + 1)
        mib = None if unread else 10.0 + place
        starts[name] = [start(0.02 + 0.01 * n + extra, mib, 200 + place) for n in range(3)]
    return StartupRecord(
        created="2026-11-22T02:00:00.000+00:00",
        command=["bench", "micro"],
        environment=environment(),
        starts=starts,
        absent={"curio": "curio 1.6 does not import"},
    )


def test_an_import_is_compared_with_the_bare_interpreter_of_the_same_repeat() -> None:
    found = startup.measured(made())
    assert list(found.values) == ["threads", "callbacks", "aiohttp"]
    cpu = found.row("aiohttp")["cpu"]
    assert [cpu.low, cpu.high] == pytest.approx([150, 150])
    assert {key: found.median("aiohttp", key) for key in ("ready", "private", "modules")} == {
        "ready": pytest.approx(300), "private": 7, "modules": 132,
    }  # fmt: skip


def test_the_tables_and_the_summary_say_it(tmp_path: Path) -> None:
    rows = {row[0]: row for row in startup.table(made()).texts}
    assert rows["threads"][2:4] == ["50 [50–50]", "5 [5–5]"]
    assert startup.table(made()).notes == ["curio: curio 1.6 does not import"]
    assert {row[3] for row in startup.table(made(unread=True)).texts} == {"–"}
    report.write(Found(startup=made()), tmp_path, Console(quiet=True))
    assert "## Start-up (CPython 3.11.9)" in (tmp_path / "summary.md").read_text()


@pytest.mark.timeout(300)
def test_a_real_import_takes_more_than_none(tmp_path: Path) -> None:
    found = startup.run(tmp_path, 1, Console(quiet=True), ("callbacks", ABSENT))
    assert study.load(tmp_path, startup.FILE_NAME, StartupRecord) == found
    assert set(found.starts) == {BARE, "callbacks"}
    each = startup.measured(found).row("callbacks")
    assert each["modules"].median > 20
    assert "private" not in each or each["private"].median > 0
    assert set(found.absent) == {ABSENT}
    assert ABSENT in found.absent[ABSENT]
    assert "Traceback" not in found.absent[ABSENT]
