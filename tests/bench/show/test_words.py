"""Ratios in words, percentages below twice and multiples from there; and where threads ran."""

from __future__ import annotations

import pytest

from bench.analysis import stats
from bench.analysis.stats import Comparison, Ratio, Spread
from bench.report import charts, summary
from bench.show import cells
from bench.show.words import basis, change, interval, says
from tests.bench.questions.campaigns import shared_with_the_server
from tests.bench.synthetic import analysed, campaign, where


@pytest.mark.parametrize(
    ("ratio", "less", "words"),
    [
        (0.65, "fewer", "35 % fewer"),
        (1.52, "less", "52 % more"),
        (3.3, "less", "3.3 times as much"),
        (2.0, "fewer", "2.0 times as many"),
        (0.996, "less", "0.4 % less"),
    ],
)
def test_a_ratio_is_a_change(ratio: float, less: str, words: str) -> None:
    assert change(ratio, less) == words


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (0.65, 0.49, 0.86, "14 to 51 %"),
        (1.52, 1.17, 2.02, "17 to 102 %"),
        (3.3, 2.88, 3.77, "2.9 to 3.8"),
        # Both ends had read alike: "5.8 to 5.8".
        (5.79, 5.77, 5.81, "5.77 to 5.81"),
        (5.8, 5.801, 5.802, "5.80"),
        (0.23, 0.2266, 0.2334, "76.7 to 77.3 %"),
        (1.002, 1.0018, 1.0023, "0.18 to 0.23 %"),
        (0.65, None, None, ""),
    ],
)
def test_an_interval_has_the_unit_of_its_change(
    value: float, low: float | None, high: float | None, words: str
) -> None:
    ratio = Ratio(value, low, high, 6, None, (), "slower", "")
    found = Comparison("w", "p", stats.PAGES_PER_S, "a", "b", ratio, server_limited=False)
    assert interval(found) == words


@pytest.mark.parametrize(
    ("value", "low", "high", "cell"),
    [
        (1.003, 1.002, 1.004, "1.003 [1.002–1.004]"),
        (1.0, 0.9999, 1.0001, "1.000"),
        (168.2, 168.0, 168.4, "168.2 [168.0–168.4]"),
        (10.5, 10.0, 11.0, "10.5 [10.0–11.0]"),
        (7.14, 7.138, 7.142, "7.140 [7.138–7.142]"),
    ],
)
def test_the_ends_of_an_interval_look_different_in_a_cell(
    value: float, low: float, high: float, cell: str
) -> None:
    ratio = Ratio(value, low, high, 6, None, (), "slower", "")
    assert cell in (cells.ratio(ratio), cells.spread(Spread(value, low, high, 6)))


def test_a_large_number_has_a_comma() -> None:
    assert cells.tenths(26_581.54) == "26,581.5"


def test_names_agree_with_their_verbs() -> None:
    for name in ("threads", "callbacks", "generators"):
        assert says(name, "fetch") == f"{name} fetch"
    assert says("async_await", "fetch") == "async/await fetches"
    assert says("uvloop", "need") == "uvloop needs"
    assert says("processes", "crawl") == "processes crawl"
    assert says("threads@3.14.2t", "crawl") == "threads@3.14.2t crawl"


def test_where_every_backend_had_several_processors_none_is_said_to_have_them() -> None:
    """At few slots all have them: a chart of async_await alone said so of its pages at 100."""
    everywhere = {"client": [0, 1], "server": [0], "reason": None}
    few = where(campaign(blocks=1, samples=30), lambda t: t.workload == "c10k", pinning=everywhere)
    assert analysed(few).places is None


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


def test_a_difference_that_no_pair_of_one_backend_speaks_for_says_so() -> None:
    """method.md says that the sentence does; only those of new connections and servers did."""
    base, other = dict.fromkeys(range(5), 1.0), {block: 1.5 + block / 100 for block in range(5)}
    metric = stats.CPU_PER_1000

    def said(floor: float | None) -> str:
        judged = stats.ratio(base, other, floor=floor, metric=metric)
        assert judged.shown
        return basis(Comparison("", "", metric, "a", "b", judged, False, (base, other)))

    assert said(None).endswith("µs, without an A/A pair")
    assert said(0.01).endswith("µs")
