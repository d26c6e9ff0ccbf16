"""The blocks that a caption counts, counted again from the records."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bench.analysis.analysis import Analysis
from bench.analysis.stats import MIN_BLOCKS
from bench.schema import AnyRecord, TrialRecord
from bench.show.figures import Figure
from bench.show.words import of_blocks
from tests.bench import committed
from tests.bench.report.charts.campaigns import designs_of, made, whole
from tests.bench.synthetic import analysed

Wanted = Callable[[TrialRecord], Any]

#: Chart -> the workloads or points it draws, and what a trial needs to be drawn.
DRAWN: dict[str, tuple[str, Wanted]] = {
    "page": ("fetch-100 throughput-100", lambda t: t.cpu and t.pages),
    "throughput": ("throughput", lambda t: t.pages_per_s),
    "waiting": ("waiting", lambda t: t.pages_per_s),
    "cpu": ("throughput-100", lambda t: t.cpu and t.pages),
    "open_loop": ("openloop", lambda t: t.response_time and t.response_time.count >= 1000),
    "fairness": ("fairness", lambda t: t.fairness),
}
#: Crawls of a list of URLs, whose pages have no links to extract.
LISTED = ("open_loop", "fairness")


def counted(records: Sequence[AnyRecord], place: str, wanted: Wanted) -> set[int]:
    """How many blocks the points of a workload, or single points, have.

    A page is split by the control bare, which is at one point alone, and not in all of its blocks.
    """
    trials = [r for r in records if isinstance(r, TrialRecord) and r.status == "ok"]
    bare = {t.block for t in trials if (t.backend, t.point) == ("bare", "fetch-100")}
    if place == DRAWN["page"][0]:
        trials = [trial for trial in trials if trial.block in bare]
    main = {t.label for t in trials if t.workload == "throughput"}
    blocks = defaultdict(set)
    for trial in trials:
        here = {trial.workload, trial.point} & set(place.split())
        others = trial.workload == "c10k" and trial.label not in main
        if here and trial.label == trial.backend and not others and wanted(trial):
            blocks[trial.point, trial.label].add(trial.block)
    return {len(found) for found in blocks.values()}


def text_of(design: Figure) -> str:
    """Everything that a chart says besides its headline."""
    return " ".join((design.subtitle, *design.notes))


def claimed(text: str) -> set[int]:
    """The numbers of blocks that subtitle and notes name: both ends of a range."""
    if "one block" in text.lower():
        return {1}
    found = re.search(r"(?:(\d+) to )?(\d+) blocks?\b", text)
    assert found, text
    return {int(number) for number in found.groups() if number}


RECORDS = pytest.mark.parametrize(
    "made_of",
    [
        lambda: analysed(whole()),
        lambda: analysed(made(blocks=3, voids=6)),
        committed.analysis,
    ],
    ids=["whole", "voids", "reference"],
)
Made = Callable[[], Analysis]


@RECORDS
def test_captions_count_the_blocks_of_their_points(made_of: Made) -> None:
    analysis = made_of()
    lines = analysis.records.all
    for name, design in designs_of(analysis).items():
        if name not in DRAWN:
            continue
        place, wanted = DRAWN[name]
        blocks = counted(lines, place, wanted)
        text = text_of(design)
        assert claimed(text) == {min(blocks), max(blocks)}, f"{name}: {text}"
        assert ("indicative" in text) == (min(blocks) < MIN_BLOCKS), f"{name}: {text}"
        if name in LISTED:
            mine = [r for r in lines if isinstance(r, TrialRecord) and r.workload == place]
            listed = all(t.params.get("urls") for t in mine if t.status == "ok")
            assert ("extract no links" in text) == listed, name


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([6, 6], "6 blocks"),
        ([2], "2 blocks (indicative)"),
        ([1], "one block (indicative)"),
        ([2, 10], "2 to 10 blocks (indicative below 5)"),
        ([5, 10], "5 to 10 blocks"),
    ],
)
def test_few_blocks_are_called_indicative(counts: list[int], words: str) -> None:
    assert of_blocks(counts) == words
