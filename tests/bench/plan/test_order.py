"""The order of trials: balanced, random, and the same again from the same seed."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bench.plan import plan as order
from bench.plan.participants import Label

SIZES = st.integers(1, 12)
A, B, C, D = map(Label, "abcd")


@given(SIZES)
def test_a_design_holds_each_position_equally_often(size: int) -> None:
    rows = order.williams(size)
    for column in zip(*rows, strict=True):
        assert set(Counter(column).values()) == {len(rows) // size}


@given(SIZES)
def test_who_follows_whom_is_balanced(size: int) -> None:
    follows = Counter(pair for row in order.williams(size) for pair in pairwise(row))
    if size > 1:
        assert len(follows) == size * (size - 1)
        assert len(set(follows.values())) == 1


@given(SIZES, st.integers(1, 48), st.integers(0, 1000))
def test_few_blocks_never_repeat_a_position_and_full_rounds_balance_them(
    size: int, blocks: int, seed: int
) -> None:
    labels = [Label(f"label {number}") for number in range(size)]
    result = order.orders(labels, blocks, random.Random(seed))
    assert all(Counter(row) == Counter(labels) for row in result)
    for column in zip(*result, strict=True):
        spread = Counter(dict.fromkeys(labels, 0)) + Counter(column)
        counts = [spread[label] for label in labels]
        assert max(counts) - min(counts) <= 1


@given(st.integers(1, 10), st.integers(1, 10), st.integers(0, 100))
def test_some_labels_take_part_in_fewer_blocks_and_together(
    blocks: int, share: int, seed: int
) -> None:
    rest = min(share, blocks)
    labels = {A: blocks, B: blocks, C: rest, D: rest}
    found = order.schedule({"p": labels}, seed)
    assert Counter(turn.label for block in found for turn in block) == labels
    for number, block in enumerate(found):
        assert [(turn.block, turn.position) for turn in block] == [
            (number, position) for position in range(len(block))
        ]
        assert len(block) in (2, 4)


def test_the_same_seed_gives_the_same_schedule() -> None:
    labels = {"p-1": {A: 4, B: 4, C: 4}, "p-2": {A: 2, B: 2}}
    first, second = (order.schedule(labels, seed=7) for _ in range(2))
    assert first == second
    assert order.schedule(labels, seed=8) != first


def test_points_with_one_block_are_spread_over_the_campaign() -> None:
    turns = order.schedule({f"p-{number}": {A: 1} for number in range(40)} | {"q": {A: 5}}, seed=1)
    assert min(len(block) for block in turns) > 1


@given(st.integers(1, 9), st.integers(0, 10), st.integers())
def test_points_beside_each_other_share_their_blocks(blocks: int, more: int, seed: int) -> None:
    """Of turns and whole trials of the same crawl, two blocks of five met."""
    labels = {"turned": {A: blocks}, "whole": {A: blocks}, "more": {A: blocks + more}}
    schedule = order.schedule(labels, seed, {"whole": "turned", "turned": ""})
    turned, whole, longest = (
        [turn.block for block in schedule for turn in block if turn.point == point]
        for point in labels
    )
    assert turned == whole
    assert (len(turned), len(longest)) == (blocks, blocks + more)
