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
"""

from __future__ import annotations

from bench.stats.ceiling import ceiling_for, requests_per_s, share_of_ceiling
from bench.stats.comparisons import compare, compare_pairs
from bench.stats.latency import (
    HDR_DIGITS,
    HDR_MAX_US,
    MIN_BEYOND,
    Histogram,
    encode_latency,
    merge_histograms,
)
from bench.stats.memory import (
    MEMORY_PARTS,
    MIN_CONNECTION_COUNTS,
    OWN_PARTS,
    MemoryFit,
    PartFit,
    fit_memory,
    memory_growth,
    theil_sen,
)
from bench.stats.metrics import (
    CLOSED,
    CPU_PER_1000,
    METRICS,
    PAGES_PER_S,
    SERVICE_P50,
    SERVICE_P99,
    USER_PER_CONNECTION,
    Metric,
    cpu_ms_per_1000,
    least_served,
)
from bench.stats.noise import (
    AaResult,
    Balance,
    HostSpread,
    NoiseFloor,
    aa_check,
    aa_noise_floor,
    aa_pairs,
    host_spread,
    position_balance,
    recorder_cost,
)
from bench.stats.parity import Parity, ParityRow, parity
from bench.stats.ratios import (
    FALSE_DISCOVERY_RATE,
    MIN_BLOCKS,
    NO_DIFFERENCE,
    RESAMPLES,
    SEED,
    TOO_FEW,
    Comparison,
    Ratio,
    benjamini_hochberg,
    block_values,
    corrected,
    floor_words,
    log_interval,
    ratio,
)
from bench.stats.records import (
    Records,
    campaign_of,
    ceilings_of,
    end_of,
    labels_of,
    limiter_of,
    natural_key,
    number_param,
    points_of,
    resumes_of,
    trials_of,
)
from bench.stats.spread import LEVEL, Spread, spread

__all__ = [
    "CLOSED",
    "CPU_PER_1000",
    "FALSE_DISCOVERY_RATE",
    "HDR_DIGITS",
    "HDR_MAX_US",
    "LEVEL",
    "MEMORY_PARTS",
    "METRICS",
    "MIN_BEYOND",
    "MIN_BLOCKS",
    "MIN_CONNECTION_COUNTS",
    "NO_DIFFERENCE",
    "OWN_PARTS",
    "PAGES_PER_S",
    "RESAMPLES",
    "SEED",
    "SERVICE_P50",
    "SERVICE_P99",
    "TOO_FEW",
    "USER_PER_CONNECTION",
    "AaResult",
    "Balance",
    "Comparison",
    "Histogram",
    "HostSpread",
    "MemoryFit",
    "Metric",
    "NoiseFloor",
    "Parity",
    "ParityRow",
    "PartFit",
    "Ratio",
    "Records",
    "Spread",
    "aa_check",
    "aa_noise_floor",
    "aa_pairs",
    "benjamini_hochberg",
    "block_values",
    "campaign_of",
    "ceiling_for",
    "ceilings_of",
    "compare",
    "compare_pairs",
    "corrected",
    "cpu_ms_per_1000",
    "encode_latency",
    "end_of",
    "fit_memory",
    "floor_words",
    "host_spread",
    "labels_of",
    "least_served",
    "limiter_of",
    "log_interval",
    "memory_growth",
    "merge_histograms",
    "natural_key",
    "number_param",
    "parity",
    "points_of",
    "position_balance",
    "ratio",
    "recorder_cost",
    "requests_per_s",
    "resumes_of",
    "share_of_ceiling",
    "spread",
    "theil_sen",
    "trials_of",
]
