"""Where backends with several threads ran, in made-up records."""

from __future__ import annotations

from bench.report import charts, summary
from tests.bench.questions.campaigns import shared_with_the_server
from tests.bench.synthetic import analysed, campaign, where


def test_tables_and_charts_say_where_threads_ran() -> None:
    found = analysed(shared_with_the_server())
    assert found.places is not None
    assert found.places.brief == "threads: 2 processors, shared with the server."
    assert found.places.words in summary.closed_loop(found).notes
    assert found.places.words in summary.to_markdown(found)
    assert "threads: 2 processors, shared with the server; every other" in found.places.words
    designs = charts.story(found)
    noted = {name for name, one in designs.items() if found.places.brief in one.notes}
    assert {"cpu", "throughput"} <= noted
    assert not noted & charts.WITHOUT_TIMES


def test_points_where_all_have_several_processors_name_nobody() -> None:
    shared = {"client": [0, 1], "server": [0], "reason": None}
    lines = where(shared_with_the_server(), lambda t: t.point == "throughput-10", pinning=shared)
    places = analysed(lines).places
    assert places is not None
    assert places.labels == ("threads",)


def test_campaigns_in_which_all_had_one_processor_say_nothing() -> None:
    found = analysed(campaign(workloads=("throughput",), base="callbacks", samples=30))
    assert found.places is None
    assert "processors, shared" not in summary.to_markdown(found)
