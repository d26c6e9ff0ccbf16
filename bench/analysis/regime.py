"""The regime map: which model wins at each number of slots and each server delay.

In each cell the model with the best mean is compared with every other one,
paired within blocks. It wins if a difference is shown to all of them; otherwise
it shares the cell with the models that no difference was shown to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.analysis import stats
from bench.analysis.stats import Comparison, Metric
from bench.schema import TrialRecord
from bench.store import Records
from crawlers.registry import MODELS

WORKLOADS = ("throughput", "waiting", "regime")


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of slots at one delay."""

    point: str
    slots: int
    delay_ms: float
    best: tuple[str, ...]  # the winner, or the models that share the cell
    lead: float | None  # the winner's ratio to the next model, above 1; None without a winner
    enough: bool  # whether there were enough blocks for a verdict
    server_limited: bool


def delay_ms(trial: TrialRecord) -> float:
    """The delay in milliseconds; the median where it is random."""
    _, _, numbers = str(trial.params.get("delay") or "none").partition(":")
    return float(numbers.partition(":")[0] or 0)


def cells(records: Records, metric: Metric, models: Sequence[str] = MODELS) -> list[Cell]:
    """The map by one metric; more is better for a rate, less for everything else.

    Every point where at least two of the models were measured is a cell. The
    comparisons of all cells are one family.
    """
    trials = [t for t in stats.trials_of(records, *WORKLOADS, twins=False) if t.label in models]
    values = stats.block_values(trials, metric)
    sign = 1 if metric is stats.PAGES_PER_S else -1
    leaders: dict[str, str] = {}
    for point in stats.points_of(records, *WORKLOADS):
        means = {
            label: sign
            * sum(map(math.log, values[point, label].values()))
            / len(values[point, label])
            for label in models
            if (point, label) in values
        }
        if len(means) > 1:
            leaders[point] = max(means, key=lambda label: means[label])
    pairs = [
        (point, leader, label)
        for point, leader in leaders.items()
        for label in models
        if label != leader
    ]
    compared = stats.compare_pairs(records, pairs, metric)
    sample = {t.point: t for t in trials}
    found = [
        cell(sample[point], leader, [c for c in compared if c.point == point])
        for point, leader in leaders.items()
    ]
    return sorted(found, key=lambda cell: (cell.slots, cell.delay_ms))


def cell(sample: TrialRecord, leader: str, compared: Sequence[Comparison]) -> Cell:
    """The cell of one point, from its leader's comparisons with the other models."""
    level = [c.label for c in compared if not c.ratio.shown]
    ratios = [c.ratio.value for c in compared if c.ratio.value]
    lead = min(max(ratio, 1 / ratio) for ratio in ratios) if not level and ratios else None
    return Cell(
        point=sample.point,
        slots=int(stats.number_param(sample, "slots") or 0),
        delay_ms=delay_ms(sample),
        best=(leader, *level),
        lead=lead,
        enough=all(c.ratio.verdict != stats.TOO_FEW for c in compared),
        server_limited=any(c.server_limited for c in compared),
    )
