"""Compare the backends of a campaign, pair by pair, and know how noisy it was.

The verdict of a pair depends on how many comparisons it is corrected for, so a pair in two
families could be "slower" in a table and "undecided" in a chart. Here everything that is asked
about one metric makes one family, a pair at a point is in it once, and whoever asks from the
other side gets the same comparison with its sides swapped.

An A/A pair is one backend under two labels at one point. Its trials have several metrics, so one
pair gives several comparisons, and they are not independent: a slow trial is slow by all of
them. Rates and bounds of false alarms are therefore counted over pairs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

from bench.analysis.stats.metrics import (
    CPU_PER_1000,
    METRICS,
    PAGES_PER_S,
    USER_PER_CONNECTION,
    Metric,
)
from bench.analysis.stats.ratios import (
    Comparison,
    Ratio,
    block_values,
    corrected,
    ratio,
    server_limited,
)
from bench.analysis.stats.records import (
    LEVEL,
    companions_of,
    labels_of,
    natural_key,
    points_of,
    polled,
    processors,
    trials_of,
)
from bench.analysis.stats.work import apart, equal_work, faults_of
from bench.plan.participants import twin_of
from bench.schema import HostNoise, TrialRecord
from bench.store import Records

REACH, SHARE = 2.0, 2 / 3
"""The floor is twice what two in three pairs stay within. Of normal noise that is what 95 in 100
stay within, but a third of the pairs may be as wild as they like."""

Pairs = Mapping[tuple[str, str], Mapping[int, float]]
"""(point, backend) -> block -> log ratio of the twin over the backend."""


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """How far one backend under two labels differs from itself, by one metric.

    A difference must exceed ``log``, what the pairs of the whole campaign stay within, and what
    either of its sides differed from itself at the same point. Pairs of clients with several
    processors count for themselves alone: they change their state within a campaign.
    ``docs/notebook/method-studies.md`` has how often that is wrong, simulated.
    """

    log: float | None  # None without any pair
    pairs: int  # that it is made from
    own: Mapping[tuple[str, str], float]  # log ratio of each pair

    def at(self, point: str, *labels: str) -> float | None:
        """The log ratio that a difference between these labels must exceed; None: no pair."""
        own = [self.own[point, label] for label in labels if (point, label) in self.own]
        return max([*own, *([] if self.log is None else [self.log])], default=None)


def aa_pairs(records: Records, metric: Metric) -> Pairs:
    """The A/A pairs of a campaign by one metric."""
    trials = trials_of(records, *metric.workloads)
    values = block_values(trials, metric)
    pairs: dict[tuple[str, str], dict[int, float]] = {}
    twins = {(t.point, t.label, t.backend) for t in trials if t.label != t.backend}
    for point, label, backend in sorted(twins, key=lambda twin: (natural_key(twin[0]), twin[1])):
        own, other = values.get((point, backend), {}), values.get((point, label), {})
        logs = {b: math.log(other[b] / own[b]) for b in sorted(own.keys() & other.keys())}
        if logs:
            pairs[point, backend] = logs
    return pairs


def floor_from(pairs: Pairs, spread: Collection[tuple[str, str]] = frozenset()) -> NoiseFloor:
    """The floor that these pairs make; ``spread`` had several processors."""
    own = {name: abs(float(np.mean(list(logs.values())))) for name, logs in pairs.items()}
    usual = [log for name, log in own.items() if name not in spread]
    # Not interpolated: with few pairs the floor must not fall below what was seen.
    log = REACH * float(np.quantile(usual, SHARE, method="inverted_cdf")) if usual else None
    return NoiseFloor(log, len(usual), own)


def spread_out(records: Records) -> set[tuple[str, str]]:
    """Point and backend of the clients that had several processors."""
    clients = {(t.point, t.backend): processors(t, "client") for t in trials_of(records)}
    return {place for place, cores in clients.items() if len(cores) > 1}


def aa_noise_floor(records: Records, metric: Metric = PAGES_PER_S) -> NoiseFloor:
    """The campaign's noise floor for one metric, from its A/A pairs over all points."""
    return floor_from(aa_pairs(records, metric), spread_out(records))


@dataclass(frozen=True, slots=True)
class HostSpread:
    """How steady the host was, from the fixed loop that runs around every trial."""

    probe_p95_over_median: float  # 1.0 means perfectly steady
    steal_share: float | None  # of the time of all processors


def host_spread(records: Records) -> HostSpread | None:
    """Spread of the host probe over the campaign, None without probes.

    All that took turns together have the same probes and the same stolen time, and each has its
    share of the time: they count once.
    """
    walls: dict[tuple[int, str, HostNoise], float] = defaultdict(float)
    for trial in records.every_trial:
        if trial.host:
            walls[trial.block, trial.point, trial.host] += trial.trial_s
    probes = [s for *_, host in walls for s in (host.probe_before_s, host.probe_after_s)]
    times = [probe_s for probe_s in probes if probe_s > 0]
    if not times:
        return None
    median = float(np.median(times))
    noted = [(host.steal_s, wall) for (*_, host), wall in walls.items()]
    # A guest that moves may have less than before: what other trials lost is not given back.
    stolen = [(max(steal_s, 0.0), wall) for steal_s, wall in noted if steal_s is not None]
    time_s = sum(wall for _, wall in stolen) * records.campaign.environment.cpu_count
    share = sum(s for s, _ in stolen) / time_s if time_s else None
    return HostSpread(float(np.quantile(times, 0.95)) / median, share)


def instrument_cost(records: Records) -> dict[tuple[str, str], Ratio]:
    """What keeping and counting times costs, by point and label: the speed with it over without.

    From the ``cost`` workload, whose trials differ in ``params["recorder"]``: "times" or
    "null". 0.99 means a loss of 1 %, in pages per processor second.
    """
    values: dict[tuple[str, str], dict[object, dict[int, float]]] = defaultdict(
        lambda: {"null": {}, "times": {}}
    )
    for trial in trials_of(records, "cost"):
        if cpu_ms := CPU_PER_1000.value(trial):
            kinds = values[trial.point, trial.label]
            kinds[trial.params.get("recorder")][trial.block] = 1 / cpu_ms
    return {key: ratio(kinds["null"], kinds["times"]) for key, kinds in values.items()}


@dataclass(frozen=True, slots=True)
class AaResult:
    """This suite's verdicts on one backend compared with itself.

    Every difference shown is a false alarm by construction. The noise floor for
    a pair comes from the *other* pairs, because a pair would hardly exceed a
    floor that it set itself. ``alarms`` counts full verdicts, corrected within each metric like
    real comparisons.
    """

    comparisons: tuple[Comparison, ...]
    tested: int
    alarms: int

    @property
    def pairs(self) -> int:
        """Independent pairs that were tested by at least one metric."""
        return len({(c.point, c.base) for c in self.comparisons if c.ratio.low is not None})

    @property
    def alarmed(self) -> int:
        """Pairs with a false alarm by at least one metric."""
        return len({(c.point, c.base) for c in self.comparisons if c.ratio.shown})

    @property
    def bound(self) -> float | None:
        """The highest share of pairs with a false alarm that fits these; None without a test."""
        return clopper_pearson(self.alarmed, self.pairs) if self.pairs else None


def clopper_pearson(seen: int, of: int) -> float:
    """The one-sided upper bound on a share: the highest that gives so few this often.

    C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404. With none of n it is about
    3 / n.
    """
    return 1.0 if seen == of else float(special.betaincinv(seen + 1, of - seen, LEVEL))


def aa_check(records: Records) -> AaResult:
    """Test every A/A pair of the campaign by every metric, as if it were a real comparison."""
    spread = spread_out(records)
    comparisons: list[Comparison] = []
    for metric in METRICS:
        pairs = aa_pairs(records, metric)
        family: list[Comparison] = []
        for (point, backend), logs in pairs.items():
            others = {k: v for k, v in pairs.items() if k != (point, backend)}
            sides = dict.fromkeys(logs, 1.0), {b: math.exp(x) for b, x in logs.items()}
            result = ratio(*sides, floor=floor_from(others, spread).log, metric=metric)
            twin = twin_of(backend)
            family.append(Comparison("", point, metric, backend, twin, result, False, sides))
        comparisons += corrected(family)
    tested = sum(c.ratio.low is not None for c in comparisons)
    alarms = sum(c.ratio.shown for c in comparisons)
    return AaResult(tuple(comparisons), tested, alarms)


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
