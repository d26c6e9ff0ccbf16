"""Tables and charts of counted costs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bench.costs import accounts, report
from bench.costs.accounts import Counted
from bench.show.alt import alt
from bench.show.figures import Figure
from bench.study.record import Run, SampleRecord
from tests.bench.costs.samples import counted, run, sample
from tests.bench.synthetic import environment

COUNTED = environment(python="CPython 3.11.2")
"""Another interpreter than the campaign's."""

WHOLE = run(
    *(
        sample(
            instrument,
            seed,
            backend=backend,
            fetch={cost: page},
            crawl={cost: 2 * page},
            churn={cost: 3 * page},
        )
        for backend, instructions in (("callbacks", 74_000.0), ("async_await", 113_000.0))
        for instrument, cost, page in (
            ("instructions", "instructions", instructions),
            ("system calls", "system_calls", 2.0),
        )
        for seed in (1, 2)
    ),
    environment=COUNTED,
)


def drawn(found: Run[Counted]) -> Figure:
    made = report.design(found)
    assert isinstance(made, Figure)
    return made


def test_the_headline_names_the_models_that_are_apart() -> None:
    made = drawn(WHOLE)
    assert made.headline == (
        "A fetched page needs 74k instructions with callbacks, 1.53 times as many with async_await"
    )
    assert "a crawled page: links too: callbacks 148k; async_await 226k." in alt(
        made.title, made.data
    )
    same = [*counted([1000.0, 2000.0]), *counted([1000.0, 2000.0], "threads")]
    assert drawn(run(*same)).headline is None, "their ranges overlap"


def test_of_many_backends_the_main_ones_are_drawn() -> None:
    """With fifty, no label could be read."""
    names = ("callbacks", "threads", "trio", *(f"mine{n}" for n in range(report.MOST)))
    many: list[SampleRecord[Counted]] = [each for name in names for each in counted([9000.0], name)]
    words = alt("", drawn(run(*many)).data)
    assert "trio 9,000" in words
    assert "mine" not in words
    left_out = "The models and the main variants; the tables have all 19."
    assert left_out in " ".join(drawn(run(*many)).notes)
    assert left_out not in " ".join(drawn(run(*many[3:])).notes)


def test_what_was_not_counted_has_no_chart() -> None:
    assert isinstance(report.design(run(sample("kernel", fetch={"switches": 0.1}))), str)


def test_every_table_chart_and_block_names_its_interpreter(tmp_path: Path) -> None:
    """Documents show them beside measurements on another one."""
    whole = report.report(WHOLE)
    for table in whole.tables:
        assert table.caption.endswith("(CPython 3.11.2)")
    assert "CPython 3.11.2" in drawn(WHOLE).subtitle
    assert "CPython 3.11.2" in drawn(WHOLE).footer[0]
    quoted = report.excerpt(WHOLE, "costs.svg")
    for text in (quoted, whole.summary()):
        assert "Counted on 2026-11-22 with CPython 3.11.2" in text
    assert quoted.startswith("![A fetched page needs 74k")
    whole.write(tmp_path, Console(quiet=True))
    assert "CPython 3.11.2" in (tmp_path / "charts" / "costs.svg").read_text()
    assert "| async_await | 339,000 | 6 |" in (tmp_path / "summary.md").read_text()


def test_the_summary_has_every_cost_every_call_and_what_is_missing() -> None:
    calls = {"system_calls": 2.1, "system_call.sendto": 1.0, "system_call.recvfrom": 1.0}
    gone = SampleRecord[Counted](
        run="one", program="allocations", repeat=0, status="refused", reason="no valgrind"
    )
    bad = sample(seed=3, lost="fetch: wrong digest")
    found = run(*counted([86_950.0, 87_010.0]), sample("system calls", fetch=calls), bad, gone)
    text = report.report(found).summary()
    assert "| callbacks | 86,980 [86,950–87,010] | 2.1 |" in text
    assert "| backend | sendto | recvfrom |" in text
    assert "- allocations: no valgrind" in text
    assert "- callbacks/instructions: void: fetch: wrong digest" in text
    assert "not speed" in text


def test_the_table_has_multiples_of_the_floor() -> None:
    found = run(*counted([20_000.0], "bare"), *counted([50_000.0]))
    made = accounts.accounts(found)
    table = report.costs_table(made, "fetch")
    assert table.header[:2] == ["backend", "× bare"]
    assert [row[:2] for row in table.texts] == [["bare", "1.00"], ["callbacks", "2.50"]]
    assert "× bare" not in report.costs_table(made[1:], "fetch").header


@given(st.floats(0, 1e9))
def test_a_figure_is_never_far_from_its_value(value: float) -> None:
    assert float(report.figure(value).replace(",", "")) == pytest.approx(value, rel=0.01, abs=0.006)
