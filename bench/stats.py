"""Statistics of a campaign: from records to numbers that can be defended.

Everything here is a pure function of the records. Four rules run through it:

* **The sample is the trial, never the request.** A ratio is taken inside a
  block, where both trials met the same minute of the same machine, and the
  blocks are the sample.
* **Ratios are handled as logarithms**, so that "A over B" and "B over A" say the
  same thing and no unit or scale can change a verdict.
* **A verdict needs three things**: an interval that leaves 1 out, a difference
  beyond the noise floor (what the A/A twin shows of one backend against
  itself), and, where many comparisons are made at once, survival of the
  Benjamini–Hochberg step. Anything less reads "no difference shown".
* **Too little data is refused, in words**, not turned into a wide bar.

The interval is the *expanded percentile bootstrap* of the mean log ratio: a
percentile interval (B. Efron and R. Tibshirani, *An Introduction to the
Bootstrap*, 1993, chapter 13) whose quantiles are moved outwards for the small
number of blocks (T. Hesterberg, *The American Statistician* 69 (2015) 371,
section 3.3), and which is on neither side nearer than Student's t. The plain percentile
and BCa intervals were tried and are wrong at the number of blocks a campaign
has. Their nominal 95 % intervals covered the truth this often in simulation
(4,000 data sets each):

====== ========== ========== ==== =========== =========== =====
blocks noise      percentile BCa  Student's t bootstrap-t used
====== ========== ========== ==== =========== =========== =====
5      normal     0.84       0.84 0.95        0.98        0.95
5      t, 3 d.f.  0.82       0.81 0.97        0.98        0.97
5      bursts     0.82       0.79 0.97        0.98        0.97
5      one-sided  0.78       0.80 0.89        0.94        0.89
8      normal     0.89       0.89 0.95        0.97        0.95
8      t, 3 d.f.  0.88       0.86 0.96        0.97        0.96
8      bursts     0.88       0.84 0.97        0.98        0.97
8      one-sided  0.84       0.86 0.90        0.93        0.92
15     normal     0.92       0.92 0.95        0.96        0.95
15     one-sided  0.88       0.89 0.91        0.93        0.92
====== ========== ========== ==== =========== =========== =====

"Bursts": one trial in ten is hit by an interruption. "One-sided": the log ratios
are exponentially distributed, as if only one of two backends were ever
interrupted; there the interval is too short, which is one reason for asking a
difference to exceed the noise floor too. The (symmetric) bootstrap-t covers at
least as well but one time in twenty is 4.7 times as long as Student's at five
blocks and 2.5 times at six; the interval used is at most 1.1 times as long. Below
:data:`MIN_BLOCKS`, five, the blocks' whole range would miss the truth one time in
eight, and no interval is given.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram
from scipy import stats as sps

from bench.schema import (
    AnyRecord,
    CampaignRecord,
    CeilingRecord,
    EndRecord,
    Fairness,
    Latency,
    Limiter,
    MemoryParts,
    ResumeRecord,
    TrialRecord,
)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Records = Sequence[AnyRecord]

#: Fewest blocks from which an interval is given; see the module docstring.
MIN_BLOCKS: Final = 5
#: Confidence level of every interval.
LEVEL: Final = 0.95
#: Bootstrap resamples for one interval.
RESAMPLES: Final = 10_000
#: Seed of the resampling; fixed, so that a report can be rebuilt to the byte.
SEED: Final = 20_261
#: A quantile is shown only with this many samples beyond it (p99.9: 10,000 in all).
MIN_BEYOND: Final = 10
#: Fewest distinct numbers of connections for a memory fit.
MIN_CONNECTION_COUNTS: Final = 4
#: Share of false calls accepted among all differences called in one campaign.
FALSE_DISCOVERY_RATE: Final = 0.05

NO_DIFFERENCE: Final = "no difference shown"
TOO_FEW: Final = "too few blocks"


# --- picking records -------------------------------------------------------------------


def campaign_of(records: Records) -> CampaignRecord | None:
    """The campaign's first line, or None when the records lack it."""
    return next((r for r in records if isinstance(r, CampaignRecord)), None)


def end_of(records: Records) -> EndRecord | None:
    """The last line of a campaign that ended in good order, or None."""
    return next((r for r in reversed(records) if isinstance(r, EndRecord)), None)


def resumes_of(records: Records) -> list[ResumeRecord]:
    """Every time the campaign was taken up again."""
    return [r for r in records if isinstance(r, ResumeRecord)]


def ceilings_of(records: Records) -> list[CeilingRecord]:
    """All measurements of the fixture server's ceiling."""
    return [r for r in records if isinstance(r, CeilingRecord)]


def trials_of(
    records: Records, *workloads: str, status: str | None = "ok", twins: bool = True
) -> list[TrialRecord]:
    """Trials of the named workloads (all when none is named), in recorded order.

    ``status=None`` gives every trial whatever became of it; the default gives
    only those that may be averaged. ``twins=False`` leaves the A/A twin out.
    """
    return [
        r
        for r in records
        if isinstance(r, TrialRecord)
        and (not workloads or r.workload in workloads)
        and (status is None or r.status == status)
        and (twins or r.label == r.backend)
    ]


def labels_of(records: Records, *, twins: bool = False) -> list[str]:
    """Labels in the campaign's order; those it does not name follow, sorted."""
    seen = {t.label for t in trials_of(records, status=None, twins=twins)}
    head = campaign_of(records)
    order: list[str] = []
    for name in head.backends if head else []:
        order += [label for label in (name, f"{name}#2") if label in seen]
    return order + sorted(seen - set(order))


def points_of(records: Records, *workloads: str, status: str | None = "ok") -> list[str]:
    """Point ids that have trials, in the campaign's order."""
    seen = {t.point for t in trials_of(records, *workloads, status=status)}
    head = campaign_of(records)
    order = [p for p in (head.points if head else []) if p in seen]
    return order + sorted(seen - set(order), key=natural_key)


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key under which ``throughput-10`` comes before ``throughput-100``."""
    return tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in text.replace("-", " ").split()
    )


def number_param(trial: TrialRecord, name: str) -> float | None:
    """A numeric workload parameter, or None."""
    value = trial.params.get(name)
    return float(value) if isinstance(value, (int, float)) else None


def limiter_of(trials: Iterable[TrialRecord]) -> Limiter | None:
    """The limiter most of the trials carry; ``unclear`` on a tie, None without stamps."""
    counts = Counter(t.limiter for t in trials if t.limiter is not None).most_common(2)
    if not counts:
        return None
    if len(counts) == 2 and counts[0][1] == counts[1][1]:
        return "unclear"
    return counts[0][0]


# --- metrics ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a trial, and the words for more and for less of it."""

    name: str
    title: str
    unit: str
    more: str
    less: str
    workloads: tuple[str, ...]  # where the metric may be compared between backends
    value: Callable[[TrialRecord], float | None]


def _pages_per_s(trial: TrialRecord) -> float | None:
    return trial.pages_per_s


def cpu_ms_per_1000(trial: TrialRecord) -> tuple[float, float] | None:
    """The client's processor time per 1000 pages: (user, system) in milliseconds."""
    if trial.cpu is None or not trial.pages:
        return None
    scale = 1e6 / trial.pages
    return trial.cpu.client_user_s * scale, trial.cpu.client_system_s * scale


def _cpu_total(trial: TrialRecord) -> float | None:
    parts = cpu_ms_per_1000(trial)
    return sum(parts) if parts else None


def _service_p50(trial: TrialRecord) -> float | None:
    return trial.service_time.p50_ms if trial.service_time else None


def _service_p99(trial: TrialRecord) -> float | None:
    latency = trial.service_time
    return latency.p99_ms if latency and latency.count >= 100 * MIN_BEYOND else None


def _user_per_connection(trial: TrialRecord) -> float | None:
    growth = memory_growth(trial)
    if growth is None or growth["user"] is None or not trial.memory:
        return None
    return growth["user"] / trial.memory.connections


#: Workloads that run as fast as they can and may be compared by ratio. An open
#: loop's rate is set by its schedule, a barrier trial waits for the barrier, and
#: a recorder-cost trial is no backend's.
CLOSED: Final = ("throughput", "waiting", "real", "ladder", "regime")

PAGES_PER_S: Final = Metric(
    "pages_per_s", "throughput", "pages/s", "faster", "slower", CLOSED, _pages_per_s
)
CPU_PER_1000: Final = Metric(
    "cpu_ms_per_1000", "CPU per 1000 pages", "ms", "dearer", "cheaper", CLOSED, _cpu_total
)
SERVICE_P50: Final = Metric(
    "service_p50_ms", "median service time", "ms", "longer", "shorter", CLOSED, _service_p50
)
SERVICE_P99: Final = Metric(
    "service_p99_ms", "p99 service time", "ms", "longer", "shorter", CLOSED, _service_p99
)
USER_PER_CONNECTION: Final = Metric(
    "user_per_connection",
    "user memory per connection",
    "bytes",
    "more memory",
    "less memory",
    ("c10k",),
    _user_per_connection,
)
METRICS: Final[tuple[Metric, ...]] = (
    PAGES_PER_S,
    CPU_PER_1000,
    SERVICE_P50,
    SERVICE_P99,
    USER_PER_CONNECTION,
)


# --- spread ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spread:
    """An absolute figure over blocks: its median and its whole range (no outlier dropped)."""

    median: float
    low: float
    high: float
    count: int


def spread(values: Iterable[float | None]) -> Spread | None:
    """Median, minimum and maximum of the values that exist; None without any."""
    kept = [float(v) for v in values if v is not None and math.isfinite(v)]
    if not kept:
        return None
    return Spread(float(np.median(kept)), min(kept), max(kept), len(kept))


# --- ratios ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ratio:
    """A paired ratio, other over base, with its interval and its verdict in words."""

    value: float | None  # geometric mean of the per-block ratios
    low: float | None  # None when refused
    high: float | None
    blocks: int
    p: float | None  # two-sided, Student's t on the log ratios
    per_block: tuple[float, ...]
    verdict: str  # "faster", "slower", "no difference shown", "too few blocks"
    reason: str  # why the verdict is what it is, in one clause

    @property
    def shown(self) -> bool:
        """Whether a difference is claimed."""
        return self.verdict not in (NO_DIFFERENCE, TOO_FEW)


@lru_cache(maxsize=64)
def _resample_indices(blocks: int, resamples: int, seed: int) -> IntArray:
    rng = np.random.default_rng((seed, blocks))
    return rng.integers(0, blocks, (resamples, blocks), dtype=np.int64)


def log_interval(
    logs: Sequence[float], *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[float, float]:
    """Expanded percentile bootstrap interval of the mean of ``logs``.

    The percentile interval of n values is too short by about the factor
    sqrt((n - 1) / n) z / t; Hesterberg's expansion takes the quantiles at which
    a normal sample would give Student's interval. It is then widened, on either
    side, to Student's where that lies further out. The values are sorted first,
    so that the order of the blocks cannot change the result under a fixed seed.
    Needs two values or more; equal values give a point.
    """
    if len(logs) < 2:
        raise ValueError("an interval needs at least two values")
    values = np.sort(np.asarray(logs, dtype=np.float64))
    blocks = values.size
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(blocks)
    if error <= 1e-12:  # all blocks agree to the last digit
        return mean, mean
    t = float(sps.t.ppf(0.5 + level / 2, blocks - 1))
    tail = float(sps.norm.cdf(-math.sqrt(blocks / (blocks - 1)) * t))
    means = values[_resample_indices(blocks, resamples, seed)].mean(axis=1)
    low, high = np.quantile(means, (tail, 1.0 - tail))
    return min(float(low), mean - t * error), max(float(high), mean + t * error)


def ratio(
    base_blocks: Mapping[int, float],
    other_blocks: Mapping[int, float],
    *,
    floor: float = 0.0,
    metric: Metric = PAGES_PER_S,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Ratio:
    """Compare ``other`` with ``base``, paired within blocks.

    Both map block number to the trial's value; blocks that only one side has
    are left out (there is nothing to pair them with). The estimate is the
    geometric mean of the per-block ratios. ``floor`` is the noise floor as an
    absolute log ratio (:attr:`NoiseFloor.log`). Below :data:`MIN_BLOCKS` pairs
    there is an estimate but no interval, and the verdict is "too few blocks".
    """
    both = sorted(
        b
        for b in base_blocks.keys() & other_blocks.keys()
        if base_blocks[b] > 0 and other_blocks[b] > 0
    )
    per_block = tuple(other_blocks[b] / base_blocks[b] for b in both)
    if not both:
        return Ratio(None, None, None, 0, None, (), TOO_FEW, "no block has both")
    logs = np.log(per_block)
    value = float(np.exp(np.sort(logs).mean()))
    if len(both) < MIN_BLOCKS:
        reason = f"{len(both)} of at least {MIN_BLOCKS} blocks"
        return Ratio(value, None, None, len(both), None, per_block, TOO_FEW, reason)
    low, high = log_interval([float(x) for x in logs], level=level, resamples=resamples, seed=seed)
    error = float(logs.std(ddof=1)) / math.sqrt(len(both))
    mean = float(logs.mean())
    if error <= 1e-12:
        p = 1.0 if abs(mean) <= 1e-12 else 0.0
    else:
        p = 2.0 * float(sps.t.sf(abs(mean) / error, len(both) - 1))
    verdict, reason = NO_DIFFERENCE, "the interval holds 1"
    if low > 0 or high < 0:
        if abs(math.log(value)) <= floor:
            reason = f"within the noise floor of {floor_words(floor)}"
        else:
            verdict = metric.more if value > 1 else metric.less
            reason = "the interval leaves 1 out and the difference exceeds the noise floor"
    return Ratio(
        value,
        math.exp(min(low, 700.0)),
        math.exp(min(high, 700.0)),
        len(both),
        p,
        per_block,
        verdict,
        reason,
    )


def floor_words(floor: float) -> str:
    """A log ratio as a percentage, the way a reader says it: ``±3.1 %``."""
    return f"±{100 * math.expm1(floor):.1f} %"


def benjamini_hochberg(p_values: Sequence[float], rate: float = FALSE_DISCOVERY_RATE) -> list[bool]:
    """Which of many tests survive at the given false discovery rate.

    Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57 (1995) 289. Chosen over
    Holm's step because a reader quotes single claims: what matters is the share
    of wrong ones among those made, not the chance that any of forty is wrong.
    Valid under the positive dependence that a shared base brings.
    """
    count = len(p_values)
    order = sorted(range(count), key=lambda i: p_values[i])
    last = -1
    for rank, i in enumerate(order):
        if p_values[i] <= rate * (rank + 1) / count:
            last = rank
    kept = set(order[: last + 1])
    return [i in kept for i in range(count)]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One backend against the base at one workload point, by one metric."""

    workload: str
    point: str
    metric: Metric
    base: str
    label: str
    ratio: Ratio
    server_limited: bool  # either side was capped by the server: not the backend's speed


def block_values(
    trials: Iterable[TrialRecord], metric: Metric
) -> dict[tuple[str, str], dict[int, float]]:
    """(point, label) -> block -> value; trials of one block that repeat are averaged in logs."""
    found: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        value = metric.value(trial)
        if value is not None and value > 0 and math.isfinite(value):
            found[trial.point, trial.label][trial.block].append(value)
    return {
        key: {block: float(np.exp(np.mean(np.log(v)))) for block, v in blocks.items()}
        for key, blocks in found.items()
    }


def _server_limited(records: Records) -> set[tuple[str, str]]:
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for trial in trials_of(records):
        groups[trial.point, trial.label].append(trial)
    return {key for key, trials in groups.items() if limiter_of(trials) == "server"}


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

    ``base`` defaults to the campaign's; ``bases`` gives each label one of its
    own instead, and leaves out the labels that it does not name. The noise
    floor defaults to the one of these records. A verdict that the
    Benjamini–Hochberg step does not keep is taken back to "no difference
    shown", with that as its reason.
    """
    head = campaign_of(records)
    labels = labels_of(records)
    base = base or (head.base if head else None) or (labels[0] if labels else "")
    against = dict.fromkeys(labels, base) if bases is None else bases
    pairs = [
        (point, against[label], label)
        for point in points_of(records, *metric.workloads)
        for label in labels
        if against.get(label, label) != label
    ]
    return compare_pairs(records, pairs, metric, floor=floor, resamples=resamples, seed=seed)


def compare_pairs(
    records: Records,
    pairs: Iterable[tuple[str, str, str]],
    metric: Metric = PAGES_PER_S,
    *,
    floor: NoiseFloor | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Comparison]:
    """One comparison for each (point, base, label) with trials of both, as one family.

    For bases that differ from pair to pair; otherwise like :func:`compare`.
    """
    noise = floor or aa_noise_floor(records, metric)
    trials = trials_of(records, *metric.workloads)
    values = block_values(trials, metric)
    workload_of = {t.point: t.workload for t in trials}
    limited = _server_limited(records) if metric is PAGES_PER_S else set()
    found: list[Comparison] = []
    for point, base, label in pairs:
        if (point, base) not in values or (point, label) not in values:
            continue
        result = ratio(
            values[point, base],
            values[point, label],
            floor=noise.log or 0.0,
            metric=metric,
            resamples=resamples,
            seed=seed,
        )
        hollow = bool({(point, base), (point, label)} & limited)
        found.append(Comparison(workload_of[point], point, metric, base, label, result, hollow))
    return corrected(found)


def corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """Take back the verdicts of one family that the Benjamini–Hochberg step does not keep."""
    tested = [i for i, c in enumerate(found) if c.ratio.p is not None]
    kept = benjamini_hochberg([found[i].ratio.p or 0.0 for i in tested])
    result = list(found)
    for i, keep in zip(tested, kept, strict=True):
        if not keep and found[i].ratio.shown:
            taken_back = replace(
                found[i].ratio,
                verdict=NO_DIFFERENCE,
                reason=f"does not stand among {len(tested)} comparisons (Benjamini–Hochberg)",
            )
            result[i] = replace(found[i], ratio=taken_back)
    return result


# --- A/A -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """What one backend under two labels shows against itself, by one metric.

    ``log`` is the 95th percentile of the absolute log ratio of the A/A pairs
    (geometric mean over blocks, one per point); with fewer than 20 pairs that is
    close to the largest of them. None without any pair.
    """

    metric: str
    log: float | None
    pairs: int
    per_block_log: float | None  # the same for single blocks: what one run against one run shows

    @property
    def percent(self) -> float | None:
        """The floor as a percentage, 3.1 for ±3.1 %."""
        return None if self.log is None else 100 * math.expm1(self.log)

    @property
    def words(self) -> str:
        """The floor in one sentence."""
        if self.log is None:
            return "No A/A pair was measured, so the noise floor of this campaign is unknown."
        text = (
            f"Noise floor {floor_words(self.log)}: over {self.pairs} A/A "
            f"comparison{'s' if self.pairs != 1 else ''} one backend differed from itself by "
            f"{'up to about that much' if self.pairs < 20 else 'less than that 19 times in 20'}"
        )
        if self.per_block_log is not None:
            text += f"; single runs differed by {floor_words(self.per_block_log)}"
        return text + "."


def aa_pairs(records: Records, metric: Metric) -> dict[tuple[str, str], dict[int, float]]:
    """(point, backend) -> block -> log ratio of the twin over the backend."""
    trials = trials_of(records, *metric.workloads)
    values = block_values(trials, metric)
    found: dict[tuple[str, str], dict[int, float]] = {}
    twins = {(t.point, t.label, t.backend) for t in trials if t.label != t.backend}
    for point, label, backend in sorted(twins, key=lambda x: (natural_key(x[0]), x[1])):
        mine, other = values.get((point, backend), {}), values.get((point, label), {})
        logs = {b: math.log(other[b] / mine[b]) for b in sorted(mine.keys() & other.keys())}
        if logs:
            found[point, backend] = logs
    return found


def _floor_from(metric: Metric, pairs: Sequence[Mapping[int, float]]) -> NoiseFloor:
    if not pairs:
        return NoiseFloor(metric.name, None, 0, None)
    point_level = [abs(float(np.mean(list(logs.values())))) for logs in pairs]
    singles = [abs(x) for logs in pairs for x in logs.values()]
    # "higher" rather than interpolation: with few pairs the floor must not fall
    # below what was in fact seen.
    return NoiseFloor(
        metric.name,
        float(np.quantile(point_level, 0.95, method="higher")),
        len(pairs),
        float(np.quantile(singles, 0.95, method="higher")),
    )


def aa_noise_floor(records: Records, metric: Metric = PAGES_PER_S) -> NoiseFloor:
    """The campaign's noise floor for one metric, from its A/A pairs over all points."""
    return _floor_from(metric, list(aa_pairs(records, metric).values()))


@dataclass(frozen=True, slots=True)
class AaResult:
    """The verdicts that this suite passes on one backend against itself.

    Every claimed difference is false by construction. The noise floor used for
    a pair is computed from the *other* pairs, since a pair that helped to set
    the bar could hardly jump it. ``interval_alarms`` counts intervals that leave
    1 out, with no noise floor at all; ``alarms`` counts full verdicts, corrected
    within each metric like real comparisons.
    """

    comparisons: tuple[Comparison, ...]
    tested: int
    alarms: int
    interval_alarms: int
    refused: int  # too few blocks

    @property
    def rate(self) -> float | None:
        """Share of false alarms, None without any test."""
        return self.alarms / self.tested if self.tested else None

    @property
    def words(self) -> str:
        """The result in one sentence."""
        if not self.tested:
            why = f" ({self.refused} had too few blocks)" if self.refused else ""
            return f"No A/A comparison could be tested{why}."
        return (
            f"{self.alarms} false alarm{'s' if self.alarms != 1 else ''} in {self.tested} A/A "
            f"comparisons ({100 * self.alarms / self.tested:.0f} %); by the interval alone "
            f"{self.interval_alarms}."
        )


def aa_check(
    records: Records, metrics: Sequence[Metric] = METRICS, *, resamples: int = RESAMPLES
) -> AaResult:
    """Test every A/A pair of the campaign by every metric, as if it were a real comparison."""
    limited = _server_limited(records)
    workload_of = {t.point: t.workload for t in trials_of(records)}
    found: list[Comparison] = []
    tested = interval_alarms = refused = 0
    for metric in metrics:
        pairs = aa_pairs(records, metric)
        family: list[Comparison] = []
        for (point, backend), logs in pairs.items():
            others = [v for k, v in pairs.items() if k != (point, backend)]
            floor = _floor_from(metric, others).log or 0.0
            result = ratio(
                dict.fromkeys(logs, 1.0),
                {b: math.exp(x) for b, x in logs.items()},
                floor=floor,
                metric=metric,
                resamples=resamples,
            )
            if result.low is None or result.high is None:
                refused += 1
            else:
                tested += 1
                interval_alarms += not result.low <= 1.0 <= result.high
            hollow = (point, backend) in limited
            family.append(
                Comparison(
                    workload_of[point], point, metric, backend, f"{backend}#2", result, hollow
                )
            )
        found += corrected(family)
    alarms = sum(c.ratio.shown for c in found)
    return AaResult(tuple(found), tested, alarms, interval_alarms, refused)


@dataclass(frozen=True, slots=True)
class Balance:
    """Whether every label stood at every place of the blocks about equally often."""

    mean_position: dict[str, float]  # 0 first
    expected: float
    balanced: bool
    words: str


def position_balance(records: Records) -> Balance | None:
    """Check the order of trials within (block, point); None when there is nothing to order.

    A label whose mean place is more than three standard errors of a random order
    from the middle is called unbalanced: drift within blocks would favour it.
    """
    groups: dict[tuple[int, str], list[TrialRecord]] = defaultdict(list)
    for trial in trials_of(records, status=None):
        groups[trial.block, trial.point].append(trial)
    ranks: dict[str, list[float]] = defaultdict(list)
    variance: dict[str, float] = defaultdict(float)
    offsets: dict[str, list[float]] = defaultdict(list)
    for group in groups.values():
        size = len(group)
        if size < 2:
            continue
        for place, trial in enumerate(sorted(group, key=lambda t: (t.position, t.trial))):
            ranks[trial.label].append(place)
            offsets[trial.label].append(place - (size - 1) / 2)
            variance[trial.label] += (size * size - 1) / 12
    if not ranks:
        return None
    means = {label: float(np.mean(v)) for label, v in sorted(ranks.items())}
    bad = [label for label, v in offsets.items() if abs(sum(v)) > 3 * math.sqrt(variance[label])]
    expected = float(np.mean([x for v in ranks.values() for x in v]))
    words = (
        "Every backend stood at every place of the blocks about equally often."
        if not bad
        else f"Unbalanced order: {', '.join(sorted(bad))} stood mostly early or late in its blocks."
    )
    return Balance(means, expected, not bad, words)


# --- host noise ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HostSpread:
    """How steady the host was, from the fixed loop that runs around every trial."""

    probe_median_s: float
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
    return HostSpread(median, float(np.quantile(times, 0.95)) / median, share)


# --- latency ---------------------------------------------------------------------------

HDR_MAX_US: Final = 3_600_000_000  # one hour
HDR_DIGITS: Final = 3


def encode_latency(times_s: Sequence[float] | FloatArray) -> Latency | None:
    """Turn recorded times in seconds into a :class:`~bench.schema.Latency`.

    Integer microseconds at three significant digits, as HdrHistogram keeps them;
    below 1 µs counts as 1 µs, above one hour as one hour. p99.9 is None unless
    at least ten samples lie beyond it. None for no samples. Raises ValueError on
    times that are negative or not finite.
    """
    seconds = np.asarray(times_s, dtype=np.float64)
    if seconds.size == 0:
        return None
    if not np.isfinite(seconds).all() or float(seconds.min()) < 0:
        raise ValueError("latencies must be finite and not negative")
    micros = np.clip(np.rint(seconds * 1e6), 1, HDR_MAX_US).astype(np.int64)
    histogram = HdrHistogram(1, HDR_MAX_US, HDR_DIGITS)
    # One call per distinct value, with its count: record_value costs 0.65 µs.
    for value, count in zip(*np.unique(micros, return_counts=True), strict=True):
        histogram.record_value(int(value), int(count))
    total = int(micros.size)
    at = Histogram.of(histogram).at_ms
    return Latency(
        count=total,
        min_ms=float(micros.min()) / 1000,
        mean_ms=float(micros.mean()) / 1000,
        p50_ms=at(50),
        p90_ms=at(90),
        p99_ms=at(99),
        p99_9_ms=at(99.9) if total >= 1000 * MIN_BEYOND else None,
        max_ms=float(micros.max()) / 1000,
        hdr=bytes(histogram.encode()).decode("ascii"),
    )


class Histogram:
    """A merged latency distribution: exact counts, values to three digits."""

    def __init__(self, encoded: Iterable[str]) -> None:
        """Decode and add up; raises ValueError on text that is no histogram."""
        merged: Any = HdrHistogram(1, HDR_MAX_US, HDR_DIGITS)
        for text in encoded:
            try:
                merged.decode_and_add(text.encode("ascii"))
            except Exception as error:  # the package raises a dozen kinds
                raise ValueError(f"not an HdrHistogram: {text[:24]}…") from error
        self._take(merged)

    def _take(self, merged: Any) -> None:  # noqa: ANN401
        # The package walks its 20,000 buckets in Python for every percentile; a
        # curve asks for a hundred, so the filled buckets are taken out once.
        counts = np.asarray(merged.counts, dtype=np.int64)
        filled = np.flatnonzero(counts)
        self._below = np.cumsum(counts[filled])
        self._us = np.array(
            [
                merged.get_highest_equivalent_value(merged.get_value_from_index(int(i)))
                for i in filled
            ],
            dtype=np.float64,
        )

    @classmethod
    def of(cls, histogram: Any) -> Histogram:  # noqa: ANN401
        """Wrap a histogram of the package, which must not change afterwards."""
        found = cls.__new__(cls)
        found._take(histogram)
        return found

    @property
    def count(self) -> int:
        """Number of samples."""
        return int(self._below[-1]) if self._below.size else 0

    def at_ms(self, percentile: float) -> float:
        """Value at a percentile (50 for the median), in milliseconds; 0 without samples.

        The same value as the hdrhistogram package gives: the upper end of the
        bucket that holds the sample of that rank.
        """
        if not self._below.size:
            return 0.0
        rank = max(1, int(min(percentile, 100.0) * self.count / 100 + 0.5))
        return float(self._us[int(np.searchsorted(self._below, rank))]) / 1000

    @property
    def highest_percentile(self) -> float:
        """The last percentile with at least :data:`MIN_BEYOND` samples beyond it."""
        return 100.0 * (1.0 - MIN_BEYOND / self.count) if self.count > MIN_BEYOND else 0.0

    def curve(self, points_per_decade: int = 24) -> tuple[FloatArray, FloatArray]:
        """Percentiles and values in ms, evenly spaced on the axis log 1/(1 - p).

        Ends where fewer than :data:`MIN_BEYOND` samples lie beyond; empty when
        there are fewer than twice as many samples as that.
        """
        if self.count < 2 * MIN_BEYOND:
            return np.empty(0), np.empty(0)
        top = math.log10(self.count / MIN_BEYOND)
        steps = np.linspace(0.0, top, max(2, int(top * points_per_decade) + 1))
        percentiles = 100.0 * (1.0 - 10.0**-steps)
        return percentiles, np.array([self.at_ms(float(p)) for p in percentiles])


def merge_histograms(encoded: Iterable[str]) -> Histogram:
    """Add up the encoded histograms of several trials."""
    return Histogram(encoded)


# --- memory ----------------------------------------------------------------------------

#: The parts of a connection's memory on the client's side, in the order they are stacked.
MEMORY_PARTS: Final[tuple[str, ...]] = (
    "user",
    "page tables",
    "kernel stacks",
    "kernel sockets",
    "send buffers",
    "other",
)
_PART_FIELDS: Final[dict[str, str]] = {
    "user": "user_bytes",
    "page tables": "page_table_bytes",
    "kernel stacks": "kernel_stack_bytes",
    "kernel sockets": "kernel_socket_bytes",
    "send buffers": "send_buffer_bytes",
    "other": "kernel_other_bytes",
    "server sockets": "server_socket_bytes",
}
#: Parts that belong to the process alone, so that what stood before the first
#: connection is its fixed cost. What stood before in the others is the machine's.
OWN_PARTS: Final = frozenset({"user", "page tables", "kernel stacks"})


def _part(parts: MemoryParts, name: str) -> int | None:
    value = getattr(parts, _PART_FIELDS[name])
    return None if value is None else int(value)


def memory_growth(trial: TrialRecord) -> dict[str, float | None] | None:
    """What holding the connections added, in bytes, by part (and "server sockets")."""
    if trial.memory is None or trial.memory.connections <= 0:
        return None
    found: dict[str, float | None] = {}
    for name in _PART_FIELDS:
        before, held = _part(trial.memory.before, name), _part(trial.memory.held, name)
        found[name] = None if held is None or before is None else float(held - before)
    return found


@dataclass(frozen=True, slots=True)
class PartFit:
    """One part of a backend's memory as a straight line over connections."""

    name: str
    slope: float | None  # bytes per connection
    low: float | None  # 95 % interval of the slope
    high: float | None
    fixed: float | None  # bytes with no connection open: the intercept
    fixed_low: float | None
    fixed_high: float | None
    reason: str | None  # why there is no fit


@dataclass(frozen=True, slots=True)
class MemoryFit:
    """A backend's memory by part; the server's side of the sockets stands apart."""

    label: str
    connections: tuple[int, ...]
    trials: int
    parts: dict[str, PartFit]
    server: PartFit
    sources: dict[str, str]
    #: Largest N: median bytes per connection by part, (held - before) / N.
    at_highest: dict[str, float | None]
    #: Sum of all parts, all of the server's side too, over the drop of the machine's
    #: free memory at the largest N, median over trials; 1.0 means that both agree.
    agreement: float | None

    @property
    def total(self) -> float | None:
        """Bytes per connection over the client's parts; None when one is missing."""
        slopes = [self.parts[name].slope for name in MEMORY_PARTS]
        return sum(s for s in slopes if s is not None) if None not in slopes else None

    @property
    def fixed(self) -> float | None:
        """Fixed bytes of the process: user, page tables and kernel stacks that were read."""
        values = [self.parts[n].fixed for n in MEMORY_PARTS if n in OWN_PARTS]
        known = [v for v in values if v is not None]
        return sum(known) if known else None


def theil_sen(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float, float]:
    """Robust line: slope, intercept, and the slope's 95 % interval.

    The slope is the median of all pairwise slopes (H. Theil 1950), which up to
    29 % of wild trials cannot move; its interval is P. K. Sen's (JASA 63 (1968)
    1379), from the variance of Kendall's statistic with ties in x. The intercept
    is the median of what is left. Agrees with ``scipy.stats.theilslopes``, which
    is not called because it gives no interval (nan) where many y are equal, as
    the kernel stacks of a one-thread crawler are.
    """
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    first, second = np.triu_indices(xs.size, 1)
    run = xs[second] - xs[first]
    apart = run != 0
    if not apart.any():
        raise ValueError("a line needs two different x")
    slopes = np.sort((ys[second] - ys[first])[apart] / run[apart])
    slope = float(np.median(slopes))
    intercept = float(np.median(ys - slope * xs))
    count = xs.size
    ties = np.unique(xs, return_counts=True)[1].astype(np.float64)
    variance = (
        count * (count - 1) * (2 * count + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())
    ) / 18.0
    reach = float(sps.norm.ppf(0.5 + LEVEL / 2)) * math.sqrt(variance)
    upper = min(round((slopes.size + reach) / 2), slopes.size - 1)
    lower = max(round((slopes.size - reach) / 2) - 1, 0)
    return slope, intercept, float(slopes[lower]), float(slopes[upper])


def _fit_part(name: str, trials: Sequence[TrialRecord]) -> PartFit:
    x: list[float] = []
    y: list[float] = []
    start: list[float] = []
    for trial in trials:
        growth = memory_growth(trial)
        value = growth[name] if growth else None
        if trial.memory and value is not None:
            x.append(trial.memory.connections)
            y.append(value)
            start.append(float(_part(trial.memory.before, name) or 0))
    if not x:
        reason = next(
            (
                t.memory.reasons[key]
                for t in trials
                if t.memory
                for key in (_PART_FIELDS[name], name, name.replace(" ", "_"))
                if key in t.memory.reasons
            ),
            "not measured",
        )
        return PartFit(name, None, None, None, None, None, None, reason)
    if len(set(x)) < MIN_CONNECTION_COUNTS:
        reason = f"{len(set(x))} of at least {MIN_CONNECTION_COUNTS} connection counts"
        return PartFit(name, None, None, None, None, None, None, reason)
    slope, intercept, low, high = theil_sen(x, y)
    own = float(np.median(start)) if name in OWN_PARTS else 0.0
    # The intercepts that go with the ends of the slope's interval.
    ends = sorted(own + float(np.median(np.asarray(y) - s * np.asarray(x))) for s in (low, high))
    return PartFit(name, slope, low, high, own + intercept, ends[0], ends[1], None)


def fit_memory(records: Records) -> dict[str, MemoryFit]:
    """Memory per connection of every backend, by part, from its barrier trials.

    The fit is over what holding the connections *added* (held minus before, in
    the same process), so that neither the interpreter's size nor what else the
    machine has open can lean on the slope; what stood before is put back into
    the fixed part where it is the process's own. A part without a source stays
    None with the recorded reason, never 0. The A/A twin's trials are left out.
    """
    groups: dict[str, list[TrialRecord]] = defaultdict(list)
    for trial in trials_of(records, twins=False):
        if trial.memory is not None and trial.memory.connections > 0:
            groups[trial.label].append(trial)
    found: dict[str, MemoryFit] = {}
    for label in labels_of(records):
        if label not in groups:
            continue
        trials = groups[label]
        counts = sorted({t.memory.connections for t in trials if t.memory})
        top = [t for t in trials if t.memory and t.memory.connections == counts[-1]]
        at_highest: dict[str, float | None] = {}
        for name in _PART_FIELDS:
            values = [g[name] for t in top if (g := memory_growth(t))]
            middle = spread(values)
            at_highest[name] = middle.median / counts[-1] if middle else None
        agreements: list[float] = []
        for trial in top:
            value = trial.extra.get("memory_agreement")
            if isinstance(value, int | float):
                agreements.append(float(value))
        found[label] = MemoryFit(
            label=label,
            connections=tuple(counts),
            trials=len(trials),
            parts={name: _fit_part(name, trials) for name in MEMORY_PARTS},
            server=_fit_part("server sockets", trials),
            sources=dict(trials[-1].memory.sources) if trials[-1].memory else {},
            at_highest=at_highest,
            agreement=float(np.median(agreements)) if agreements else None,
        )
    return found


# --- fairness --------------------------------------------------------------------------


def least_served(run: Fairness) -> float:
    """What the least served slot completed, as a share of what the median slot did."""
    least, middle = run.completions[-1][0], run.completions[-1][len(run.quantiles) // 2]
    return least / middle if middle else 0.0


# --- the server's ceiling, the recorder's cost, parity ------------------------------------


def requests_per_s(trial: TrialRecord) -> float | None:
    """Requests answered per second, redirects and 404s counted: what a ceiling compares to."""
    if trial.ledger and trial.elapsed_s:
        return trial.ledger.requests / trial.elapsed_s
    return trial.pages_per_s


def ceiling_for(records: Records, trial: TrialRecord) -> float | None:
    """The server's ceiling in requests/s that fits the trial best; None without one.

    The same site is preferred, then the nearest number of connections, then the
    same block; several that fit equally give their median.
    """
    found = ceilings_of(records)
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
    return float(np.median([c.requests_per_s for c in same_block]))


def share_of_ceiling(records: Records, trials: Sequence[TrialRecord]) -> Spread | None:
    """Requests/s of the trials as a share of the server's ceiling, over blocks."""
    shares: list[float | None] = []
    for trial in trials:
        rate, top = requests_per_s(trial), ceiling_for(records, trial)
        shares.append(rate / top if rate is not None and top else None)
    return spread(shares)


def recorder_cost(records: Records, *, resamples: int = RESAMPLES) -> dict[str, Ratio]:
    """What keeping the times costs: real recorder over no-op recorder, by label.

    From the ``cost`` workload, whose trials differ in ``params["recorder"]``
    ("times" or "null"). A ratio of 0.99 means that 1 % of throughput is lost.
    """
    found: dict[str, Ratio] = {}
    for label in labels_of(records):
        values: dict[str, dict[int, float]] = {"null": {}, "times": {}}
        for trial in trials_of(records, "cost"):
            kind = str(trial.params.get("recorder"))
            if trial.label == label and kind in values and trial.pages_per_s:
                values[kind][trial.block] = trial.pages_per_s
        if values["null"] and values["times"]:
            found[label] = ratio(values["null"], values["times"], resamples=resamples)
    return found


@dataclass(frozen=True, slots=True)
class ParityRow:
    """What the server saw of one backend at one point (worst case over trials)."""

    point: str
    label: str
    connections_opened: int
    peak_in_flight: int
    requests_per_connection_max: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Parity:
    """Whether all backends did the same to the server, from its ledger."""

    rows: tuple[ParityRow, ...]
    differing: dict[str, tuple[str, ...]]  # point -> fields that differ

    @property
    def equal(self) -> bool:
        """No point differs."""
        return not self.differing

    @property
    def words(self) -> str:
        """The finding in one sentence."""
        points = len({r.point for r in self.rows})
        if not self.rows:
            return "The server's ledger is missing, so parity is unknown."
        if self.equal:
            return (
                f"Equal at the server: connections opened, peak in flight and repeats agree "
                f"between all backends at {'all ' if points > 1 else ''}{points} "
                f"point{'s' if points != 1 else ''}."
            )
        return (
            f"Not equal at the server at {len(self.differing)} of {points} points: "
            + "; ".join(f"{p} ({', '.join(f)})" for p, f in self.differing.items())
            + "."
        )


def parity(records: Records) -> Parity:
    """Compare the server's ledger between backends, point by point.

    Peak in flight may fall short of the slots on a short trial, so 10 % of
    difference is allowed there; connections opened and repeated requests must
    agree exactly. Requests per connection follow from the order in which slots
    happen to be served, and are shown but not judged. Left out where it is to
    open fewer connections than there are slots: a backend that says so of itself.
    """
    head = campaign_of(records)
    most = {rung.name: rung.most for rung in head.rungs if rung.most} if head else {}
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for trial in trials_of(records, twins=False):
        bound = most.get(trial.backend)
        if trial.ledger and (bound is None or bound >= (number_param(trial, "slots") or 0)):
            groups[trial.point, trial.label].append(trial)
    rows: list[ParityRow] = []
    differing: dict[str, tuple[str, ...]] = {}
    for point in points_of(records):
        mine: list[ParityRow] = []
        for label in labels_of(records):
            ledgers = [t.ledger for t in groups.get((point, label), []) if t.ledger]
            if ledgers:
                mine.append(
                    ParityRow(
                        point,
                        label,
                        int(np.median([x.connections_opened for x in ledgers])),
                        int(np.median([x.peak_in_flight for x in ledgers])),
                        int(np.median([x.requests_per_connection_max for x in ledgers])),
                        max(x.repeated for x in ledgers),
                    )
                )
        rows += mine
        fields: list[str] = []
        opened = [r.connections_opened for r in mine]
        peaks = [r.peak_in_flight for r in mine]
        if opened and min(opened) != max(opened):
            fields.append("connections opened")
        if peaks and max(peaks) - min(peaks) > 0.1 * max(peaks):
            fields.append("peak in flight")
        if any(r.repeated for r in mine):
            fields.append("repeated requests")
        if fields:
            differing[point] = tuple(fields)
    return Parity(tuple(rows), differing)
