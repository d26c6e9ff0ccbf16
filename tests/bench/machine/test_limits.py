"""Campaigns where there is too little of something. All cases: python -m tests.torture.limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture import limits

QUICK = ("threads", "memory", "disk", "read-only results", "no /proc")
"""Some that refuse, which takes a moment; others measure something first."""

CASES = [case for case in limits.CASES if case.name in QUICK]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_campaign_is_refused_in_a_line(case: limits.Case, tmp_path: Path) -> None:
    if reason := limits.why_not(case):
        pytest.skip(reason)
    limits.campaign(case, tmp_path)
