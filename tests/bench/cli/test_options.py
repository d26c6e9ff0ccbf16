"""Numbers as people write them on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest

from bench.cli import options

READERS = (options.positive, options.seconds, options.budget, options.percent, options.seed)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("text", ["९", "９9", "٣", "x", "", "nan", "inf"])
def test_a_number_has_ascii_digits(read: Callable[[str], float], text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be"):
        read(text)


def test_numbers_are_read() -> None:
    assert [read("20") for read in READERS] == [20, 20.0, 1200.0, 20.0, 20]
    assert options.percent("1.5%") == 1.5
    assert options.seconds("2e-1") == 0.2
