"""Who goes when: randomised, position-balanced blocks from one seed.

Drift, thermal state and leftovers of the trial before all depend on *when* a
trial runs. Within a point, the order of the labels in successive blocks is
taken from a Williams design (E. J. Williams, "Experimental designs balanced
for the estimation of residual effects of treatments", 1949): over as many
blocks as there are labels every label has held every position once, and, for
an even number of labels, has followed every other label exactly once. Which
label plays which part and which row comes first is drawn from the seed. The
points of a block are shuffled too.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Turn:
    """One trial to run: place in the campaign, in its block, and who."""

    block: int
    point: str
    position: int
    label: str

    @property
    def key(self) -> tuple[int, str, str]:
        """What tells this trial from all others of the campaign."""
        return self.block, self.point, self.label


def williams(size: int) -> list[list[int]]:
    """Rows of a design for so many treatments, each row a permutation.

    Square for an even size; an odd size needs the mirrored square as well, to
    balance who follows whom.
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


def orders(labels: Sequence[str], blocks: int, rng: random.Random) -> list[list[str]]:
    """The order of the labels in each block of one point.

    Positions are balanced over each full round of ``len(labels)`` blocks, and
    no two blocks of such a round are alike.
    """
    result: list[list[str]] = []
    size = len(labels)
    while len(result) < blocks:
        cast = list(labels)
        rng.shuffle(cast)
        rows = williams(size)
        # The two squares of an odd size are each balanced in position, so the
        # rows are shuffled within a square, never across.
        squares = [rows[start : start + size] for start in range(0, len(rows), size)]
        rng.shuffle(squares)
        for square in squares:
            rng.shuffle(square)
            result.extend([cast[index] for index in row] for row in square)
    return result[:blocks]


def takes_part(block: int, blocks: int, of: int, phase: int = 0) -> bool:
    """Whether a point with ``blocks`` blocks has one of them in block number ``block`` of ``of``.

    A point with fewer blocks than the campaign spreads them evenly over it;
    ``phase``, from 0 to ``of - 1``, shifts them.
    """
    blocks = min(blocks, of)
    return ((block + 1) * blocks + phase) // of > (block * blocks + phase) // of


def schedule(
    labels: Mapping[str, Sequence[str]],
    blocks: Mapping[str, int],
    seed: int,
    fewer: Mapping[str, Mapping[str, int]] | None = None,
) -> list[list[Turn]]:
    """All trials of a campaign, block by block, in the order they are to run.

    ``labels`` and ``blocks`` say for each point whose trials a block holds
    and how many blocks it has; ``fewer`` which labels of it take part in fewer
    blocks, the same ones for labels with the same number. The same arguments
    give the same schedule.
    """
    rng = random.Random(seed)
    of = max(blocks.values(), default=0)
    order = {
        point: iter(orders(labels[point], min(blocks[point], of), rng)) for point in sorted(labels)
    }
    # Points with a block or two must not all meet in the last of the campaign.
    phase = {point: rng.randrange(of) for point in sorted(labels)}
    result: list[list[Turn]] = []
    number = dict.fromkeys(labels, 0)
    for block in range(of):
        points = sorted(p for p in labels if takes_part(block, blocks[p], of, phase[p]))
        rng.shuffle(points)
        turns = []
        for point in points:
            shares = (fewer or {}).get(point, {})
            present = [
                label
                for label in next(order[point])
                if takes_part(number[point], shares.get(label, blocks[point]), blocks[point])
            ]
            number[point] += 1
            turns += [Turn(block, point, place, label) for place, label in enumerate(present)]
        result.append(turns)
    return result
