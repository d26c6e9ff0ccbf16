"""The regime map: who wins a cell, and when nobody does."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.regime import Cell
from bench.report.tables import markdown
from bench.report.tables.regime import regime as regime_table
from bench.store import Records
from tests.bench.synthetic import campaign, gathered


@lru_cache
def made(**changes: Any) -> Records:
    values: dict[str, Any] = {"workloads": ("throughput", "waiting", "regime"), "samples": 30}
    return gathered(campaign(**(values | changes)))


def cells(records: Records, metric: stats.Metric) -> dict[tuple[int, float], Cell]:
    return {(c.slots, c.delay_ms): c for c in Analysis(records).regime(metric)}


def test_every_pair_of_slots_and_delay_is_a_cell() -> None:
    found = cells(made(), stats.PAGES_PER_S)
    assert set(found) == {(n, d) for n in (1, 10, 100, 1000) for d in (0, 1, 10, 50)}


def test_the_model_that_beats_all_others_wins() -> None:
    found = cells(made(noise=0.01), stats.CPU_PER_1000)
    assert {c.best for c in found.values()} == {("callbacks",)}
    assert all(c.lead is not None and 1.2 < c.lead < 1.4 for c in found.values())


def test_where_the_delay_sets_the_rate_nobody_wins_by_rate() -> None:
    cell = cells(made(), stats.PAGES_PER_S)[10, 50]
    assert sorted(cell.best) == ["async_await", "callbacks", "generators", "threads"]
    assert cell.lead is None


def test_equal_models_share_every_cell() -> None:
    for metric in (stats.PAGES_PER_S, stats.CPU_PER_1000):
        assert all(len(c.best) == 4 for c in Analysis(made(effects=False)).regime(metric))


def test_too_few_blocks_give_no_winner() -> None:
    assert not any(c.enough for c in Analysis(made(blocks=3)).regime(stats.CPU_PER_1000))
    assert stats.TOO_FEW in "\n".join(markdown.section(regime_table(Analysis(made(blocks=3)))))


def test_a_second_that_cannot_be_told_from_the_first_shares_the_cell() -> None:
    renamed = {"label": "generators", "backend": "generators"}
    trials = [
        t.model_copy(update=renamed) if t.label == "callbacks#2" else t
        for t in made().trials
        if t.label != "generators"
    ]
    cell = cells(replace(made(), trials=trials), stats.CPU_PER_1000)[100, 10]
    assert sorted(cell.best) == ["callbacks", "generators"]


def test_the_words_of_the_summary() -> None:
    text = "\n".join(markdown.section(regime_table(Analysis(made()))))
    assert "| 10 slots, 50 ms | undecided between " in text
    assert "callbacks × 1." in text
    assert markdown.section(regime_table(Analysis(made(workloads=("throughput",))))) == []
