"""Statistics of a campaign: from records to numbers you can defend.

Everything here is a pure function of the records. Four rules apply throughout:

* **The sample is the trial, never the request.** A ratio is taken inside a
  block, where both trials ran in the same minute on the same machine, and the
  blocks are the sample.
* **Ratios are handled as logarithms**, so "A over B" and "B over A" agree, and no
  unit or scale can change a verdict.
* **A difference is shown only if three things hold**: its interval excludes 1, it
  exceeds the noise floor (what backends differ from their A/A twins; numbers without
  such pairs say so), and it stays significant after the Benjamini–Hochberg correction
  for the number of comparisons. A whole interval within ±2 % or ±5 % reads
  "equivalent", and anything else "undecided".
* **With too little data there is no interval, and the reason is given.**
"""

from __future__ import annotations

from bench.analysis.stats.campaigns import Number
from bench.analysis.stats.comparisons import (
    Blocks,
    NoiseFloor,
    Pair,
    PairedValues,
    aa_check,
    aa_noise_floor,
    compare_pairs,
    host_spread,
    instrument_cost,
    star,
)
from bench.analysis.stats.memory import (
    MEMORY_PARTS,
    MIN_CONNECTION_COUNTS,
    OVER_TLS,
    OWN_PARTS,
    MemoryFit,
    fit_label,
    fit_memory,
    held_trials,
    holds,
    kib_each,
    read_in_all,
    theil_sen,
)
from bench.analysis.stats.metrics import (
    CLOSED,
    CPU_PER_1000,
    CPU_PER_REQUEST,
    METRICS,
    PAGES_PER_S,
    USER_PER_CONNECTION,
    Metric,
    cpu_ms_per_1000,
    per_exchange,
)
from bench.analysis.stats.ratios import (
    ABOVE,
    EQUIVALENT,
    MARGINS,
    MIN_BLOCKS,
    NO_FLOOR,
    OTHER_WORK,
    UNDECIDED,
    Comparison,
    Ratio,
    block_values,
    corrected,
    floor_words,
    of_slopes,
    ratio,
    student,
)
from bench.analysis.stats.records import (
    AT_LEVEL,
    LEVEL,
    Average,
    Spread,
    asleep,
    average,
    companions_of,
    labels_of,
    limited_by_load,
    limiter_of,
    middle,
    number_param,
    pages_per_s,
    points_of,
    polled,
    processors,
    served,
    share_of_ceiling,
    spread,
    trials_of,
    widest_point,
)
from bench.analysis.stats.work import EqualWork, equal_work, faults_of
from bench.histograms import MIN_BEYOND, encode_latency, merge_histograms
