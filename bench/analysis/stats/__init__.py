"""Statistics of a campaign: from records to numbers you can defend.

Everything here is a pure function of the records. Four rules apply throughout:

* **The sample is the trial, never the request.** A ratio is taken inside a
  block, where both trials ran in the same minute on the same machine, and the
  blocks are the sample.
* **Ratios are handled as logarithms**, so "A over B" and "B over A" agree, and no
  unit or scale can change a verdict.
* **A difference is shown only if three things hold**: its interval excludes 1, it
  exceeds the noise floor (the difference between a backend and its A/A twin),
  and it stays significant after the Benjamini–Hochberg correction for the number
  of comparisons. A whole interval within ±2 % or ±5 % reads "equivalent", and
  anything else "undecided".
* **With too little data there is no interval, and the reason is given.**
"""

from __future__ import annotations

from bench.analysis.stats.alarms import AaResult, Signs, aa_check, clopper_pearson
from bench.analysis.stats.ceiling import ceiling_for, requests_per_s, share_of_ceiling
from bench.analysis.stats.comparisons import Pair, Values, compare, compare_pairs, star
from bench.analysis.stats.memory import (
    MEMORY_PARTS,
    MIN_CONNECTION_COUNTS,
    OVER_TLS,
    OWN_PARTS,
    MemoryFit,
    PartFit,
    fit_label,
    fit_memory,
    held_trials,
    holds,
    memory_growth,
    theil_sen,
)
from bench.analysis.stats.metrics import (
    CLOSED,
    COVERED,
    CPU_PER_1000,
    METRICS,
    PAGES_PER_S,
    SERVICE_P50,
    SERVICE_P99,
    USER_PER_CONNECTION,
    Metric,
    clock_share,
    cpu_ms_per_1000,
    least_served,
    page_faults_per_page,
    round_ms,
)
from bench.analysis.stats.noise import (
    WAYS,
    Balance,
    HostSpread,
    NoiseFloor,
    Way,
    aa_noise_floor,
    aa_pairs,
    floors_of,
    host_spread,
    instrument_cost,
    position_balance,
    sleeping_cost,
    ways_of,
)
from bench.analysis.stats.parity import Parity, ParityRow, parity
from bench.analysis.stats.ratios import (
    EQUIVALENT,
    FALSE_DISCOVERY_RATE,
    MIN_BLOCKS,
    MOST_BLOCKS,
    OTHER_WORK,
    RESAMPLES,
    SEED,
    TOO_FEW,
    UNDECIDED,
    Comparison,
    Ratio,
    benjamini_hochberg,
    block_values,
    corrected,
    floor_words,
    log_interval,
    ratio,
)
from bench.analysis.stats.records import (
    companions_of,
    labels_of,
    limiter_of,
    natural_key,
    number_param,
    points_of,
    polled,
    trials_of,
)
from bench.analysis.stats.spread import LEVEL, Spread, spread
from bench.analysis.stats.work import Faults, faults_of
from bench.histograms import (
    MIN_BEYOND,
    Histogram,
    encode_latency,
    merge_histograms,
)

__all__ = [
    "CLOSED",
    "COVERED",
    "CPU_PER_1000",
    "EQUIVALENT",
    "FALSE_DISCOVERY_RATE",
    "LEVEL",
    "MEMORY_PARTS",
    "METRICS",
    "MIN_BEYOND",
    "MIN_BLOCKS",
    "MIN_CONNECTION_COUNTS",
    "MOST_BLOCKS",
    "OTHER_WORK",
    "OVER_TLS",
    "OWN_PARTS",
    "PAGES_PER_S",
    "RESAMPLES",
    "SEED",
    "SERVICE_P50",
    "SERVICE_P99",
    "TOO_FEW",
    "UNDECIDED",
    "USER_PER_CONNECTION",
    "WAYS",
    "AaResult",
    "Balance",
    "Comparison",
    "Faults",
    "Histogram",
    "HostSpread",
    "MemoryFit",
    "Metric",
    "NoiseFloor",
    "Pair",
    "Parity",
    "ParityRow",
    "PartFit",
    "Ratio",
    "Signs",
    "Spread",
    "Values",
    "Way",
    "aa_check",
    "aa_noise_floor",
    "aa_pairs",
    "benjamini_hochberg",
    "block_values",
    "ceiling_for",
    "clock_share",
    "clopper_pearson",
    "companions_of",
    "compare",
    "compare_pairs",
    "corrected",
    "cpu_ms_per_1000",
    "encode_latency",
    "faults_of",
    "fit_label",
    "fit_memory",
    "floor_words",
    "floors_of",
    "held_trials",
    "holds",
    "host_spread",
    "instrument_cost",
    "labels_of",
    "least_served",
    "limiter_of",
    "log_interval",
    "memory_growth",
    "merge_histograms",
    "natural_key",
    "number_param",
    "page_faults_per_page",
    "parity",
    "points_of",
    "polled",
    "position_balance",
    "ratio",
    "requests_per_s",
    "round_ms",
    "share_of_ceiling",
    "sleeping_cost",
    "spread",
    "star",
    "theil_sen",
    "trials_of",
    "ways_of",
]
