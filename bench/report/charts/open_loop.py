"""Open loop: its trials by rate, and the highest rate that a backend kept up with."""

from __future__ import annotations

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.schema import TrialRecord

KEEPS_UP = 0.98
"""Below this share of the offered rate a backend no longer keeps up."""

ByRate = dict[str, dict[float, list[TrialRecord]]]
"""Label -> offered rate -> its trials."""


def by_rate(analysis: Analysis) -> ByRate:
    """The open-loop trials; records without the rate among their parameters have it measured."""
    found = analysis.by_size("openloop", "rate")
    if found:
        return found
    result: ByRate = {}
    for trial in stats.trials_of(analysis.records, "openloop", twins=False):
        if trial.offered_per_s:
            result.setdefault(trial.label, {}).setdefault(trial.offered_per_s, []).append(trial)
    return {label: dict(sorted(rates.items())) for label, rates in result.items()}


def highest_kept(rates: dict[float, list[TrialRecord]]) -> float | None:
    """The highest offered rate up to which the backend kept up with every rate."""
    best = None
    for rate, trials in sorted(rates.items()):
        spread = stats.spread(t.achieved_per_s for t in trials)
        offered = stats.spread(t.offered_per_s or rate for t in trials)
        if spread is None or offered is None or spread.median < KEEPS_UP * offered.median:
            break
        best = rate
    return best
