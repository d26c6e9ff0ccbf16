"""Tables, chart and sentence of waiting tasks; connections only of the same machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from bench.micro import report
from bench.micro.record import MicroError
from bench.micro.report import Found
from bench.micro.waiting import chart, record
from bench.micro.waiting import report as tasks
from bench.micro.waiting.beside import connections
from bench.report.charts import Design, Skip
from bench.text import KIB
from tests.bench.micro.waiting import made
from tests.bench.synthetic import MODELS, analysed, campaign, environment

CAMPAIGN = analysed(campaign(backends=MODELS, blocks=2, workloads=("c10k",)))


def test_the_table_has_parts_connection_and_what_is_missing() -> None:
    table = tasks.memory(made.record(), {"threads": 84 * KIB})
    rows = {row[0]: row for row in table.texts}
    assert rows["coroutine"][2:7] == ["400", "0", "0", "–", "400"]
    assert rows["thread"][2:7] == ["18,000", "4,096", "16,384", "6,000", "44,480"]
    assert rows["thread"][-1] == "84.0"
    assert rows["trio task"][-1] == "–"
    assert table.notes == [
        "99,999 × thread: no room",
        "asyncio.Task, eager: eager tasks need Python 3.12; this is 3.11",
    ]


def test_times_have_their_range_and_instructions() -> None:
    rows = {row[0]: row for row in tasks.times(made.record()).texts}
    assert rows["asyncio.Task"][1:5] == ["2.00 [2.00–2.00]", "1.50 [1.00–2.00]", "1.00 [1.00–1.00]",
                                         "2,500"]  # fmt: skip


def test_the_chart_says_what_the_record_says(tmp_path: Path) -> None:
    held, where = connections(CAMPAIGN, CAMPAIGN.campaign.environment)
    design = chart.design(made.record(), held, where)
    assert isinstance(design, Design)
    assert design.finding == (
        "A waiting thread takes the memory of 44 asyncio tasks, or 111 bare coroutines"
    )
    assert "coroutine 400 B" in design.alt
    assert "thread 43 KiB (with a connection " in design.alt
    found = Found(tasks=made.record(here=CAMPAIGN.campaign.environment))
    report.write(found, tmp_path, Console(quiet=True), CAMPAIGN)
    assert (tmp_path / "charts" / "tasks.svg").stat().st_size > 1000
    assert "| thread | an Event | 18,000 |" in (tmp_path / "summary.md").read_text()


def test_connections_of_another_machine_or_release_do_not_stand_beside() -> None:
    here = CAMPAIGN.campaign.environment
    assert set(connections(CAMPAIGN, here)[0]) == set(MODELS)
    for changes, word in (
        ({"cpu_model": "Abacus"}, "machine"),
        ({"python": "CPython 3.9.1"}, "Py"),
    ):
        held, why = connections(CAMPAIGN, here.model_copy(update=changes))
        assert held == {}
        assert f"another {word}" in why
    assert connections(None, here)[0] == {}
    micro = here.model_copy(update={"python": here.python.rpartition(".")[0] + ".99"})
    assert connections(CAMPAIGN, micro)[0], "a third number makes no difference"


def test_the_sentence_counts_a_thread_in_tasks() -> None:
    text = tasks.sentence(made.record())
    assert "0.39 KiB (coroutine), 0.98 KiB (asyncio.Task)" in text
    assert "A thread takes as much as 44 of asyncio’s tasks." in text
    assert tasks.COMMAND in tasks.sentence(None)


def test_records_are_read_back_and_parts_may_be_absent(tmp_path: Path) -> None:
    with pytest.raises(MicroError, match="measure with python -m bench micro"):
        report.load(tmp_path)
    record.save(made.record(), tmp_path)
    found = report.load(tmp_path)
    assert found == Found(tasks=made.record())
    text = report.summary(found)
    assert "prices were not measured" in text
    assert report.as_json(found)["tasks.asyncio.bytes"] == pytest.approx(1000)
    (tmp_path / record.FILE_NAME).write_text("{}")
    with pytest.raises(MicroError, match="not a record"):
        report.load(tmp_path)


def test_without_memory_there_is_no_chart() -> None:
    empty = made.record({})
    assert isinstance(chart.design(empty, {}, ""), Skip)
    assert environment().cpu_model
