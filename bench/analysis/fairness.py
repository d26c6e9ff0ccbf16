"""Fairness between slots: did one slot wait while the others got on?"""

from __future__ import annotations

from dataclasses import dataclass

from bench.analysis import stats
from bench.analysis.stats import Spread
from bench.store import Records


@dataclass(frozen=True, slots=True)
class FairnessRow:
    """One backend's fairness over the blocks."""

    label: str
    least_served: Spread  # completions of the least served slot over the median slot's
    longest_wait_s: Spread
    jain: Spread  # Jain's index: 1 all equal, 1/slots one has all


def fairness_rows(records: Records) -> list[FairnessRow]:
    """One row per backend, in the campaign's order; none where it was not measured."""
    rows = []
    trials = stats.trials_of(records, "fairness", twins=False)
    for label in stats.labels_of(records):
        runs = [t.fairness for t in trials if t.label == label and t.fairness]
        least = stats.spread(map(stats.least_served, runs))
        wait = stats.spread(run.longest_gap_s[-1] for run in runs)
        jain = stats.spread(run.jain for run in runs)
        if least and wait and jain:
            rows.append(FairnessRow(label, least, wait, jain))
    return rows
