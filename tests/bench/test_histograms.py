"""Histograms are read and written as the HdrHistogram libraries do it."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import histograms, schema

SAMPLE = "HISTFAAAADp4nJNpmSzMwMAgxQABzFCaEURcm7yEwf4DVICJifEf42f5BqZHLH/5D+xgal3M2MN4dzojGwBBzw3X"
"""Written by the package hdrhistogram 0.10.8, which also gave what is expected of it."""

COUNTS = [
    *((1, 1), (2, 1), (4, 127), (2047, 128), (2048, 305)),
    *((3072, 20_000), (13_508, 70), (23_220, 3)),
]  # by bucket


def made(digits: int = schema.HDR_DIGITS) -> str:
    """An encoded histogram without counts."""
    inner = (schema.INNER_COOKIE, 0, 0, digits, 1, schema.HDR_MAX_US, 1.0)
    packed = zlib.compress(struct.pack(">IIIIQQd", *inner))
    outer = struct.pack(">II", schema.OUTER_COOKIE, len(packed))
    return base64.b64encode(outer + packed).decode()


def test_a_histogram_of_the_package_is_read_and_written_again() -> None:
    counts = histograms.decode(SAMPLE)
    assert [(int(n), int(counts[n])) for n in np.flatnonzero(counts)] == COUNTS
    # Not the text: other builds of zlib compress differently.
    again = [zlib.decompress(base64.b64decode(t)[8:]) for t in (SAMPLE, histograms.encode(counts))]
    assert again[0] == again[1]


AT_US = {0.001: 1, 0.6: 4, 1: 2047, 2: 2049, 3: 4099, 99: 4099, 99.9: 5_001_215, 100: 3_600_809_983}
"""Percentile -> microseconds, by the package."""


def test_percentiles_are_those_of_the_package() -> None:
    merged = histograms.merge_histograms([SAMPLE])
    assert {percentile: merged.at_ms(percentile) for percentile in AT_US} == {
        percentile: us / 1000 for percentile, us in AT_US.items()
    }


@given(st.dictionaries(st.integers(0, histograms.BUCKETS - 1), st.integers(1, 2**47)))
def test_counts_come_back(filled: dict[int, int]) -> None:
    counts = np.zeros(histograms.BUCKETS, dtype=np.int64)
    counts[list(filled)] = list(filled.values())
    assert (histograms.decode(histograms.encode(counts)) == counts).all()


@given(st.integers(1, schema.HDR_MAX_US))
def test_a_value_is_kept_to_three_digits(us: int) -> None:
    bucket = histograms.bucket_of(np.array([us]))
    assert us <= histograms.highest_us(bucket)[0] < us * 1.001
    assert us > (histograms.highest_us(bucket - 1)[0] if bucket[0] else -1)


def test_a_histogram_of_another_precision_is_refused() -> None:
    with pytest.raises(ValueError, match="of another kind"):
        histograms.decode(made(digits=2))


def test_none_is_a_histogram_without_samples() -> None:
    nothing = histograms.merge_histograms([made()])
    assert (nothing.count, nothing.at_ms(50)) == (0, 0.0)
