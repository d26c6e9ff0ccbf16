"""Tables and charts of counted costs, and the section of a campaign's page."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.costs import record, report
from bench.costs.record import Costs
from bench.report.charts import Design, Skip
from tests.bench.costs.samples import header, sample
from tests.bench.synthetic import environment

COUNTED = environment(python="CPython 3.11.2")
"""Another interpreter than the campaign's."""

WHOLE = Costs(
    header(environment=COUNTED),
    tuple(
        sample(instrument, seed, workload=workload, backend=backend, page={cost: page * factor})
        for backend, instructions in (("callbacks", 74_000.0), ("async_await", 113_000.0))
        for workload, factor in (("fetch", 1), ("crawl", 2), ("churn", 3))
        for instrument, cost, page in (
            ("instructions", "instructions", instructions),
            ("system calls", "system_calls", 2.0),
        )
        for seed in (1, 2)
    ),
)
MADE = record.accounts(WHOLE)


def drawn(costs: Costs) -> Design:
    made = report.design(costs, record.accounts(costs))
    assert isinstance(made, Design)
    return made


def test_the_headline_names_the_models_that_are_apart() -> None:
    made = drawn(WHOLE)
    assert made.headline == (
        "A fetched page needs 74k instructions with callbacks, 1.53 times as many with async_await"
    )
    assert "a crawled page: links too: callbacks 148k; async_await 226k." in made.alt
    same = [
        sample(backend=backend, seed=seed, page={"instructions": 1000.0 * seed})
        for backend in ("callbacks", "threads")
        for seed in (1, 2)
    ]
    assert drawn(Costs(header(), tuple(same))).finding is None, "their ranges overlap"


def test_of_many_backends_the_main_ones_are_drawn() -> None:
    """With fifty, no label could be read."""
    names = ("callbacks", "threads", "trio", *(f"mine{n}" for n in range(report.MOST)))
    many = Costs(
        header(), tuple(sample(backend=name, page={"instructions": 9000.0}) for name in names)
    )
    assert "trio 9,000" in drawn(many).alt
    assert "mine" not in drawn(many).alt
    assert drawn(many).notes[-1] == "The models and the main variants; the tables have all 19."
    assert len(drawn(Costs(many.header, many.samples[3:])).notes) == 1


def test_what_was_not_counted_has_no_chart() -> None:
    without = Costs(header(), (sample("kernel", page={"switches": 0.1}),))
    assert isinstance(report.design(without, record.accounts(without)), Skip)


def test_every_table_chart_and_block_names_its_interpreter(tmp_path: Path) -> None:
    """A campaign's report shows them beside measurements on another one."""
    for table in report.tables(MADE):
        assert table.caption.endswith("(CPython 3.11.2)")
    assert "CPython 3.11.2" in drawn(WHOLE).subtitle
    assert "CPython 3.11.2" in drawn(WHOLE).footer[0]
    for text in (report.excerpt(WHOLE, MADE, "costs.svg"), report.summary(WHOLE, MADE)):
        assert "Counted on 2026-11-22 with CPython 3.11.2" in text


def test_chart_and_tables_are_written_and_quoted(tmp_path: Path) -> None:
    report.write(WHOLE, MADE, tmp_path)
    assert "CPython 3.11.2" in (tmp_path / "charts" / "costs.svg").read_text()
    text = report.excerpt(WHOLE, MADE, "costs.svg")
    assert text.startswith("![A fetched page needs 74k")
    assert "| async_await | " in text
    assert "| async_await | 339,000 | 6 |" in report.summary(WHOLE, MADE)


def test_the_summary_has_every_cost_every_call_and_what_is_missing() -> None:
    calls = {"system_calls": 2.1, "system_call.sendto": 1.0, "system_call.recvfrom": 1.0}
    whole = Costs(
        header(missing={"allocations": "valgrind is not installed"}),
        (
            sample(seed=1, page={"instructions": 86_950.0}),
            sample(seed=2, page={"instructions": 87_010.0}),
            sample("system calls", page=calls),
            sample(seed=3, status="void", reason="wrong digest", counts={}),
        ),
    )
    text = report.summary(whole, record.accounts(whole))
    assert "| callbacks | 86,980 [86,950–87,010] | 2.1 |" in text
    assert "| backend | sendto | recvfrom |" in text
    assert "- allocations: valgrind is not installed" in text
    assert "- fetch, callbacks: instructions, seed 3: void: wrong digest" in text
    assert "not speed" in text


def test_the_table_has_multiples_of_the_floor() -> None:
    rows = [("bare", 20_000.0), ("callbacks", 50_000.0)]
    made = record.accounts(
        Costs(header(), tuple(sample(backend=who, page={"instructions": n}) for who, n in rows))
    )
    table = report.costs_table(made, "fetch")
    assert table.header[:2] == ["backend", "× bare"]
    assert [row[:2] for row in table.texts] == [["bare", "1.00"], ["callbacks", "2.50"]]
    assert "× bare" not in report.costs_table(made[1:], "fetch").header


@given(st.floats(0, 1e9))
def test_a_figure_is_never_far_from_its_value(value: float) -> None:
    assert float(report.figure(value).replace(",", "")) == pytest.approx(value, rel=0.01, abs=0.006)
