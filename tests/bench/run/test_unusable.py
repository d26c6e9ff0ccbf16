"""What a person is told to do about trials that do not count."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import store
from bench.questions import analysis_of
from bench.report import summary
from bench.run import judge, runner
from bench.run.runner import Finished
from bench.schema import EndRecord, TrialRecord
from bench.terminal import Terminal
from tests.bench.synthetic import campaign

RECORDS = store.sort_out(campaign(blocks=1, samples=10, workloads=["throughput"]), Path("made"))
END = EndRecord(ended="x", complete=True, reason=None, wall_s=1, trial_wall_s=1)
WRONG = "wrong digest of 2 URLs"


def bad(**update: Any) -> list[TrialRecord]:
    values = {"status": "void", "reason": WRONG} | update
    return [trial.model_copy(update=values) for trial in RECORDS.trials]


@pytest.mark.parametrize(
    ("update", "says"),
    [
        ({}, ["python -m crawlers conformance"]),
        ({"errors": {"timeout": 3}}, ["failed (timeout). Close other programs"]),
        ({"status": "failed", "reason": "exit 1"}, ["ended without a result"]),
        ({"reason": "3 connections opened for 2 slots"}, ["rule of the comparison: 3 conn"]),
        ({"reason": None}, ["rule of the comparison"]),
        ({"status": "refused", "reason": "ulimit -n"}, []),
        ({"status": "ok", "reason": None}, []),
    ],
)
def test_each_cause_has_its_advice(update: dict[str, Any], says: list[str]) -> None:
    found = judge.unusable(bad(**update))
    assert len(found) == len(says)
    assert all(words in line for words, line in zip(says, found, strict=True))
    assert all("\n" not in line for line in found)


def test_a_void_campaign_says_what_to_do() -> None:
    records = replace(RECORDS, trials=bad(), end=END)
    output = io.StringIO()
    assert runner.exit_code(Finished(Path("made"), records, END), Terminal(output)) == 1
    assert "python -m crawlers conformance" in output.getvalue()
    assert "python -m crawlers conformance" in summary.to_markdown(analysis_of(records))
