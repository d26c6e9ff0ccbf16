"""How close a trial came to the server's ceiling."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bench.analysis.stats.records import number_param
from bench.analysis.stats.spread import Spread, spread
from bench.schema import CeilingRecord, TrialRecord
from bench.store import Records


def requests_per_s(trial: TrialRecord) -> float | None:
    """Requests answered per second, redirects and 404s included, as in the ceiling."""
    if trial.ledger and trial.elapsed_s:
        return trial.ledger.requests / trial.elapsed_s
    return trial.pages_per_s


def ceiling_for(records: Records, trial: TrialRecord) -> float | None:
    """The ceiling in requests/s that matches the trial best; None without one.

    The same site comes first, then the nearest number of connections, then the
    same block. Equally good matches give their median.
    """
    found = [c for c in records.ceilings if c.requests_per_s is not None]
    if not found:
        return None
    site = trial.params.get("site")
    same_site = [c for c in found if c.site == site] or found
    slots = number_param(trial, "slots") or 64.0

    def distance(c: CeilingRecord) -> float:
        return abs(math.log(max(1, c.connections) / max(1.0, slots)))

    nearest = min(distance(c) for c in same_site)
    near = [c for c in same_site if distance(c) <= nearest + 1e-9]
    same_block = [c for c in near if c.block == trial.block] or near
    return float(np.median([c.requests_per_s or 0.0 for c in same_block]))


def share_of_ceiling(records: Records, trials: Sequence[TrialRecord]) -> Spread | None:
    """Requests/s of the trials as a share of the server's ceiling, over blocks."""
    shares: list[float | None] = []
    for trial in trials:
        rate, top = requests_per_s(trial), ceiling_for(records, trial)
        shares.append(rate / top if rate is not None and top else None)
    return spread(shares)
