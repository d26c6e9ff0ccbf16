"""How people write a load: numbers with k and M, times with units, shares."""

from __future__ import annotations

import argparse
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.capacity import need


@given(st.integers(1, 1_000_000_000))
def test_a_count_is_read_as_it_is_written(number: int) -> None:
    assert need.count(str(number)) == need.count(f"{number:,}") == number


@given(st.integers(1, 999_999))
def test_k_is_a_thousand_and_m_a_million(number: int) -> None:
    assert need.count(f"{number / 1000:.3f}k") == number
    assert need.rate(f"{number}k") == pytest.approx(1000 * number)
    if number < 1000:
        assert need.count(f"{number}M") == number * 1_000_000


@given(st.integers(0, 86_400_000), st.sampled_from(["", " "]))
def test_a_time_is_the_same_in_every_unit(milliseconds: int, space: str) -> None:
    seconds = milliseconds / 1000
    assert need.duration(f"{milliseconds}{space}ms") == pytest.approx(seconds)
    assert need.duration(f"{milliseconds * 1000}{space}us") == pytest.approx(seconds)
    assert need.duration(f"{seconds:.3f}{space}s") == pytest.approx(seconds)


@given(st.integers(1, 100))
def test_a_share_is_a_percentage_or_a_number(percent: int) -> None:
    assert need.share(f"{percent}%") == percent / 100
    assert need.share(f"{percent / 100}") == percent / 100


def test_the_most_that_the_help_allows_is_allowed() -> None:
    assert need.load("95%") == need.load("0.95") == 0.95


def test_no_delay_needs_no_unit() -> None:
    assert need.duration("0") == need.duration("0ms") == 0.0


@pytest.mark.parametrize(
    ("read", "text", "word"),
    [
        (need.count, "0", "whole number"),
        (need.count, "1.5", "whole number"),
        (need.count, "-3", "whole number"),
        (need.count, "5kk", "whole number"),
        (need.count, "9999M", "whole number"),
        (need.count, "", "whole number"),
        (need.rate, "0", "above 0"),
        (need.rate, "nan", "above 0"),
        (need.rate, "1e3", "above 0"),
        (need.duration, "200", "unit"),
        (need.duration, "200m", "such as"),
        (need.duration, "-1ms", "such as"),
        (need.duration, "2days", "such as"),
        (need.duration, "100000s", "a day"),
        (need.share, "0%", "share"),
        (need.share, "101%", "share"),
        (need.share, "2", "share"),
        (need.load, "96%", "95%"),
        (need.rate, "９9", "above 0"),
        (need.duration, "٣s", "such as"),
    ],
)
def test_what_is_wrong_is_said_with_an_example(read: object, text: str, word: str) -> None:
    assert callable(read)
    with pytest.raises(argparse.ArgumentTypeError, match=word):
        read(text)


@given(st.text(max_size=12))
def test_no_text_is_worse_than_a_clear_error(text: str) -> None:
    for read in (need.count, need.rate, need.duration, need.share, need.load):
        with suppress(argparse.ArgumentTypeError):
            assert read(text) >= 0
