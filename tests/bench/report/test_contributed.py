"""Campaigns from other machines are held against the reference by directions alone."""

from __future__ import annotations

import bench.questions  # noqa: F401 it declares what is compared
from bench.analysis.analysis import Analysis
from bench.report import contributed
from bench.report.comparison import METRICS, agreements
from tests.bench.report.test_comparison import records


def test_each_campaign_has_a_row_of_pairs() -> None:
    ours = Analysis(records(seed=1))
    theirs = Analysis(records({"threads": 9.0}, seed=2, cpu_model="Another CPU"))
    *_, row, _, about = contributed.listed(ours, [theirs]).splitlines()
    found = [verdict for metric in METRICS for verdict in agreements(ours, theirs, metric).values()]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert "Another CPU" in cells[1]
    apart = found.count("A only") + found.count("B only")
    assert cells[4:] == [
        *(str(found.count("agree")), str(found.count("opposite"))),
        *(str(apart), str(found.count("neither"))),
    ]
    assert found.count("opposite") > 0, "threads are faster there, and slower here"
    assert ours.campaign.campaign in about


def test_none_is_said() -> None:
    assert contributed.listed(Analysis(records()), []) == "No campaign has been contributed yet."
