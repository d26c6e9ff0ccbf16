"""The ladder: each backend against the one it changes, from the records alone."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from bench.analysis.analysis import Analysis
from bench.analysis.ladder import Ladder
from bench.report.tables import markdown
from bench.report.tables.ladder import ladder as ladder_table
from bench.store import Records
from tests.bench.synthetic import MODELS, campaign, gathered, rungs

BACKENDS = (*MODELS, "uvloop")


@lru_cache
def made(**changes: Any) -> Records:
    values: dict[str, Any] = {
        "backends": BACKENDS,
        "workloads": ("throughput", "c10k", "ladder"),
        "ladder": tuple(rungs(BACKENDS, {"uvloop": 960})),
        "samples": 30,
    }
    return gathered(campaign(**(values | changes)))


def climbed(records: Records) -> Ladder:
    found = Analysis(records).ladder
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
    trials = [
        t
        for t in made().trials
        if t.label != "uvloop" or t.workload != "c10k" or t.point == "c10k-100"
    ]
    step = climbed(replace(made(), trials=trials)).steps[-1]
    assert step.memory is None
    assert step.memory_missing == "holds at most 960"
    assert step.cpu is not None


def test_memory_over_tls_is_not_memory_of_the_rung() -> None:
    """Trials that hold as many connections over TLS were mixed in: async_await "took" 313 KiB."""
    plain = made()
    over_tls = [
        trial.model_copy(
            update={
                "workload": "tls-c10k",
                "point": f"tls-{trial.point}",
                "memory": trial.memory.model_copy(
                    update={
                        "held": trial.memory.held.model_copy(
                            update={"user_bytes": 40 * (trial.memory.held.user_bytes or 0)}
                        )
                    }
                ),
            }
        )
        for trial in plain.trials
        if trial.workload == "c10k" and trial.memory
    ]
    assert over_tls
    both = climbed(replace(plain, trials=[*plain.trials, *over_tls]))
    assert [step.memory for step in both.steps] == [step.memory for step in climbed(plain).steps]


def test_memory_is_shown_where_most_backends_were_measured() -> None:
    """In a full campaign only some hold ten thousand; bars at two numbers do not compare."""
    assert climbed(made()).connections == 10_000
    trials = [
        t for t in made().trials if t.point != "c10k-10000" or t.label in ("threads", "callbacks")
    ]
    found = climbed(replace(made(), trials=trials))
    assert found.connections == 5000
    assert all(step.memory is not None for step in found.steps)
    few = [t for t in made().trials if t.point == "c10k-100" or t.workload != "c10k"]
    assert climbed(replace(made(), trials=few)).connections == 100


def test_a_rung_whose_neighbour_is_missing_has_no_ratio() -> None:
    trials = [t for t in made().trials if t.label != "callbacks"]
    found = climbed(replace(made(), trials=trials))
    step = next(s for s in found.steps if s.rung.name == "generators")
    assert step.cpu is not None
    assert step.cpu_ratio is None


def test_no_difference_is_called_where_there_is_none() -> None:
    found = climbed(made(effects=False, noise=0.02))
    assert not any(s.cpu_ratio and s.cpu_ratio.shown for s in found.steps)


def test_an_old_campaign_has_no_ladder() -> None:
    assert Analysis(made(ladder=())).ladder is None
    assert Analysis(replace(made(), trials=[])).ladder is None
    assert markdown.section(ladder_table(Analysis(made(ladder=())))) == []


def test_the_summary_lists_every_rung_and_what_did_not_run() -> None:
    text = "\n".join(markdown.section(ladder_table(Analysis(made()))))
    for name in BACKENDS:
        assert f"what {name} changes" in text or name == "threads"
    assert "Not run: absent: absent needs a library" in text
