"""The order of trials: randomised, position-balanced blocks from one seed.

Drift, temperature and leftovers of the previous trial all depend on *when* a
trial runs. Within a point, the order of the labels in successive blocks is
taken from a Williams design (E. J. Williams, "Experimental designs balanced
for the estimation of residual effects of treatments", 1949): over as many
blocks as there are labels every label holds every position once and, for an
even number of labels, follows every other label exactly once. The seed decides
which label plays which part and which row comes first. The points of a block
are shuffled too.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bench.plan.labels import Label
from bench.schema import TrialRecord


@dataclass(frozen=True, slots=True)
class Turn:
    """One trial to run: its place in the campaign and in its block, and its label."""

    block: int
    point: str
    position: int
    label: Label

    @property
    def key(self) -> tuple[int, str, Label]:
        """Identifies this trial within the campaign."""
        return self.block, self.point, self.label


def key(record: TrialRecord) -> tuple[int, str, Label]:
    """The :attr:`Turn.key` of the turn that gave this record."""
    return record.block, record.point, Label.of(record)


def williams(size: int) -> list[list[int]]:
    """Rows of a design for so many treatments, each row a permutation.

    Square for an even size. An odd size needs the mirrored square as well, to
    balance which treatment follows which.
    """
    zigzag = [0]
    low, high = 1, size - 1
    while len(zigzag) < size:
        zigzag.append(low)
        low += 1
        if len(zigzag) < size:
            zigzag.append(high)
            high -= 1
    rows = [[(value + shift) % size for value in zigzag] for shift in range(size)]
    if size % 2 and size > 1:
        rows += [row[::-1] for row in rows]
    return rows


def orders(labels: Sequence[Label], blocks: int, rng: random.Random) -> list[list[Label]]:
    """The order of the labels in each block of one point.

    Positions are balanced over each full round of ``len(labels)`` blocks, and
    no two blocks of a round have the same order.
    """
    result: list[list[Label]] = []
    size = len(labels)
    while len(result) < blocks:
        parts = list(labels)
        rng.shuffle(parts)
        rows = williams(size)
        # The two squares of an odd size are each balanced in position, so the
        # rows are shuffled within a square, never across.
        squares = [rows[start : start + size] for start in range(0, len(rows), size)]
        rng.shuffle(squares)
        for square in squares:
            rng.shuffle(square)
            result.extend([parts[index] for index in row] for row in square)
    return result[:blocks]


def takes_part(block: int, blocks: int, of: int, phase: int = 0) -> bool:
    """Whether a point with ``blocks`` blocks has one of them in block number ``block`` of ``of``.

    A point with fewer blocks than the campaign has them spread evenly;
    ``phase``, from 0 to ``of - 1``, shifts them.
    """
    blocks = min(blocks, of)
    return ((block + 1) * blocks + phase) // of > (block * blocks + phase) // of


def blocks_in(of: int, blocks: int, phase: int = 0) -> list[int]:
    """The blocks of a campaign of ``of`` in which a point with ``blocks`` has one."""
    return [block for block in range(of) if takes_part(block, blocks, of, phase)]


def among(others: Sequence[int], blocks: int, of: int) -> list[int]:
    """So many blocks: of those of another point if they are enough, and else some more."""
    if blocks <= len(others):
        return [others[place] for place in blocks_in(len(others), blocks)]
    free = [block for block in range(of) if block not in others]
    return sorted([*others, *(free[place] for place in blocks_in(len(free), blocks - len(others)))])


def schedule(
    cast: Mapping[str, Mapping[Label, int]],
    seed: int,
    beside: Mapping[str, str] = MappingProxyType({}),
) -> list[list[Turn]]:
    """All trials of a campaign, block by block, in the order they run.

    ``cast`` says for each point in how many blocks each label takes part; the
    largest of these is the point's number of blocks. Labels with the same
    number are in the same blocks, and so are points of which ``beside`` says so. The same
    arguments give the same schedule.
    """
    rng = random.Random(seed)
    blocks = {point: max(cast[point].values()) for point in cast}
    of = max(blocks.values(), default=0)
    order = {point: iter(orders(list(cast[point]), blocks[point], rng)) for point in sorted(cast)}
    # Points with a block or two must not all meet in the last block of the campaign.
    phase = {point: rng.randrange(of) for point in sorted(cast)}
    apart = {point: blocks_in(of, blocks[point], phase[point]) for point in cast}
    # As many as both have; what one has more of lies between the other's.
    for point, other in beside.items():
        if point in apart and other in apart:
            apart[point] = among(apart[other], blocks[point], of)
    result: list[list[Turn]] = []
    number = dict.fromkeys(cast, 0)
    for block in range(of):
        points = sorted(p for p in cast if block in apart[p])
        rng.shuffle(points)
        turns = []
        for point in points:
            present = [
                label
                for label in next(order[point])
                if takes_part(number[point], cast[point][label], blocks[point])
            ]
            number[point] += 1
            turns += [Turn(block, point, place, label) for place, label in enumerate(present)]
        result.append(turns)
    return result
