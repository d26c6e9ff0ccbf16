"""Turns against whole trials: who agrees, who differs, and who cannot say."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from bench.analysis import stats, trust
from bench.analysis.analysis import Analysis
from bench.analysis.validity import Row, Validity, validity
from bench.report.tables import markdown
from bench.report.tables.validity import CAPTION
from bench.report.tables.validity import validity as validity_table
from bench.schema import AnyRecord, TrialRecord
from tests.bench.synthetic import analysed, campaign, gathered
from tests.bench.turned import whole_and_turns


@lru_cache
def lines(**changes: Any) -> tuple[AnyRecord, ...]:
    values: dict[str, Any] = {
        "workloads": ("throughput",),
        "base": "callbacks",
        "noise": 0.01,
        "samples": 30,
    }
    return tuple(whole_and_turns(campaign(**(values | changes))))


def found(records: tuple[AnyRecord, ...] | list[AnyRecord]) -> Validity:
    result = validity(gathered(records))
    assert result is not None
    return result


def row(result: Validity, label: str, metric: stats.Metric = stats.CPU_PER_1000) -> Row:
    (only,) = (row for row in result.by(metric) if row.label == label)
    return only


def dearer(label: str, factor: Callable[[int], float]) -> list[AnyRecord]:
    """The campaign, with this label's pages more expensive in turns, by a factor per block."""
    changed: list[AnyRecord] = []
    for line in lines():
        if isinstance(line, TrialRecord) and line.turns and line.label == label:
            cpu_s = line.turns.cpu_s * factor(line.block)
            line = line.model_copy(update={"turns": line.turns.model_copy(update={"cpu_s": cpu_s})})
        changed.append(line)
    return changed


def test_methods_that_measure_the_same_agree() -> None:
    result = found(lines())
    assert (result.point, result.repeated) == ("throughput-100", "whole-100")
    for mine in result.by(stats.CPU_PER_1000):
        assert mine.over.value == pytest.approx(1)
        assert mine.turns.value == pytest.approx(mine.whole.value)
        assert (mine.agreement is None) == (mine.label == "callbacks")
        if mine.agreement:
            assert mine.agreement.verdict == stats.EQUIVALENT
    first = result.sentences[0]
    assert "agree within ±2 % on threads, generators and async/await" in first


def test_a_backend_that_pays_for_its_turns_is_named() -> None:
    result = found(dearer("threads", lambda block: 1.2 + 0.002 * block))
    mine = row(result, "threads").agreement
    assert mine is not None
    assert mine.shown
    assert mine.value == pytest.approx(1.205, abs=0.01)
    assert "differ on threads (20 % more in turns" in result.sentences[0] or (
        "differ on threads (21 % more in turns" in result.sentences[0]
    )
    others = row(result, "generators").agreement
    assert others is not None
    assert not others.shown


def test_what_all_pay_for_turns_is_no_disagreement() -> None:
    """Colder caches for everybody change the figures, and no ratio."""
    changed: list[AnyRecord] = []
    for line in lines():
        if isinstance(line, TrialRecord) and line.turns:
            turns = line.turns.model_copy(update={"cpu_s": 1.1 * line.turns.cpu_s})
            line = line.model_copy(update={"turns": turns})
        changed.append(line)
    mine = row(found(changed), "generators")
    assert mine.over.value == pytest.approx(1.1)
    assert mine.agreement is not None
    assert mine.agreement.verdict == stats.EQUIVALENT


def test_noise_leaves_it_undecided_with_what_could_have_been_seen() -> None:
    swing = dearer("threads", lambda block: 1.5 if block % 2 else 0.7)
    result = found(swing)
    assert "leave threads undecided (a difference below" in result.sentences[0]
    text = "\n".join(markdown.section(validity_table(analysed(swing))))
    assert "blocks would decide" in text


def test_the_twin_is_a_control_and_in_no_sentence() -> None:
    result = found(lines())
    assert row(result, "callbacks#2").control
    assert all("#2" not in sentence for sentence in result.sentences)


def test_the_table_and_the_summary_say_it() -> None:
    analysis = analysed(lines())
    text = "\n".join(markdown.section(validity_table(analysis)))
    assert CAPTION in text
    assert "yes, within ±2 %" in text
    assert found(lines()).sentences[0] in trust.method_lines(analysis)


def test_too_few_blocks_have_no_intervals() -> None:
    result = found(lines(blocks=3))
    assert row(result, "threads").turns.low is None
    assert result.sentences == []
    assert "3 of at least 5 blocks" in str(validity_table(analysed(lines(blocks=3))).texts)


def test_a_campaign_of_whole_trials_alone_has_nothing_to_compare() -> None:
    records = campaign(workloads=("throughput",), samples=30)
    assert validity(gathered(records)) is None
    assert validity_table(Analysis(gathered(records))).rows == []
