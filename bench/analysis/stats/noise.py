"""How noisy a campaign was: one backend against itself, the order of trials, the host.

A pair is one backend under two labels at one point. Its trials have several metrics, so one
pair gives several comparisons, and they are not independent: a slow trial is slow by all of
them. Rates and bounds of false alarms are therefore counted over pairs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from scipy import stats as sps

from bench.analysis.stats.metrics import (
    CPU_PER_1000,
    METRICS,
    PAGES_PER_S,
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
from bench.analysis.stats.records import LEVEL, limiter_of, natural_key, trials_of
from bench.analysis.stats.work import other_work
from bench.plan.labels import twin_of
from bench.schema import TrialRecord
from bench.store import Records

Way = Literal["turns", "whole", "paced"]
"""How a point was measured: in turns, in whole trials, or in whole trials whose rate is set.

Where the server's delay sets the rate, whole trials hardly scatter.
"""
WAYS: Final[tuple[Way, ...]] = ("turns", "whole", "paced")


def ways_of(records: Records) -> dict[str, Way]:
    """Point -> how it was measured; paced where the schedule limited most of its trials."""
    groups: dict[str, list[TrialRecord]] = defaultdict(list)
    for trial in trials_of(records):
        groups[trial.point].append(trial)
    found: dict[str, Way] = {}
    for point, trials in groups.items():
        if any(trial.turns is not None for trial in trials):
            found[point] = "turns"
        else:
            found[point] = "paced" if limiter_of(trials) == "schedule" else "whole"
    return found


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """How far one backend under two labels differs from itself, by one metric.

    ``log`` is the 95th percentile of the absolute log ratios of the A/A pairs
    (geometric mean over blocks, one per point). With fewer than 20 pairs that is
    the largest of them; None without any pair. It judges every comparison.

    ``unsteady`` has the pairs that are left out, point and backend -> absolute log ratio: those
    that scatter more than :data:`UNSTEADY` times as much between blocks as the median pair, those
    whose two runs of a block did not do the same (:func:`other_work`), and those whose threads and
    the server had the same processors (:func:`shared`).
    There the program differs from run to run. That says nothing about how the others
    were measured, and everything about itself: see :meth:`at`.
    """

    metric: str
    log: float | None
    pairs: int
    unsteady: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def at(self, point: str, *labels: str) -> float:
        """The log ratio that a difference between these labels must exceed; 0 without a floor.

        Where one of them is unsteady, that is how far it differed from itself, if more.
        """
        return max(self.log or 0.0, *(self.unsteady.get((point, one), 0.0) for one in labels))

    @property
    def percent(self) -> float | None:
        """The floor as a percentage, 3.1 for ±3.1 %."""
        return None if self.log is None else 100 * math.expm1(self.log)


UNSTEADY: Final = 5.0
"""A pair that scatters so many times as much as the median pair is not in the noise floor."""
FEWEST_PAIRS, FEWEST_BLOCKS = 8, 3
"""With fewer pairs, or blocks of a pair, nobody can say which of them is unlike the others."""

Pairs = Mapping[tuple[str, str], Mapping[int, float]]
"""(point, backend) -> block -> log ratio of the twin over the backend."""


def aa_pairs(records: Records, metric: Metric, way: Way | None = None) -> Pairs:
    """The A/A pairs of a campaign by one metric, of one way of measuring or of all."""
    ways = ways_of(records)
    trials = [
        trial
        for trial in trials_of(records, *metric.workloads)
        if way is None or ways[trial.point] == way
    ]
    values = block_values(trials, metric)
    found: dict[tuple[str, str], dict[int, float]] = {}
    twins = {(t.point, t.label, t.backend) for t in trials if t.label != t.backend}
    for point, label, backend in sorted(twins, key=lambda x: (natural_key(x[0]), x[1])):
        mine, other = values.get((point, backend), {}), values.get((point, label), {})
        logs = {b: math.log(other[b] / mine[b]) for b in sorted(mine.keys() & other.keys())}
        if logs:
            found[point, backend] = logs
    return found


def floor_from(
    metric: Metric,
    pairs: Pairs,
    wild: Collection[tuple[str, str]] = frozenset(),
) -> NoiseFloor:
    """The floor that these pairs make, but for those in ``wild`` and those that are unsteady."""
    if not pairs:
        return NoiseFloor(metric.name, None, 0)
    means = {name: abs(float(np.mean(list(logs.values())))) for name, logs in pairs.items()}
    wild = unsteady(pairs).union(wild)
    steady = {name: mean for name, mean in means.items() if name not in wild}
    left_out = {name: mean for name, mean in means.items() if name in wild}
    # Not interpolated: with few pairs the floor must not fall below what was seen.
    floor = float(np.quantile([*steady.values()], 0.95, method="higher")) if steady else None
    return NoiseFloor(metric.name, floor, len(steady), left_out)


def unsteady(pairs: Pairs) -> set[tuple[str, str]]:
    """The pairs that scatter far more between blocks than the median pair does."""
    spreads = {
        name: float(np.std(list(logs.values()), ddof=1))
        for name, logs in pairs.items()
        if len(logs) >= FEWEST_BLOCKS
    }
    if len(spreads) < FEWEST_PAIRS:
        return set()
    limit = UNSTEADY * float(np.median(list(spreads.values())))
    return {name for name, spread in spreads.items() if spread > limit}


def shared(records: Records) -> set[tuple[str, str]]:
    """The pairs, point and backend, that shared the server's processor, where others did not."""
    found: dict[str, dict[bool, set[str]]] = defaultdict(lambda: {True: set(), False: set()})
    for trial in trials_of(records):
        client, server = (trial.pinning.get(side) for side in ("client", "server"))
        both = isinstance(client, list) and isinstance(server, list) and set(client) & set(server)
        found[trial.point][bool(both)].add(trial.backend)
    return {
        (point, backend)
        for point, groups in found.items()
        for backend in groups[True]
        if groups[False]
    }


def aa_noise_floor(
    records: Records, metric: Metric = PAGES_PER_S, way: Way | None = None
) -> NoiseFloor:
    """The campaign's noise floor for one metric, from its A/A pairs over all points.

    The ways of measuring differ in noise by an order of magnitude, so the floor is that of
    one of them: the first of :data:`WAYS` that has any pair, unless ``way`` names another.

    A pair that is unsteady by CPU per page is left out by every metric: a program that needs
    more work for a page in one run than in the next fetches fewer pages in it too.
    """
    if way is None:
        way = next((way for way in WAYS if aa_pairs(records, metric, way)), WAYS[0])
    pairs = aa_pairs(records, metric, way)
    wild = unsteady(aa_pairs(records, CPU_PER_1000, way)) | other_work(records) | shared(records)
    return floor_from(metric, pairs, wild)


def floors_of(records: Records, metric: Metric) -> dict[Way, NoiseFloor]:
    return {way: aa_noise_floor(records, metric, way) for way in WAYS}


@dataclass(frozen=True, slots=True)
class HostSpread:
    """How steady the host was, from the fixed loop that runs around every trial."""

    probe_p95_over_median: float  # 1.0 means perfectly steady
    steal_share: float | None  # of the trials' wall time


def host_spread(records: Records) -> HostSpread | None:
    """Spread of the host probe over the campaign, None without probes."""
    noted = [(t.host, t.trial_s) for t in trials_of(records, status=None) if t.host]
    times = [x for host, _ in noted for x in (host.probe_before_s, host.probe_after_s)]
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
    "null". 0.99 means a loss of 1 %. Trials in turns are compared by pages per processor
    second, which scatters least. Their pages were counted at the server.
    """

    def speed(trial: TrialRecord) -> float | None:
        cpu_ms = CPU_PER_1000.value(trial) if trial.turns else None
        return 1 / cpu_ms if cpu_ms else trial.pages_per_s

    values: dict[tuple[str, str], dict[str, dict[int, float]]] = defaultdict(
        lambda: {"null": {}, "times": {}}
    )
    for trial in trials_of(records, "cost", twins=False):
        key = trial.point, trial.label
        kind, value = str(trial.params.get("recorder")), speed(trial)
        if value and kind in values[key]:
            values[key][kind][trial.block] = value
    return {
        key: ratio(kinds["null"], kinds["times"], metric=PAGES_PER_S)
        for key, kinds in values.items()
        if kinds["null"] and kinds["times"]
    }


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
    refused: int  # too few blocks
    ways: Mapping[str, Way] = field(default_factory=dict)  # point -> how it was measured

    @property
    def rate(self) -> float | None:
        """Share of false alarms, None without any test."""
        return self.alarms / self.tested if self.tested else None

    @property
    def pairs(self) -> int:
        """Independent pairs that were tested by at least one metric."""
        return len({(c.point, c.base) for c in _tested(self.comparisons)})

    @property
    def alarmed(self) -> int:
        """Pairs with a false alarm by at least one metric."""
        return len({(c.point, c.base) for c in self.comparisons if c.ratio.shown})

    @property
    def bound(self) -> float | None:
        """The highest share of pairs with a false alarm that fits these; None without a test."""
        return clopper_pearson(self.alarmed, self.pairs) if self.pairs else None

    def serial(self, metric: Metric, way: Way) -> tuple[float, float] | None:
        """How the ratios of successive blocks correlate, and the standard error of that.

        The true ratio is 1, so the logs are not centred. Intervals take blocks as
        independent; far from 0 they are too short.
        """
        products = squares = 0.0
        steps = 0
        for c in _tested(self.comparisons):
            if c.metric.name == metric.name and self.ways.get(c.point) == way:
                logs = [math.log(value) for value in c.ratio.per_block]
                products += sum(a * b for a, b in pairwise(logs))
                squares += sum(a * a for a in logs) * (len(logs) - 1) / len(logs)
                steps += len(logs) - 1
        return (products / squares, 1 / math.sqrt(steps)) if squares > 0 else None


def clopper_pearson(found: int, of: int, level: float = LEVEL) -> float:
    """The one-sided upper bound on a share: the highest that gives so few this often.

    C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404. With none of n it is about
    3 / n.
    """
    return float(sps.binomtest(found, of, alternative="less").proportion_ci(level).high)


def aa_check(records: Records, metrics: Sequence[Metric] = METRICS) -> AaResult:
    """Test every A/A pair of the campaign by every metric, as if it were a real comparison."""
    limited = server_limited(records)
    workload_of = {t.point: t.workload for t in trials_of(records)}
    found: list[Comparison] = []
    tested = refused = 0
    for metric in metrics:
        kinds = [aa_pairs(records, metric, way) for way in WAYS]
        family: list[Comparison] = []
        for (point, backend), logs, alike in (
            (key, logs, pairs) for pairs in kinds for key, logs in pairs.items()
        ):
            others = {k: v for k, v in alike.items() if k != (point, backend)}
            floor = floor_from(metric, others).log or 0.0
            result = ratio(
                dict.fromkeys(logs, 1.0),
                {b: math.exp(x) for b, x in logs.items()},
                floor=floor,
                metric=metric,
            )
            if result.low is None or result.high is None:
                refused += 1
            else:
                tested += 1
            hollow = (point, backend) in limited
            family.append(
                Comparison(
                    workload_of[point], point, metric, backend, twin_of(backend), result, hollow
                )
            )
        found += corrected(family)
    alarms = sum(c.ratio.shown for c in found)
    return AaResult(tuple(found), tested, alarms, refused, ways_of(records))


def _tested(comparisons: Sequence[Comparison]) -> list[Comparison]:
    return [c for c in comparisons if c.ratio.low is not None]
