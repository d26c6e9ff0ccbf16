"""What a connection holds, of a crawler and of a server, in made-up records."""

from __future__ import annotations

import pytest

from bench.capacity import costs
from bench.questions import hold, memory
from bench.report import export
from bench.report.charts import story
from tests.bench.questions.campaigns import encrypted, for_users, holding, indifferent, kept
from tests.bench.sure import sure
from tests.bench.synthetic import analysed, gathered, where
from tools.quotes import NotShownError, Numbers


def test_a_user_is_advised_and_quoted_by_user_memory() -> None:
    analysis = analysed(for_users(encrypted()))
    assert {fit.total for fit in analysis.memory.values()} == {None}
    measured = sure(costs.costs(analysis))
    held = [backend.plain for backend in measured.backends if backend.plain]
    assert {memory.in_all for memory in held} == {False}
    assert {memory.each for memory in held} == {fit.user for fit in analysis.memory.values()}
    numbers = Numbers(analysis)
    numbers.group = None  # no published campaign read it either
    with pytest.raises(NotShownError, match="not all"):
        numbers.idle("threads")


def test_the_export_has_the_trials_over_tls() -> None:
    rows = export.table(gathered(encrypted()))
    modes = {row["mode"] for row in rows}
    assert {"plain", "tls", "churn", "handshake", "tickets", None} == modes
    over = {(row["handshakes_full"], row["tls"]) for row in rows if row["mode"] == "handshake"}
    assert over == {(500, "TLS 1.3, ecdsa, no tickets")}


def test_one_number_of_connections_contrasts_no_models_that_are_alike() -> None:
    """It said "6.2 KiB with async/await and 6.2 KiB with threads, in one trial"."""
    lines = kept(indifferent("c10k", blocks=1), lambda trial: trial.point == "c10k-1000")
    said = sure(sure(memory.answer(analysed(lines))).headline).text
    assert said == "An idle connection uses about as much with every model"


def test_a_chart_of_nothing_is_not_drawn() -> None:
    """It had ended the report with a traceback."""
    floor = {"kind": "control", "backend": hold.BARE, "label": hold.BARE}
    alone = kept(holding(blocks=2), lambda t: (t.workload, t.label) == ("hold", "callbacks"))
    assert "hold" not in story(analysed(where(alone, bool, **floor)))


def test_what_servers_hold_is_not_what_crawlers_hold() -> None:
    assert analysed(holding(blocks=2)).memory == {}


def test_who_was_not_held_as_often_over_tls_is_named_below_the_chart() -> None:
    """Where limits refuse threads the largest number, the chart had no threads and no word."""
    lines = encrypted()
    top = max(t.memory.connections for t in analysed(lines).records.trials if t.memory)
    few = kept(
        lines, lambda t: not (t.memory and (t.memory.connections, t.label) == (top, "threads"))
    )
    for records, named in ((lines, False), (few, True)):
        note = story(analysed(records))["tls-memory"].notes[-1]
        assert note.endswith("numbers: threads.") == named


def test_the_interval_of_user_memory_is_not_called_that_of_a_total() -> None:
    assert "total" not in story(analysed(for_users(encrypted())))["memory"].subtitle
