"""The switch interval of a crawl is that of the process again when the crawl ends."""

from __future__ import annotations

import sys

import pytest

from crawlers.variants._switching import switch_interval


def test_the_interval_comes_back_after_an_error_too() -> None:
    def interrupted() -> None:
        with switch_interval(0.25):
            assert sys.getswitchinterval() == 0.25
            raise LookupError

    before = sys.getswitchinterval()
    with pytest.raises(LookupError):
        interrupted()
    assert sys.getswitchinterval() == before
