"""A latency is given only where its clock covers what an exchange takes."""

from __future__ import annotations

import json

import pytest

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.report import page
from bench.report.summary import closed_loop
from bench.schema import TrialRecord
from tests.bench import synthetic
from tests.bench.altered import replaced
from tests.bench.sure import sure

SLOTS, EXCHANGES, ELAPSED_S = 100, 2000, 1.0
ROUND_MS = 1000 * SLOTS * ELAPSED_S / EXCHANGES
COUNTED = EXCHANGES / SLOTS - 3
"""Rounds of a slot, without those in which it fills up or runs out of work."""


def timed(line: TrialRecord, share: float) -> TrialRecord:
    """A trial whose service times cover this share of the rounds that count."""
    mean_ms = share * ROUND_MS * COUNTED / (EXCHANGES / SLOTS)
    return line.model_copy(
        update={
            "elapsed_s": ELAPSED_S,
            "statuses": {"200": EXCHANGES},
            "params": line.params | {"slots": SLOTS},
            "service_time": sure(line.service_time).model_copy(update={"mean_ms": mean_ms}),
        }
    )


def campaign(threads: float) -> Analysis:

    def covered(line: TrialRecord) -> TrialRecord:
        share = threads if line.label == "threads" else 0.95
        return timed(line, share) if line.service_time else line

    return synthetic.analysed(replaced(synthetic.campaign(workloads=("throughput",)), covered))


def test_the_round_is_slots_over_rate_and_the_clock_covers_a_share_of_it() -> None:
    row = next(row for row in campaign(0.09).rows if row.label == "threads")
    assert row.round_ms == pytest.approx(ROUND_MS)
    assert row.clock_share == pytest.approx(0.09)


def test_percentiles_that_the_clock_does_not_cover_are_struck_and_null() -> None:
    analysis = campaign(0.09)
    table = closed_loop(analysis)
    titles = [column.title for column in table.columns]
    for row in table.texts:
        struck = row[titles.index("backend")] == "threads"
        assert (row[titles.index("p50 ms")] == "struck") == struck
        assert (row[titles.index("p99 ms")] == "struck") == struck
        assert row[titles.index("under the clock")] == ("9 %" if struck else "95 %")
    found = json.loads(page.summary_json(analysis))["points"]
    assert all((row["service_p50_ms"] is None) == (row["label"] == "threads") for row in found)
    compared = {
        c.label for c in synthetic.compared(analysis.records, stats.SERVICE_P50, base="callbacks")
    }
    assert "threads" not in compared
    assert "generators" in compared


def test_from_80_percent_on_they_are_given() -> None:
    for share, given in ((0.79, False), (0.81, True)):
        row = next(row for row in campaign(share).rows if row.label == "threads")
        assert (row.service_p50_ms is not None) == given


def test_a_crawl_of_few_rounds_has_no_share() -> None:
    line = next(
        line for line in synthetic.campaign() if isinstance(line, TrialRecord) and line.service_time
    )
    short = timed(line, 0.1).model_copy(update={"statuses": {"200": 3 * SLOTS}})
    assert stats.clock_share(short) is None
