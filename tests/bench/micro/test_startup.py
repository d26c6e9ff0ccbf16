"""What an import takes beyond the bare interpreter, recounted; and a real one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.console import Console

from bench.micro import prices, report, startup
from bench.micro.report import Found
from bench.micro.startup import BARE, Start, StartupRecord
from bench.report.charts import Design
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
    found = {each.backend: each for each in startup.imports(made())}
    assert list(found) == ["threads", "callbacks", "aiohttp"]
    aiohttp = found["aiohttp"]
    assert aiohttp.cpu_ms.low == pytest.approx(150)
    assert aiohttp.cpu_ms.high == pytest.approx(150)
    assert aiohttp.ready_ms.median == pytest.approx(300)
    assert aiohttp.memory is not None
    assert aiohttp.memory.median == 7 * MIB
    assert aiohttp.modules == 132


def test_table_chart_and_summary_say_it(tmp_path: Path) -> None:
    assert startup.table(made()).caption == "Start-up (CPython 3.11.9)"
    rows = {row[0]: row for row in startup.table(made()).texts}
    assert rows["threads"][2] == "50 [50–50]"
    assert rows["threads"][3] == "5 [5–5]"
    assert startup.table(made()).notes == ["curio: curio 1.6 does not import"]
    design = startup.design(made())
    assert isinstance(design, Design)
    assert design.finding == ("aiohttp takes 150 ms of the processor to import, threads 50 ms")
    assert "threads 50.0 ms and 5.0 MiB" in design.alt
    report.write(Found(startup=made()), tmp_path, Console(quiet=True))
    assert (tmp_path / "charts" / "startup.svg").stat().st_size > 1000
    assert "## Start-up" in (tmp_path / "summary.md").read_text()


def test_memory_that_was_not_read_is_left_out() -> None:
    found = startup.imports(made(unread=True))
    assert {each.memory for each in found} == {None}
    assert "MiB" not in "".join(row[3] for row in startup.table(made(unread=True)).texts)
    design = startup.design(made(unread=True))
    assert isinstance(design, Design)
    assert "MiB" not in design.alt


@pytest.mark.timeout(300)
def test_a_real_import_takes_more_than_none(tmp_path: Path) -> None:
    found = startup.run(tmp_path, 1, Console(quiet=True), ("callbacks", ABSENT))
    assert prices.load(tmp_path, startup.FILE_NAME, StartupRecord) == found
    assert set(found.starts) == {BARE, "callbacks"}
    (each,) = startup.imports(found)
    assert each.modules > 20
    assert each.memory is None or each.memory.median > 0
    assert set(found.absent) == {ABSENT}
    assert ABSENT in found.absent[ABSENT]
    assert "Traceback" not in found.absent[ABSENT]
