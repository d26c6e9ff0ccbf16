"""Latencies as HdrHistograms: encode recorded times, merge histograms, read percentiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

from bench.schema import Latency

FloatArray = npt.NDArray[np.float64]

MIN_BEYOND: Final = 10
"""A percentile is shown only with this many samples beyond it (p99.9: 10,000 in all)."""

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
        """Decode and add up. Raises ValueError on text that is not a histogram."""
        merged: Any = HdrHistogram(1, HDR_MAX_US, HDR_DIGITS)
        for text in encoded:
            try:
                merged.decode_and_add(text.encode("ascii"))
            except Exception as error:  # the package raises a dozen kinds
                raise ValueError(f"not an HdrHistogram: {text[:24]}…") from error
        self._take(merged)

    def _take(self, merged: Any) -> None:  # noqa: ANN401
        # The package walks its 20,000 buckets in Python for every percentile. A
        # curve needs a hundred percentiles, so the filled buckets are extracted once.
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
        bucket of the sample with that rank.
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

        Ends where fewer than :data:`MIN_BEYOND` samples lie beyond. Empty with
        fewer than twice that many samples.
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
