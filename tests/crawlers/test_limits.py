"""Crawls where there is too little of something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture import limits

SLOW = "accept queue"
"""Lost SYNs are sent again after a second, and again after two."""

USUAL = ("descriptors", "threads", "no IPv6")
"""Tried each time; the others with the slow tests."""

CASES = [
    pytest.param(case, id=case.name, marks=[] if case.name in USUAL else [pytest.mark.slow])
    for case in limits.CASES
    if case.crawler is not None and case.name != SLOW
]


@pytest.mark.root
@pytest.mark.parametrize("case", CASES)
def test_a_crawl_says_what_there_was_too_little_of(case: limits.Case, tmp_path: Path) -> None:
    if reason := limits.why_not(case):
        pytest.skip(reason)
    limits.crawl(case, tmp_path)
