"""Compare the backends of a campaign, pair by pair, with verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from bench.analysis.stats.metrics import PAGES_PER_S, USER_PER_CONNECTION, Metric
from bench.analysis.stats.noise import NoiseFloor, floors_of, ways_of
from bench.analysis.stats.ratios import (
    RESAMPLES,
    SEED,
    Comparison,
    block_values,
    corrected,
    ratio,
    server_limited,
)
from bench.analysis.stats.records import (
    companions_of,
    labels_of,
    points_of,
    polled,
    trials_of,
)
from bench.analysis.stats.work import apart, faults_of
from bench.schema import TrialRecord
from bench.store import Records

Pair = tuple[str, str, str]
"""Point, base and label of a comparison."""

Blocks = Mapping[int, float]

STATES: Final = (True, None, False)
"""Whether the server polled, None in records from before it could: the first that both have."""


class Values:
    """The values of trials by one metric, paired only where the server did the same for both.

    Waking a server that sleeps is part of each send, so a page costs more than from one
    that polls. ``trials`` should have the companions of a campaign among them
    (:data:`bench.schema.Kind`).
    """

    def __init__(self, trials: Iterable[TrialRecord], metric: Metric) -> None:
        groups: dict[bool | None, list[TrialRecord]] = defaultdict(list)
        for trial in trials:
            groups[polled(trial)].append(trial)
        self._values = {state: block_values(group, metric) for state, group in groups.items()}

    def pair(self, point: str, base: str, label: str) -> tuple[Blocks, Blocks] | None:
        """What both have against a server in the same state; None if there is no such state."""
        for state in STATES:
            found = self._values.get(state, {})
            if (point, base) in found and (point, label) in found:
                return found[point, base], found[point, label]
        return None


def compare(
    records: Records,
    metric: Metric = PAGES_PER_S,
    *,
    base: str | None = None,
    bases: Mapping[str, str] | None = None,
    floor: NoiseFloor | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Comparison]:
    """Every backend against the base, at every point, as one family of comparisons.

    ``base`` defaults to the campaign's. ``bases`` gives each label a base of its
    own instead, and leaves out labels it does not name. The noise floor defaults to
    that of these records for the way in which a point was measured. Differences that are
    not significant after correcting for the size of the family become "undecided".
    """
    pairs = star(records, metric, base, bases)
    return compare_pairs(records, pairs, metric, floor=floor, resamples=resamples, seed=seed)


def star(
    records: Records,
    metric: Metric,
    base: str | None = None,
    bases: Mapping[str, str] | None = None,
) -> list[Pair]:
    """The pairs of :func:`compare`: every backend with its base, at every point."""
    labels = labels_of(records)
    against = dict.fromkeys(labels, base or records.campaign.base) if bases is None else bases
    return [
        (point, against[label], label)
        for point in points_of(records, *metric.workloads)
        for label in labels
        if against.get(label, label) != label
    ]


def compare_pairs(
    records: Records,
    pairs: Iterable[Pair],
    metric: Metric = PAGES_PER_S,
    *,
    floor: NoiseFloor | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Comparison]:
    """One comparison for each (point, base, label) with trials of both, as one family.

    Like :func:`compare`, for bases that differ from pair to pair. Where the two took other
    numbers of page faults for a page, there is no verdict. (Of memory, faults are the measure.)
    """
    trials = trials_of(records, *metric.workloads)
    values = Values([*trials, *companions_of(records, *metric.workloads)], metric)
    ways = ways_of(records)
    floors = floors_of(records, metric)
    workload_of = {t.point: t.workload for t in trials}
    limited = server_limited(records) if metric is PAGES_PER_S else set()
    faults = {} if metric is USER_PER_CONNECTION else faults_of(records)
    found: list[Comparison] = []
    for point, base, label in pairs:
        both = values.pair(point, base, label)
        if both is None:
            continue
        result = ratio(
            *both,
            floor=(floor or floors[ways[point]]).at(point, base, label),
            metric=metric,
            resamples=resamples,
            seed=seed,
        )
        if why := apart(faults, point, base, label):
            result = result.without_verdict(why)
        hollow = bool({(point, base), (point, label)} & limited)
        found.append(Comparison(workload_of[point], point, metric, base, label, result, hollow))
    return corrected(found)
