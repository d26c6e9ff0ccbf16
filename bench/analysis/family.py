"""The family of a metric: every pair that a campaign compares, once, with one verdict.

Tables, charts and the ladder ask about the same pairs in different ways.
The verdict of a pair depends on how many comparisons it is corrected for, so a pair in two
families could be "slower" in a table and "undecided" on a map. Here all questions about one
metric make one family, a pair at a point is in it once, and whoever asks from the other side
gets the same comparison with its sides swapped.
"""

from __future__ import annotations

from collections.abc import Iterable

from bench.analysis import stats
from bench.analysis.stats import Comparison, Metric, Pair
from bench.store import Records


class Family:
    """All comparisons of a campaign by one metric, corrected together."""

    def __init__(self, records: Records, metric: Metric, pairs: Iterable[Pair]) -> None:
        """Compare each pair once; a pair that is also there the other way round is the same."""
        unique: dict[tuple[str, frozenset[str]], Pair] = {}
        for point, base, label in pairs:
            unique.setdefault((point, frozenset((base, label))), (point, base, label))
        self.metric = metric
        self.compared = stats.compare_pairs(records, unique.values(), metric)
        self._found = {(c.point, c.base, c.label): c for c in self.compared}

    def get(self, pair: Pair) -> Comparison | None:
        """The comparison of a pair, seen from its base; None where it was not measured."""
        point, base, label = pair
        if found := self._found.get(pair):
            return found
        swapped = self._found.get((point, label, base))
        return swapped.inverse if swapped else None

    def of(self, pairs: Iterable[Pair]) -> list[Comparison]:
        """The comparisons of these pairs, without those that were not measured."""
        return [found for pair in pairs if (found := self.get(pair))]
