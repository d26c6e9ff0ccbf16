"""The table at a glance: each number is that of the question that it belongs to."""

from __future__ import annotations

from bench.analysis import stats
from bench.analysis.offered import capacity, keeps_up, shared_rate
from bench.questions import asked
from bench.questions.glance import HELD, OVER_TLS, P99, PAGES, Glance
from bench.show.table import MISSING
from tests.bench import committed
from tests.bench.report.charts.campaigns import made
from tests.bench.synthetic import analysed


def test_numbers_are_those_of_their_questions() -> None:
    analysis = committed.analysis()
    answer = asked(analysis, "glance")
    assert answer
    assert isinstance(answer.measured, Glance)
    row = answer.measured.rows["async_await"]
    assert row[PAGES] == stats.spread(
        trial.pages_per_s for trial in analysis.at_point("throughput-100")["async_await"]
    )
    fit = analysis.memory["async_await"]
    assert row[HELD].median == (fit.total or 0.0) / 1024
    assert row[OVER_TLS].median > 10 * row[HELD].median
    assert row[P99].count >= stats.MIN_BLOCKS
    assert "async_await_mapped" not in answer.measured.rows
    (table,) = answer.tables
    assert [len(cells) for cells in table.texts] == [len(table.header)] * len(table.rows)
    assert MISSING in dict(zip(table.header, table.texts[4], strict=True)).values(), "gevent's p99"


def test_the_rate_is_one_that_all_carry() -> None:
    rates = analysed(made()).by_size("openloop", "rate")
    rate = shared_rate(rates, rates)
    assert rate
    assert all(keeps_up(found[rate], rate) for found in rates.values())
    most = {label: capacity(found) for label, found in rates.items()}
    slowest = min((each for each in most.values() if each), default=None)
    assert slowest is None or rate <= slowest / 2 or rate == min(min(r) for r in rates.values())
    assert shared_rate(rates, ["nobody"]) is None


def test_a_rate_with_blocks_for_an_interval_comes_before_a_higher_one() -> None:
    """At 4,000/s there were three blocks, and so no finding about latency in a whole run."""
    rates = analysed(made(rates=(2000, 4000))).by_size("openloop", "rate")
    assert shared_rate(rates, rates) == 4000
    fewer = {x: {r: ts[: 3 if r == 4000 else 5] for r, ts in of.items()} for x, of in rates.items()}
    assert shared_rate(fewer, fewer) == 2000
