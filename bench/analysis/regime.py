"""The regime map: which model wins at each number of slots and each server delay.

In each cell the model with the best mean is compared with every other one, paired within
blocks. It wins if a difference is shown to all of them. It shares the cell with the models
that are equivalent to it, and a cell with a model that is neither is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.analysis import stats
from bench.analysis.family import Family
from bench.analysis.stats import Comparison, Metric, Pair
from bench.schema import TrialRecord
from bench.store import Records
from crawlers.registry import MODELS

WORKLOADS = ("throughput", "waiting", "regime")


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of slots at one delay.

    ``best`` is the winner, or the leader and the models that no difference to it is shown
    for; ``undecided`` are those of them that are not equivalent to it either.
    """

    point: str
    slots: int
    delay_ms: float
    best: tuple[str, ...]
    lead: float | None  # the winner's ratio to the next model, above 1; None without a winner
    enough: bool  # whether there were enough blocks for a verdict
    server_limited: bool
    undecided: tuple[str, ...] = ()
    margin: float | None = None  # within which all of ``best`` are equivalent to the leader
    blocks_to_settle: int | None = None  # undecided: in all; None where blocks cannot decide

    @property
    def won(self) -> bool:
        """Whether one model is shown to be better than each of the others."""
        return self.enough and len(self.best) == 1

    @property
    def shared(self) -> bool:
        """Whether the best models are equivalent, so that the cell is decided too."""
        return self.enough and len(self.best) > 1 and not self.undecided


def delay_ms(trial: TrialRecord) -> float:
    """The delay in milliseconds; the median where it is random."""
    _, _, numbers = str(trial.params.get("delay") or "none").partition(":")
    return float(numbers.partition(":")[0] or 0)


def pairs(records: Records, metric: Metric, models: Sequence[str] = MODELS) -> list[Pair]:
    """The leader of each cell with each of the other models: what the map asks.

    Every point where at least two of the models were measured is a cell. More is better
    for a rate, less for everything else.
    """
    trials = [t for t in stats.trials_of(records, *WORKLOADS, twins=False) if t.label in models]
    values = stats.block_values(trials, metric)
    sign = 1 if metric is stats.PAGES_PER_S else -1
    found: list[Pair] = []
    for point in stats.points_of(records, *WORKLOADS):
        means = {
            label: sign
            * sum(map(math.log, values[point, label].values()))
            / len(values[point, label])
            for label in models
            if (point, label) in values
        }
        if len(means) > 1:
            leader = max(means, key=lambda label: means[label])
            found += [(point, leader, label) for label in means if label != leader]
    return found


def cells(records: Records, family: Family, models: Sequence[str] = MODELS) -> list[Cell]:
    """The map by the metric of ``family``, which holds the comparisons of :func:`pairs`."""
    asked = pairs(records, family.metric, models)
    sample = {trial.point: trial for trial in stats.trials_of(records, *WORKLOADS)}
    found = [
        cell(sample[point], leader, family.of(pair for pair in asked if pair[0] == point))
        for point, leader in dict.fromkeys((point, leader) for point, leader, _ in asked)
    ]
    return sorted(found, key=lambda cell: (cell.slots, cell.delay_ms))


def cell(sample: TrialRecord, leader: str, compared: Sequence[Comparison]) -> Cell:
    """The cell of one point, from its leader's comparisons with the other models."""
    level = [c for c in compared if not c.ratio.shown]
    undecided = [c for c in level if c.ratio.verdict != stats.EQUIVALENT]
    ratios = [c.ratio.value for c in compared if c.ratio.value]
    lead = min(max(ratio, 1 / ratio) for ratio in ratios) if not level and ratios else None
    needed = [c.ratio.blocks_to_settle for c in undecided]
    margins = [c.ratio.margin for c in level]
    return Cell(
        point=sample.point,
        slots=int(stats.number_param(sample, "slots") or 0),
        delay_ms=delay_ms(sample),
        best=(leader, *(c.label for c in level)),
        lead=lead,
        enough=all(c.ratio.verdict != stats.TOO_FEW for c in compared),
        server_limited=any(c.server_limited for c in compared),
        undecided=tuple(c.label for c in undecided),
        margin=None if undecided or not level else max(m for m in margins if m is not None),
        blocks_to_settle=(
            max(n for n in needed if n is not None) if needed and None not in needed else None
        ),
    )
