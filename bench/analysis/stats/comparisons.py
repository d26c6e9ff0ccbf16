"""Compare the backends of a campaign, pair by pair, with verdicts.

The verdict of a pair depends on how many comparisons it is corrected for, so a pair in two
families could be "slower" in a table and "undecided" in a chart. Here everything that is asked
about one metric makes one family, a pair at a point is in it once, and whoever asks from the
other side gets the same comparison with its sides swapped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from bench.analysis.stats.metrics import PAGES_PER_S, USER_PER_CONNECTION, Metric
from bench.analysis.stats.noise import aa_noise_floor
from bench.analysis.stats.ratios import Comparison, block_values, corrected, ratio, server_limited
from bench.analysis.stats.records import companions_of, labels_of, points_of, polled, trials_of
from bench.analysis.stats.work import apart, equal_work, faults_of
from bench.schema import TrialRecord
from bench.store import Records

Pair = tuple[str, str, str]
"""Point, base and label of a comparison."""

Blocks = Mapping[int, float]


class PairedValues:
    """The values of trials by one metric, paired only where the server did the same for both.

    Waking a server that sleeps is part of each send, so a page costs more than from one
    that polls. ``trials`` should have the companions of a campaign among them
    (:data:`bench.schema.Kind`).
    """

    def __init__(self, trials: Iterable[TrialRecord], metric: Metric) -> None:
        groups: dict[bool, list[TrialRecord]] = defaultdict(list)
        for trial in trials:
            groups[polled(trial)].append(trial)
        self._values = {state: block_values(group, metric) for state, group in groups.items()}

    def pair(self, point: str, base: str, label: str) -> tuple[Blocks, Blocks] | None:
        """What both have against a server in the same state; None if there is no such state."""
        for state in (True, False):
            blocks = self._values.get(state, {})
            if (point, base) in blocks and (point, label) in blocks:
                return blocks[point, base], blocks[point, label]
        return None


def star(records: Records, metric: Metric, base: str | None = None) -> list[Pair]:
    """Every backend with the base, at every point; ``base`` defaults to the campaign's."""
    base = base or records.campaign.base
    points, labels = points_of(records, *metric.workloads), labels_of(records)
    return [(point, base, label) for point in points for label in labels if label != base]


def compare_pairs(
    records: Records, pairs: Iterable[Pair], metric: Metric = PAGES_PER_S
) -> list[Comparison]:
    """One comparison for each (point, base, label) with trials of both, as one family.

    Differences that are not significant after correcting for the size of the family become
    "undecided". Where the two took other numbers of page faults for a page, or did other work by
    the server's ledger, there is no verdict. (Of memory, faults are the measure.)
    """
    trials = trials_of(records, *metric.workloads)
    values = PairedValues([*trials, *companions_of(records, *metric.workloads)], metric)
    floor = aa_noise_floor(records, metric)
    workload_of = {t.point: t.workload for t in trials}
    limited = server_limited(records) if metric is PAGES_PER_S else set()
    faults = {} if metric is USER_PER_CONNECTION else faults_of(records)
    unequal = equal_work(records).unequal
    comparisons: list[Comparison] = []
    for point, base, label in pairs:
        both = values.pair(point, base, label)
        if both is None:
            continue
        result = ratio(*both, floor=floor.at(point, base, label), metric=metric)
        others = (unequal[point, side] for side in (base, label) if (point, side) in unequal)
        if why := apart(faults, point, base, label) or next(others, None):
            result = result.without_verdict(why)
        hollow = bool({(point, base), (point, label)} & limited)
        comparisons.append(
            Comparison(workload_of[point], point, metric, base, label, result, hollow, both)
        )
    return corrected(comparisons)


class Family:
    """All comparisons of a campaign by one metric, corrected together."""

    def __init__(self, records: Records, metric: Metric, pairs: Iterable[Pair]) -> None:
        """Compare each pair once; a pair that is also there the other way round is the same."""
        unique: dict[tuple[str, frozenset[str]], Pair] = {}
        for point, base, label in pairs:
            unique.setdefault((point, frozenset((base, label))), (point, base, label))
        self.metric = metric
        self.compared = compare_pairs(records, unique.values(), metric)
        self._found = {(c.point, c.base, c.label): c for c in self.compared}

    def get(self, pair: Pair) -> Comparison | None:
        """The comparison of a pair, seen from its base; None where it was not measured."""
        point, base, label = pair
        if comparison := self._found.get(pair):
            return comparison
        swapped = self._found.get((point, label, base))
        return swapped.inverse if swapped else None

    def of(self, pairs: Iterable[Pair]) -> list[Comparison]:
        """The comparisons of these pairs, without those that were not measured."""
        return [comparison for pair in pairs if (comparison := self.get(pair))]
