"""The rate of requests at which all can be compared."""

from __future__ import annotations

from bench.analysis.offered import capacity, keeps_up, shared_rate
from tests.bench.report.charts.campaigns import made
from tests.bench.synthetic import analysed


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
