"""The ladder: each backend against the one it changes, from the records alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pytest

from bench import ladder, summary
from bench.ladder import Ladder
from bench.schema import AnyRecord, TrialRecord
from tests.bench.synthetic import MODELS, campaign, rungs

BACKENDS = (*MODELS, "uvloop")


@lru_cache
def made(**changes: Any) -> list[AnyRecord]:
    values: dict[str, Any] = {
        "backends": BACKENDS,
        "workloads": ("throughput", "c10k", "ladder"),
        "ladder": tuple(rungs(BACKENDS, {"uvloop": 960})),
        "samples": 30,
    }
    return campaign(**(values | changes))


def climbed(records: Sequence[AnyRecord]) -> Ladder:
    found = ladder.ladder(records)
    assert found is not None
    return found


def test_each_rung_is_compared_with_the_one_it_changes() -> None:
    found = climbed(made())
    assert [step.rung.name for step in found.steps] == list(BACKENDS)
    foot, *others = found.steps
    assert (foot.cpu_ratio, foot.memory_ratio) == (None, None)
    for below, step in zip(found.steps, others, strict=False):
        assert step.cpu is not None
        assert below.cpu is not None
        assert step.cpu_ratio is not None
        assert step.cpu_ratio.value == pytest.approx(step.cpu.median / below.cpu.median, rel=0.1)
        assert step.cpu_ratio.shown
    assert found.missing == {"absent": "absent needs a library"}


def test_memory_is_paired_over_blocks_and_numbers_of_connections() -> None:
    """One block of a thousand, five and ten thousand connections is three pairs, not one."""
    for blocks, pairs in ((1, 3), (2, 6)):
        ratio = climbed(made(blocks=blocks)).steps[1].memory_ratio
        assert ratio is not None
        assert ratio.blocks == pairs
        assert (ratio.low is not None) == (pairs >= 5)
        assert ratio.value == pytest.approx(0.16, rel=0.1)


def test_a_bound_is_the_reason_for_missing_memory() -> None:
    records = [
        r
        for r in made()
        if not (isinstance(r, TrialRecord) and r.label == "uvloop" and r.point == "c10k-10000")
    ]
    step = climbed(records).steps[-1]
    assert step.memory is None
    assert step.memory_missing == "holds at most 960"
    assert step.cpu is not None


def test_a_rung_whose_neighbour_is_missing_has_no_ratio() -> None:
    records = [r for r in made() if not (isinstance(r, TrialRecord) and r.label == "callbacks")]
    found = climbed(records)
    step = next(s for s in found.steps if s.rung.name == "generators")
    assert step.cpu is not None
    assert step.cpu_ratio is None


def test_no_difference_is_called_where_there_is_none() -> None:
    found = climbed(made(effects=False, noise=0.02))
    assert not any(s.cpu_ratio and s.cpu_ratio.shown for s in found.steps)


def test_an_old_campaign_has_no_ladder() -> None:
    assert ladder.ladder(made(ladder=())) is None
    assert ladder.ladder([]) is None
    assert summary.ladder_lines(made(ladder=())) == []


def test_the_summary_lists_every_rung_and_what_did_not_run() -> None:
    text = "\n".join(summary.ladder_lines(made()))
    for name in BACKENDS:
        assert f"what {name} changes" in text or name == "threads"
    assert "Not run: absent: absent needs a library" in text
