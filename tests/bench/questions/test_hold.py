"""Servers that hold connections, in made-up records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from bench.analysis.stats import Spread
from bench.questions import hold
from bench.report.charts import story
from bench.schema import AnyRecord, TrialRecord
from bench.show.figures import Bars, Figure
from bench.text import KIB
from tests.bench.altered import altered, replaced, where
from tests.bench.sure import sure
from tests.bench.synthetic import KNOWN, MODELS, analysed, campaign


def holding(**options: object) -> list[AnyRecord]:
    """A campaign whose crawlers at the barrier are servers, on plain HTTP and over TLS."""

    def both(line: TrialRecord) -> Iterator[TrialRecord]:
        for workload in ("hold", "tls-hold"):
            point = line.point.replace("c10k", workload)
            yield altered(line, workload=workload, point=point, params__role="server")

    return replaced(campaign(workloads=("c10k",), **options), both)  # type: ignore[arg-type]


def failed(records: list[AnyRecord], workload: str, label: str = "") -> list[AnyRecord]:
    """The same, in which the trials of a workload have failed."""
    return where(
        records,
        lambda t: t.workload == workload and label in t.label,
        status="failed",
        reason="it ended",
    )


def test_what_has_failed_is_not_drawn() -> None:
    """The chart of nothing had ended the report with a traceback."""
    analysis = analysed(failed(failed(holding(blocks=2), "hold"), "tls-hold", "threads"))
    answer = hold.answer(analysis)
    assert answer is not None
    (figure,) = answer.figures
    assert figure.name in story(analysis)
    records = holding(blocks=2)
    alone = [
        line.model_copy(update={"kind": "control", "backend": hold.BARE, "label": hold.BARE})
        for line in records
        if isinstance(line, TrialRecord) and (line.workload, line.label) == ("hold", "callbacks")
    ]
    everything = failed(failed(records, "hold"), "tls-hold")
    assert "hold" not in story(analysed([*everything, *alone]))


def test_the_largest_number_of_connections_counts() -> None:
    analysis = analysed(holding(blocks=5))
    assert hold.COLUMNS.facts(analysis, hold.measured(analysis))["where"].startswith("at 10,000 c")
    found = hold.measured(analysis)
    assert list(found.values) == list(MODELS)
    for label in MODELS:
        assert found.median(label, "user") == pytest.approx(KNOWN[label].user_kib, rel=0.1)
        assert found.median(label, "user") < found.median(label, hold.PLAIN)


def test_a_server_that_held_fewer_is_in_the_table_too() -> None:
    few = [
        line
        for line in holding(blocks=2)
        if not (isinstance(line, TrialRecord) and line.label == "threads" and "10000" in line.point)
    ]
    found = hold.measured(analysed(few))
    assert list(found.values) == list(MODELS)
    assert hold.COLUMNS.facts(analysed(few), found)["where"].startswith("at 5,000 or 10,000 c")


def test_what_servers_hold_is_not_what_crawlers_hold() -> None:
    assert analysed(holding(blocks=2)).memory == {}
    assert hold.answer(analysed(campaign(workloads=("c10k",)))) is None


def test_a_user_sees_the_servers_own_memory() -> None:
    """Who cannot read slabinfo has no total, and a headline that says so."""
    unread = {"memory__held__kernel_socket_bytes": None}
    lines = where(holding(blocks=5), lambda t: t.memory, **unread)
    answer = hold.answer(analysed(lines))
    assert answer
    assert answer.headline
    assert answer.headline.text.startswith("An idle connection costs a server, in user memory, ")
    assert answer.figures[0].subtitle.startswith("User memory of the server")
    assert answer.tables[0].header[1] == "user, KiB", "there is no column of what was not read"


@pytest.mark.parametrize("names", [MODELS, ("waitress", "hypercorn", "granian", "uvicorn")])
def test_a_chart_has_servers_whichever_were_measured(names: Sequence[str]) -> None:
    called = dict(zip(MODELS, names, strict=True))
    as_called = dict.fromkeys(("label", "backend"), lambda t: called[t.label])
    renamed = where(holding(blocks=2), lambda t: t.label in called, **as_called)
    (figure,) = (f for f in _figures(renamed) if f.name == hold.NAME)
    assert isinstance(figure.data, Bars)
    assert set(figure.data.panels[0].rows) == set(names)
    assert "more servers" not in " ".join(figure.notes)


def test_both_ends_are_in_one_chart_where_both_were_measured() -> None:
    """At the client's end as much as the memory chart says."""
    assert not [f for f in _figures(holding(blocks=2)) if f.name == "both-ends"]
    crawls = [
        one for one in campaign(workloads=("c10k",), blocks=2) if isinstance(one, TrialRecord)
    ]
    analysis = analysed([*holding(blocks=2), *crawls])
    (figure,) = (f for f in _figures([*holding(blocks=2), *crawls]) if f.name == "both-ends")
    assert isinstance(figure.data, Bars)
    (panel,) = figure.data.panels
    assert list(panel.rows) == list(MODELS)
    for label, (client, server) in panel.rows.items():
        assert isinstance(client, Spread)
        assert client.median == pytest.approx(sure(analysis.memory[label].total) / KIB)
        assert server == hold.measured(analysis).spread(label, hold.PLAIN)


def _figures(records: list[AnyRecord]) -> Sequence[Figure]:
    answer = hold.answer(analysed(records))
    assert answer is not None
    return answer.figures
