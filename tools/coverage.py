"""How often an interval covers the truth when noise is correlated or comes in bursts.

``python -m tools.coverage`` simulates campaigns of two equal backends, measures each by turns
and by whole trials under the same noise, takes the interval over blocks that every report
takes, and prints how often it holds 1. ``--into docs/notebook/method-studies.md`` writes the table
there. Seeds are fixed, so the table is the same every time.

The noise is a series in time, in which a turn is one step. It goes on between blocks. Turns
sample it in the order of :func:`bench.run.turns.take_turns`: in each round both labels in a
random order, then mirrored. A whole trial takes all of its steps in a row, and the two trials
of a block follow each other in a random order.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import signal

from bench import filesystem, text
from bench.analysis import stats

Floats = npt.NDArray[np.float64]
NAME: Final = "coverage"
SEED: Final = 20_262
SETS: Final = 1000
ROUNDS: Final = 25
"""Rounds of a block: four turns each, two for each label."""
BLOCKS: Final = (5, 6, 12)
PROCESS: Final = 0.01
"""How much a fresh process differs from another of the same program (standard deviation)."""
SCATTER: Final = 0.12
"""Of single turns, as measured on shared processors at every length from 10 ms to 1 s."""
DISTURBANCE: Final = 0.2
"""What a disturbed block adds, as a log ratio: threads on the reference machine, one in three."""


def independent(rng: np.random.Generator, sets: int, steps: int) -> Floats:
    """Every turn has noise of its own."""
    return rng.normal(0, SCATTER, (sets, steps))


def autoregressive(phi: float) -> Callable[[np.random.Generator, int, int], Floats]:
    """AR(1): a turn has ``phi`` of the noise of the turn before. The scatter is the same."""

    def series(rng: np.random.Generator, sets: int, steps: int) -> Floats:
        shocks = rng.normal(0, SCATTER * np.sqrt(1 - phi**2), (sets, steps))
        shocks[:, 0] = rng.normal(0, SCATTER, sets)
        return np.asarray(signal.lfilter([1.0], [1.0, -phi], shocks, axis=1))

    return series


def bursts(chance: float, length: float) -> Callable[[np.random.Generator, int, int], Floats]:
    """Calm with interruptions: each lasts ``length`` turns on average and has its own size."""

    def series(rng: np.random.Generator, sets: int, steps: int) -> Floats:
        noise = rng.normal(0, 0.04, (sets, steps))
        starts = rng.random((sets, steps)) < chance
        for row, start in zip(*np.nonzero(starts), strict=True):
            lasts = 1 + int(rng.exponential(length))
            noise[row, start : start + lasts] += rng.exponential(0.3)
        return noise

    return series


@dataclass(frozen=True, slots=True)
class Noise:
    """A kind of noise: its words, its series, and how a label drifts from block to block."""

    words: str
    series: Callable[[np.random.Generator, int, int], Floats]
    drift: float = 0.0  # correlation of what a label has of its own in successive blocks
    own: float = PROCESS  # its standard deviation
    disturbed: float = 0.0  # chance that one label of a block costs DISTURBANCE more
    one_sided: bool = False  # always the same label


KINDS: Final = (
    Noise("independent", independent),
    Noise("AR(1), 0.9 from turn to turn", autoregressive(0.9)),
    Noise("AR(1), 0.99 from turn to turn", autoregressive(0.99)),
    Noise("bursts of 3 turns, 1 in 20", bursts(0.05, 3)),
    Noise("bursts of 40 turns, 1 in 200", bursts(0.005, 40)),
    Noise("AR(1), and a label drifts: 0.25 from block to block", autoregressive(0.9), 0.25, 0.02),
    Noise("AR(1), and a label drifts: 0.6 from block to block", autoregressive(0.9), 0.6, 0.02),
    Noise("one block in three disturbs a label", independent, disturbed=1 / 3),
    Noise("… always the same label", independent, disturbed=1 / 3, one_sided=True),
)


@dataclass(frozen=True, slots=True)
class Row:
    """What the interval did under one kind of noise with so many blocks.

    Coverage is a share; the width is half of the mean interval, as a log ratio.
    """

    noise: str
    blocks: int
    whole_coverage: float
    whole_width: float
    turns_coverage: float
    turns_width: float


def block_ratios(
    kind: Noise, blocks: int, sets: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Log ratios of two equal backends, a row per campaign: in turns and in whole trials."""
    steps = 4 * ROUNDS
    noise = kind.series(rng, sets, blocks * steps).reshape(sets, blocks, steps)
    cost = np.exp(noise)
    # In turns: AB then BA, or BA then AB, drawn for each round.
    first = rng.random((sets, blocks, ROUNDS)) < 0.5
    mine = np.where(
        first[..., None], np.array([True, False, False, True]), np.array([False, True, True, False])
    ).reshape(sets, blocks, steps)
    own = own_of(kind, blocks, sets, rng)
    turns = _log_ratio(cost, mine) + own
    # Whole: the first half of the block is one label, the second half the other.
    early = np.broadcast_to(np.arange(steps) < steps // 2, cost.shape)
    swapped = rng.random((sets, blocks, 1)) < 0.5
    whole = _log_ratio(cost, early ^ swapped) + own
    return turns, whole


def own_of(kind: Noise, blocks: int, sets: int, rng: np.random.Generator) -> Floats:
    """What the two labels of a block differ by without any noise: two fresh processes."""
    scale = kind.own * np.sqrt(2)
    shocks = rng.normal(0, scale * np.sqrt(1 - kind.drift**2), (sets, blocks))
    shocks[:, 0] = rng.normal(0, scale, sets)
    drifting = np.asarray(signal.lfilter([1.0], [1.0, -kind.drift], shocks, axis=1))
    if not kind.disturbed:
        return drifting
    hit = rng.random((sets, blocks)) < kind.disturbed
    side = 1.0 if kind.one_sided else rng.choice((-1.0, 1.0), (sets, blocks))
    return drifting + DISTURBANCE * np.where(hit, side, 0.0)


def _log_ratio(cost: Floats, mine: npt.NDArray[np.bool_]) -> Floats:
    """Of the two labels' mean costs in each block."""
    total = cost.sum(axis=2)
    part = np.where(mine, cost, 0.0).sum(axis=2)
    return np.asarray(np.log(part / (total - part)))


def covered(ratios: Floats) -> tuple[float, float]:
    """How often the interval over blocks holds 0, and half of its mean width."""
    ends = np.array([stats.log_interval([float(x) for x in row]) for row in ratios])
    inside = (ends[:, 0] <= 0) & (ends[:, 1] >= 0)
    return float(inside.mean()), float((ends[:, 1] - ends[:, 0]).mean() / 2)


def simulate(kind: Noise, blocks: int, sets: int = SETS, seed: int = SEED) -> Row:
    """Many campaigns of so many blocks under one kind of noise."""
    rng = np.random.default_rng((seed, blocks, len(kind.words)))
    turns, whole = block_ratios(kind, blocks, sets, rng)
    return Row(kind.words, blocks, *covered(whole), *covered(turns))


def table(kinds: Sequence[Noise] = KINDS, blocks: Sequence[int] = BLOCKS) -> list[Row]:
    """Every kind of noise with every number of blocks."""
    return [simulate(kind, number) for kind in kinds for number in blocks]


def markdown(rows: Sequence[Row]) -> str:
    """The table as Markdown, with a line that says what was simulated."""
    head = ["noise", "blocks", "whole trials", "its interval", "turns", "its interval"]
    lines = text.markdown_table(
        head,
        [
            [
                row.noise,
                row.blocks,
                f"{row.whole_coverage:.3f}",
                f"± {100 * row.whole_width:.1f} %",
                f"{row.turns_coverage:.3f}",
                f"± {100 * row.turns_width:.1f} %",
            ]
            for row in rows
        ],
        right=5,
    )
    lines += [
        "",
        f"{text.count(SETS)} simulated campaigns a row (standard error 0.007), {4 * ROUNDS} turns",
        f"a block, seed {SEED}. By `python -m tools.coverage`.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the table, or write it into a document."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--into", type=Path, metavar="FILE", help="fill the table in this document")
    into = parser.parse_args().into
    found = markdown(table())
    if into is None:
        print(found)
    else:
        document = filesystem.read_text(into)
        filesystem.write_text(into, text.with_block(document, NAME, found))


if __name__ == "__main__":
    main()
