"""The table of kinds: whole, and true of this interpreter."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest

from bench.analysis.stats import MIN_CONNECTION_COUNTS
from bench.micro.waiting.child import WHERE
from bench.micro.waiting.kinds import KINDS, Kind
from crawlers.registry import names


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_has_numbers_for_a_slope_and_a_backend_that_exists(kind: Kind) -> None:
    assert len(kind.counts) >= MIN_CONNECTION_COUNTS
    assert all(a < b for a, b in pairwise(kind.counts))
    assert kind.reference in kind.counts
    assert kind.backend == "" or kind.backend in names()


def test_names_of_functions_are_kinds() -> None:
    assert set(WHERE) <= set(KINDS)


def test_what_is_missing_says_why() -> None:
    old = sys.version_info < (3, 12)
    assert (KINDS["asyncio_eager"].missing is None) == (not old)
    assert (KINDS["curio"].missing is not None) or old
    absent = Kind("x", "x", "", "", library="no_such_library_here")
    assert absent.missing == "no_such_library_here is not installed"
    assert KINDS["thread"].missing is None
