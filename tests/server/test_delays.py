"""Delays: a function of seed and target, with the distribution that they name."""

from __future__ import annotations

import math
import statistics

from hypothesis import given
from hypothesis import strategies as st

from server.delays import parse_delay, uniform

SPECS = st.sampled_from(["none", "fixed:5", "lognormal:50", "lognormal:50:1.5"])


@given(spec=SPECS, seed=st.integers(), target=st.binary(max_size=60))
def test_a_delay_is_a_function_of_seed_and_target(spec: str, seed: int, target: bytes) -> None:
    delay = parse_delay(spec, seed)
    seconds = delay.seconds(target)
    assert seconds == parse_delay(spec, seed).seconds(target)
    assert 0 <= seconds < 3600
    assert parse_delay(str(delay), seed) == delay


@given(seed=st.integers(), target=st.binary())
def test_chances_lie_strictly_between_0_and_1(seed: int, target: bytes) -> None:
    assert 0 < uniform(seed, target) < 1


def test_delays_have_the_distribution_they_name() -> None:
    targets = [b"/p/%d" % number for number in range(20_000)]
    lognormal = [parse_delay("lognormal:50:0.8", 7).seconds(one) for one in targets]
    assert math.isclose(statistics.median(lognormal), 0.050, rel_tol=0.05)
    spread = statistics.stdev(math.log(one) for one in lognormal)
    assert math.isclose(spread, 0.8, rel_tol=0.05)
    assert lognormal[0] != parse_delay("lognormal:50:0.8", 8).seconds(targets[0])
    assert {parse_delay("fixed:50", 7).seconds(one) for one in targets} == {0.05}
