"""What a connection of its own takes: counted on ``churn``, minus the page on a kept one."""

from __future__ import annotations

from pathlib import Path

from bench.costs import account, extension, opening, record, report
from bench.costs.record import Costs
from bench.report.charts import Design, Skip
from tests.bench.costs.samples import header, sample
from tests.bench.synthetic import analysed, campaign

WHOLE = Costs(
    header(),
    tuple(
        sample(instrument, workload=workload, backend=backend, page={cost: page + more * opened})
        for workload, opened in (("fetch", 0), ("churn", 1))
        for backend, instructions, connection in (
            ("callbacks", 74_000.0, 80_000.0),
            ("async_await", 113_000.0, 422_000.0),
        )
        for instrument, cost, page, more in (
            ("instructions", "instructions", instructions, connection),
            ("system calls", "system_calls", 2.0, 9.0),
        )
    ),
)
MADE = account.accounts(WHOLE)


def test_the_connection_is_the_difference() -> None:
    found = {row.backend: row for row in opening.openings(MADE)}
    assert found["callbacks"].instructions == 80_000
    assert round(found["async_await"].pages, 2) == 3.73
    assert found["async_await"].calls == 9


def test_it_is_drawn_tabled_and_quoted(tmp_path: Path) -> None:
    design = opening.design(WHOLE, MADE)
    assert isinstance(design, Design)
    assert design.finding == (
        "A connection takes the instructions of 3.7 pages with async_await, of 1.08 with callbacks"
    )
    assert "async_await 422,000, or 3.7 pages" in design.alt
    report.write(WHOLE, MADE, tmp_path)
    assert (tmp_path / "charts" / "costs-churn.svg").stat().st_size > 1000
    assert "| async_await | 422,000 | 3.7 | 9.0 |" in report.excerpt(WHOLE, MADE, "costs.svg")
    assert "3.7 with `async_await` and 1.08 with `callbacks`" in opening.words(MADE)
    assert "churn" not in report.short(WHOLE, MADE), "the README has a page, not a connection"


def test_a_campaign_with_a_record_beside_it_has_the_chart(tmp_path: Path) -> None:
    record.save(WHOLE, tmp_path)
    found = extension.extra(analysed(campaign(blocks=1)), tmp_path)
    assert [design.name for design in found.designs] == ["costs", "costs-churn"]


def test_an_older_record_has_no_connection() -> None:
    old = Costs(header(), tuple(s for s in WHOLE.samples if s.workload == "fetch"))
    made = account.accounts(old)
    assert opening.openings(made) == []
    assert isinstance(opening.design(old, made), Skip)
    assert opening.COMMAND in opening.words(made)
    assert not any("connection" in table.caption for table in report.tables(made))
