"""How noisy a campaign was: one backend against itself, the order of trials, the host.

A pair is one backend under two labels at one point. Its trials have several metrics, so one
pair gives several comparisons, and they are not independent: a slow trial is slow by all of
them. Rates and bounds of false alarms are therefore counted over pairs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from bench.analysis.stats.metrics import CPU_PER_1000, METRICS, PAGES_PER_S, Metric
from bench.analysis.stats.ratios import (
    Comparison,
    Ratio,
    block_values,
    corrected,
    ratio,
)
from bench.analysis.stats.records import LEVEL, natural_key, trials_of
from bench.plan.labels import twin_of
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
    own: Mapping[tuple[str, str], float] = field(default_factory=dict)  # log ratio of each pair

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
    clients = {(t.point, t.backend): t.pinning.get("client") for t in trials_of(records)}
    return {place for place, cores in clients.items() if isinstance(cores, list) and len(cores) > 1}


def aa_noise_floor(records: Records, metric: Metric = PAGES_PER_S) -> NoiseFloor:
    """The campaign's noise floor for one metric, from its A/A pairs over all points."""
    return floor_from(aa_pairs(records, metric), spread_out(records))


@dataclass(frozen=True, slots=True)
class HostSpread:
    """How steady the host was, from the fixed loop that runs around every trial."""

    probe_p95_over_median: float  # 1.0 means perfectly steady
    steal_share: float | None  # of the trials' wall time


def host_spread(records: Records) -> HostSpread | None:
    """Spread of the host probe over the campaign, None without probes."""
    noted = [(t.host, t.trial_s) for t in trials_of(records, status=None) if t.host]
    times = [s for host, _ in noted for s in (host.probe_before_s, host.probe_after_s)]
    if not times or min(times) <= 0:
        return None
    median = float(np.median(times))
    stolen = [(host.steal_s, wall) for host, wall in noted if host.steal_s is not None]
    wall = sum(w for _, w in stolen)
    share = sum(s for s, _ in stolen) / wall if wall else None
    return HostSpread(float(np.quantile(times, 0.95)) / median, share)


def instrument_cost(records: Records) -> dict[tuple[str, str], Ratio]:
    """What keeping and counting times costs, by point and label: the speed with it over without.

    From the ``cost`` workload, whose trials differ in ``params["recorder"]``: "times" or
    "null". 0.99 means a loss of 1 %, in pages per processor second.
    """
    values: dict[tuple[str, str], dict[object, dict[int, float]]] = defaultdict(
        lambda: {"null": {}, "times": {}}
    )
    for trial in trials_of(records, "cost", twins=False):
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


def aa_check(records: Records, metrics: Sequence[Metric] = METRICS) -> AaResult:
    """Test every A/A pair of the campaign by every metric, as if it were a real comparison."""
    spread = spread_out(records)
    comparisons: list[Comparison] = []
    for metric in metrics:
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
