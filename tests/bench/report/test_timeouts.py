"""Chart and table of what a timeout costs; campaigns without it as before."""

from __future__ import annotations

from pathlib import Path

from bench.report import summary
from bench.report.charts import CHARTS, story_of, timeouts
from bench.report.charts.design import Design, Skip
from bench.report.tables.timeouts import timeouts as table
from tests.bench.analysis.test_timeouts import ladder
from tests.bench.report.looks import draw_in_every_look
from tests.bench.synthetic import analysed, campaign

FULL = ladder()


def test_the_chart_says_what_the_records_say(tmp_path: Path) -> None:
    design = timeouts.design(FULL)
    assert isinstance(design, Design)
    assert design.finding is not None
    assert "asyncio.timeout adds" in design.finding or "socket.settimeout adds" in design.finding
    assert "(20 %)" in design.alt
    assert "6 blocks" in design.subtitle
    draw_in_every_look(FULL, tmp_path, "timeouts")


def test_it_follows_fairness_where_it_was_measured() -> None:
    names = [name for name, _ in story_of(FULL)]
    assert names[names.index("fairness") + 1] == "timeouts"


def test_the_table_names_every_way() -> None:
    rows = {row[0]: row for row in table(FULL).texts}
    assert rows["async_await"][1] == "asyncio.timeout"
    assert rows["async_await"][4] == "more CPU"
    assert rows["callbacks"][2] == "–"
    assert "A timeout for each exchange" in summary.to_markdown(FULL)


def test_a_campaign_without_it_renders_as_before() -> None:
    old = analysed(campaign(blocks=2))
    assert story_of(old) == CHARTS
    assert isinstance(timeouts.design(old), Skip)
    assert not any("timeout" in each.caption for each in summary.tables(old))
