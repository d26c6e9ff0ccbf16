"""Duets: two backends at the same time, on two processors, and again with their sides swapped.

See :mod:`bench.run.duet`. In each block either label has one trial on either side. Their
ratio is the geometric mean of two: the one while A was on the left and B on the right, and
the one after the swap. So a side that is twice as fast multiplies one ratio by two and
divides the other by two, and what was measured at the same time is compared with itself.
Blocks, each of four fresh processes, are the sample.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from bench.analysis import stats
from bench.analysis.stats import Metric, Ratio
from bench.plan.labels import SIDES
from bench.schema import TrialRecord
from bench.store import Records

WORKLOAD: Final = "duet"
NONE_PLANNED: Final = "the campaign has no duets"


@dataclass(frozen=True, slots=True)
class Duet:
    """One label against the base in duets, by one metric; ``why`` there is no ratio."""

    ratio: Ratio | None
    why: str = ""


def duet(records: Records, label: str, metric: Metric) -> Duet:
    """How this label compares with the campaign's base."""
    planned = [entry for entry in records.campaign.plan if entry.workload == WORKLOAD]
    everyone = stats.trials_of(records, WORKLOAD, status=None)
    if not planned and not everyone:
        return Duet(None, NONE_PLANNED)
    base = records.campaign.base
    points = {trial.point for trial in everyone if trial.label == label}
    mine = [trial for trial in everyone if trial.point in points]
    if not mine:
        return Duet(None, f"{label} has no duet")
    blocks = paired([trial for trial in mine if trial.status == "ok"], base, label, metric)
    if not blocks:
        reasons = [trial.reason for trial in mine if trial.reason]
        return Duet(None, reasons[0] if reasons else "no duet has all four trials")
    ones = dict.fromkeys(blocks, 1.0)
    return Duet(stats.ratio(ones, blocks, metric=metric))


def paired(trials: list[TrialRecord], base: str, label: str, metric: Metric) -> dict[int, float]:
    """Block -> ratio of a label to the base, for the blocks in which both have both sides."""
    values: dict[int, dict[tuple[str, object], float]] = defaultdict(dict)
    for trial in trials:
        value = metric.value(trial)
        if value is not None and value > 0 and math.isfinite(value):
            values[trial.block][trial.label, trial.params.get("side")] = value
    wanted = [(name, side) for name in (base, label) for side in SIDES]
    return {
        block: math.sqrt(math.prod(found[label, s] / found[base, s] for s in SIDES))
        for block, found in sorted(values.items())
        if all(key in found for key in wanted)
    }
