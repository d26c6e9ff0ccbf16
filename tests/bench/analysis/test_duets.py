"""Duets: what the sides do cancels, and only whole blocks count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis import duets, stats, trust
from bench.analysis.duets import Duet, duet
from bench.analysis.validity import validity
from bench.report import summary
from bench.report.tables import markdown
from bench.report.tables.validity import duets as duets_table
from bench.report.tables.validity import validity as validity_table
from bench.schema import AnyRecord, CampaignRecord, PointPlan, TrialRecord
from tests.bench import synthetic, turned

BASE, OTHER = "callbacks", "generators"
FACTOR = st.floats(0.2, 5.0)


def lines(blocks: int = 6) -> list[AnyRecord]:
    """A campaign in turns and in whole trials, without duets."""
    made = synthetic.campaign(
        workloads=("throughput",), base=BASE, noise=0.01, samples=30, blocks=blocks
    )
    return turned.whole_and_turns(made)


def with_duets(*others: str, sides: tuple[float, float] = (1.0, 1.0)) -> list[AnyRecord]:
    made = lines()
    end = made.pop()
    for other in others:
        made += turned.duets(lines(), other, sides)
    return [*made, end]


@lru_cache
def template() -> list[AnyRecord]:
    """The trials of one duet."""
    return turned.duets(lines(), OTHER)


def found(records: Sequence[AnyRecord], label: str = OTHER) -> Duet:
    return duet(synthetic.gathered(records), label, stats.CPU_PER_1000)


def known(records: Sequence[AnyRecord]) -> float:
    """The ratio by CPU per page of the trials that the duets were made from."""
    trials = [t for t in records if isinstance(t, TrialRecord) and t.point == "throughput-100"]
    values = stats.block_values(trials, stats.CPU_PER_1000)
    one = stats.ratio(values["throughput-100", BASE], values["throughput-100", OTHER])
    assert one.value is not None
    return one.value


def test_the_ratio_is_that_of_the_trials_whatever_the_sides_do() -> None:
    for sides in ((1.0, 1.0), (1.0, 2.0), (3.0, 0.5)):
        records = with_duets(OTHER, sides=sides)
        ratio = found(records).ratio
        assert ratio is not None
        assert ratio.blocks == 6
        assert ratio.value == pytest.approx(known(records))
        assert ratio.low is not None
        assert ratio.high is not None
        assert ratio.low < known(records) < ratio.high


@given(
    truth=FACTOR,
    legs=st.lists(st.tuples(FACTOR, FACTOR), min_size=6, max_size=6),
    left=FACTOR,
)
def test_what_a_leg_or_a_side_does_to_both_cancels(
    truth: float, legs: list[tuple[float, float]], left: float
) -> None:
    """Disturbances shared by the two labels of a leg, and a side that is slower, change nothing."""
    trials = []
    for trial in template():
        assert isinstance(trial, TrialRecord)
        assert trial.turns is not None
        side = trial.params["side"]
        first = (trial.label == BASE) == (side == "left")  # base left, other right
        us = 20.0 * legs[trial.block][0 if first else 1] * (left if side == "left" else 1.0)
        us *= truth if trial.label == OTHER else 1.0
        trials.append(turned.in_turns(trial, us))
    ratios = duets.paired(trials, BASE, OTHER, stats.CPU_PER_1000)
    assert len(ratios) == 6
    assert all(math.isclose(ratio, truth, rel_tol=1e-9) for ratio in ratios.values())


def test_a_block_without_all_four_trials_does_not_count() -> None:
    records = with_duets(OTHER)
    void = next(
        t for t in records if isinstance(t, TrialRecord) and t.workload == "duet" and t.block == 2
    )
    records[records.index(void)] = void.model_copy(update={"status": "void", "reason": "no"})
    ratio = found(records).ratio
    assert ratio is not None
    assert ratio.blocks == 5


def test_where_there_is_none_the_reason_is_given() -> None:
    assert found(lines()) == Duet(None, "the campaign has no duets")
    records = with_duets("threads")
    assert found(records) == Duet(None, "generators has no duet")
    refused = [
        t.model_copy(update={"status": "refused", "reason": "a duet needs two processors"})
        if isinstance(t, TrialRecord) and t.workload == "duet"
        else t
        for t in records
    ]
    assert found(refused, "threads") == Duet(None, "a duet needs two processors")
    campaign = records[0]
    assert isinstance(campaign, CampaignRecord)
    plan = PointPlan(point="duet-trio", workload="duet", blocks=5, labels=[], params={})
    begun = [campaign.model_copy(update={"plan": [plan]}), *lines()[1:]]
    assert found(begun, "trio") == Duet(None, "trio has no duet")


def test_the_table_has_a_column_and_says_whom_a_duet_agrees_with() -> None:
    analysis = synthetic.analysed(with_duets("callbacks#2", OTHER, "threads"))
    table = validity_table(analysis)
    assert "÷ callbacks, in duets" in table.header
    text = "\n".join(markdown.section(table))
    assert "the interval from duets contains the ratio by both other methods for" in text
    assert "No ratio in duets for async_await: async_await has no duet." in text
    result = validity(analysis.records)
    assert result is not None
    rows = {row.label: row for row in result.by(stats.CPU_PER_1000)}
    assert rows["callbacks"].duet == Duet(None)
    assert rows["callbacks#2"].duet.ratio is not None
    assert rows["callbacks#2"].duet.ratio.value == pytest.approx(1.0, abs=0.02)


def test_a_campaign_from_before_there_were_duets_says_so_once() -> None:
    text = "\n".join(markdown.section(validity_table(synthetic.analysed(lines()))))
    assert text.count("No ratio in duets: the campaign has no duets.") == 1


def test_duets_alone_have_a_table_of_their_own() -> None:
    """A campaign of nothing else has neither turns nor whole trials to put beside them."""
    alone = [
        line
        for line in with_duets(OTHER)
        if not isinstance(line, TrialRecord) or line.workload == "duet"
    ]
    analysis = synthetic.analysed(alone)
    table = duets_table(analysis)
    assert [row[:2] for row in table.texts] == [
        ["generators", "CPU, µs per page"],
        ["generators", "pages/s"],
    ]
    assert table.caption in summary.to_markdown(analysis)
    assert duets_table(synthetic.analysed(with_duets(OTHER))).rows == []


def test_a_duet_is_one_turn_and_no_warning_for_that() -> None:
    records = [
        t.model_copy(update={"turns": t.turns.model_copy(update={"taken": 1, "counted": 1})})
        if isinstance(t, TrialRecord) and t.workload == "duet" and t.turns
        else t
        for t in with_duets(OTHER)
    ]
    warnings = trust.warnings(synthetic.analysed(records))
    assert not any("rounds of turns" in line for line in warnings)


def test_a_duet_that_differs_from_both_is_named() -> None:
    records = [
        turned.in_turns(t, 3 * 1e6 * t.turns.cpu_s / t.turns.exchanges)
        if isinstance(t, TrialRecord) and t.workload == "duet" and t.label == OTHER and t.turns
        else t
        for t in with_duets(OTHER)
    ]
    result = validity(synthetic.gathered(records))
    assert result is not None
    assert "contains the ratio by neither for generators." in result.sentences[-1]
