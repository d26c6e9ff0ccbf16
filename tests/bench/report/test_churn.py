"""Chart and table of a connection for each page; campaigns without it as before."""

from __future__ import annotations

import json
from pathlib import Path

from bench.report import page, summary
from bench.report.charts import CHARTS, CHURN, churn, story_of
from bench.report.charts.design import Design, Skip
from bench.report.tables.churn import churn as table
from tests.bench import synthetic
from tests.bench.opened import opened
from tests.bench.report.looks import draw_in_every_look
from tests.bench.synthetic import MODELS, analysed

FULL = analysed(opened(backends=(*MODELS, "uvloop", "aiohttp")))


def test_the_chart_says_what_the_records_say() -> None:
    design = churn.design(FULL)
    assert isinstance(design, Design)
    assert design.finding == (
        "Async/await takes the processor time of 4.4 pages to open and close a connection, "
        "callbacks that of 1.60"
    )
    assert "at 100 slots" in design.subtitle
    assert "3 blocks" in design.subtitle
    assert "callbacks 27.5 µs kept, 71.5 µs new, the connection 1.60 pages" in design.alt


def test_it_is_drawn_in_every_look(tmp_path: Path) -> None:
    draw_in_every_look(FULL, tmp_path, "churn")


def test_it_follows_the_cost_of_a_page_where_it_was_measured() -> None:
    names = [name for name, _ in story_of(FULL)]
    assert names[names.index("cpu") + 1] == "churn"
    assert set(names) - {name for name, _ in CHARTS} == {name for name, _ in CHURN}


def test_the_table_has_the_numbers() -> None:
    rows = {row[0]: row for row in table(FULL).texts}
    assert rows["callbacks"][1].startswith("27.5 [25–30]")
    assert rows["callbacks"][3].startswith("44 [40–48]")
    assert rows["callbacks"][4] == "1.60"
    assert "A connection for each page" in summary.to_markdown(FULL)
    assert json.loads(page.summary_json(FULL))["churn"][0]["label"] == "threads"


def test_a_campaign_without_it_renders_as_before() -> None:
    old = analysed(synthetic.campaign(blocks=2))
    assert story_of(old) == CHARTS
    assert isinstance(churn.design(old), Skip)
    assert not any("connection for each" in each.caption for each in summary.tables(old))
    assert "churn" not in json.loads(page.summary_json(old))
