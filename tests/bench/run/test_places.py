"""Which turns count: those up to the place that every crawl of the block reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bench.run.places import level
from bench.run.turns import Turns, TurnTaken


def fabricated(reached: Sequence[Sequence[float]]) -> Turns:
    """Turns of takers that had done these shares of their crawls, round by round; all count."""
    taken = [
        TurnTaken(taker, number, 0.0, 0.01, 0.01, 0.01, 1, None, True, reached=share)
        for taker, shares in enumerate(reached)
        for number, share in enumerate(shares)
    ]
    return Turns([str(taker) for taker in range(len(reached))], taken)


def counted_of(turns: Turns, taker: int) -> list[float]:
    return [t.reached for t in turns.taken if t.taker == taker and t.counted]


def test_turns_count_up_to_the_same_place_of_every_crawl() -> None:
    """Where the first pages cost more, a crawl that came less far seemed dearer, by up to 11 %."""
    turns = fabricated([(0.2, 0.4, 0.6, 0.8), (0.1, 0.2, 0.3, 0.45), (9.0, 9.0, 9.0, 9.0)])
    found, until = level(turns, [0, 1])
    assert until == 0.45
    assert counted_of(found, 0) == [0.2, 0.4]
    assert counted_of(found, 1) == [0.1, 0.2, 0.3, 0.45]
    assert len(counted_of(found, 2)) == 4, "a control goes through its work several times"
    assert found.takers == turns.takers


def test_without_counted_turns_there_is_no_place() -> None:
    none = Turns(["a"], [replace(t, counted=False) for t in fabricated([(0.5,)]).taken])
    assert level(none, [0]) == (none, None)
    assert level(fabricated([(0.5,)]), []) == (fabricated([(0.5,)]), None)


@given(
    st.lists(
        st.lists(st.floats(0.001, 1), min_size=1, max_size=6).map(sorted), min_size=1, max_size=5
    )
)
def test_the_slowest_crawl_keeps_its_turns_and_none_goes_further(
    reached: list[list[float]],
) -> None:
    found, until = level(fabricated(reached), range(len(reached)))
    if max(shares[0] for shares in reached) > min(shares[-1] for shares in reached):
        assert (found, until) == (fabricated(reached), None)  # nothing would be left of one
        return
    assert until == min(shares[-1] for shares in reached)
    assert all(share <= until for t in range(len(reached)) for share in counted_of(found, t))
    slowest = min(range(len(reached)), key=lambda t: reached[t][-1])
    assert counted_of(found, slowest) == reached[slowest]
