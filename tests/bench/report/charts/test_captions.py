"""What a caption says of its blocks, counted again from the records."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bench import store
from bench.launch import RESULTS
from bench.report import charts
from bench.report.charts import Design
from bench.schema import AnyRecord, TrialRecord
from tests.bench import synthetic
from tests.bench.report.charts.campaigns import made, whole

Wanted = Callable[[TrialRecord], Any]

#: Chart -> the workload it draws, and what a trial needs to be drawn.
DRAWN: dict[str, tuple[str, Wanted]] = {
    "throughput": ("throughput", lambda t: t.pages_per_s),
    "waiting": ("waiting", lambda t: t.pages_per_s),
    "cpu": ("throughput-100", lambda t: t.cpu and t.pages),
    "memory-total": ("c10k", lambda t: t.memory),
    "open-loop": ("openloop", lambda t: t.achieved_per_s),
    "hockey-stick": ("openloop", lambda t: t.response_time and t.response_time.count >= 1000),
    "service-time": ("throughput-100", lambda t: t.service_time),
    "fairness": ("fairness", lambda t: t.fairness),
    "summit": ("c10k-10000", lambda t: t.ramp),
}


def counted(records: Sequence[AnyRecord], place: str, wanted: Wanted) -> set[int]:
    """How many blocks the points of a workload, or one point, have."""
    trials = [r for r in records if isinstance(r, TrialRecord) and r.status == "ok"]
    main = {t.label for t in trials if t.workload == "throughput"}
    blocks = defaultdict(set)
    for trial in trials:
        here = place in (trial.workload, trial.point)
        others = trial.workload == "c10k" and trial.label not in main
        if here and trial.label == trial.backend and not others and wanted(trial):
            blocks[trial.point, trial.label].add(trial.block)
    return {len(found) for found in blocks.values()}


def claimed(design: Design) -> set[int]:
    """The numbers of blocks that the subtitle and the notes name: both ends of a range."""
    text = " ".join((design.subtitle, *design.notes))
    if "one block" in text.lower():
        return {1}
    found = re.search(r"(?:(\d+) to )?(\d+) blocks?\b", text)
    assert found, text
    return {int(number) for number in found.groups() if number}


def reference() -> Sequence[AnyRecord]:
    """The campaign of README."""
    return store.load(RESULTS / "reference" / store.FILE_NAME).all


@pytest.mark.parametrize(
    "records",
    [made, whole, lambda: made(blocks=1), lambda: made(blocks=3, voids=6), reference],
    ids=["made", "whole", "one-block", "voids", "reference"],
)
def test_captions_count_the_blocks_of_their_points(
    records: Callable[[], Sequence[AnyRecord]],
) -> None:
    lines = records()
    analysis = synthetic.analysed(lines)
    for name, make in charts.CHARTS:
        if name not in DRAWN:
            continue
        design = make(analysis)
        if not isinstance(design, Design):
            continue
        blocks = counted(lines, *DRAWN[name])
        assert claimed(design) == {min(blocks), max(blocks)}, f"{name}: {design.subtitle}"
