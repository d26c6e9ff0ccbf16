"""Chart and table of mixed load; campaigns without it as before."""

from __future__ import annotations

import json
from pathlib import Path

from bench.report import page, summary
from bench.report.charts import CHARTS, MIXED, mixed, story_of
from bench.report.charts.design import Design, Skip
from bench.report.tables.mixed import mixed as table
from tests.bench import synthetic
from tests.bench.report.looks import draw_in_every_look
from tests.bench.synthetic import analysed
from tests.bench.worked import worked

FULL = analysed(worked(works=(1, 10, 100)))


def test_the_chart_says_what_the_records_say() -> None:
    design = mixed.design(FULL)
    assert isinstance(design, Design)
    assert design.finding is not None
    assert design.finding.startswith("Beside pages that need 10 ms of work, one page in 100 takes")
    assert "3 blocks" in design.subtitle
    assert "callbacks median" in design.alt
    assert "500 requests/s at 10 ms" in design.notes[0]


def test_no_headline_where_nothing_differs() -> None:
    loops = analysed(worked(backends=("callbacks", "generators")))
    design = mixed.design(loops)
    assert isinstance(design, Design)
    assert design.finding is None


def test_it_is_drawn_in_every_look(tmp_path: Path) -> None:
    for place, analysis in enumerate((FULL, analysed(worked()))):
        draw_in_every_look(analysis, tmp_path / str(place), "mixed")


def test_it_follows_the_open_loop() -> None:
    names = [name for name, _ in story_of(FULL)]
    assert names[names.index("omission") + 1] == "mixed"
    assert set(names) - {name for name, _ in CHARTS} == {name for name, _ in MIXED}


def test_the_table_has_the_numbers() -> None:
    made = table(FULL)
    assert len(made.rows) == 15
    rows = [row for row in made.texts if row[0] == "callbacks"]
    assert [row[1] for row in rows] == ["1.0 ms of work", "10 ms of work", "100 ms of work"]
    assert rows[1][5].endswith("(p99)")
    assert next(row for row in made.texts if row[0] == "threads")[6:9] == ["–"] * 3
    assert "beside pages that need work" in summary.to_markdown(FULL)
    assert json.loads(page.summary_json(FULL))["mixed"][0]["work_ms"] == 1.0


def test_a_campaign_without_it_renders_as_before() -> None:
    old = analysed(synthetic.campaign(blocks=2))
    assert story_of(old) == CHARTS
    assert isinstance(mixed.design(old), Skip)
    assert not table(old).rows
    assert "mixed" not in json.loads(page.summary_json(old))
