"""Chart and table of interrupted crawls; campaigns without them as before."""

from __future__ import annotations

import json
from pathlib import Path

from bench.report import export, page, summary
from bench.report.charts import CANCEL, CHARTS, cancelling, render_all, story_of
from bench.report.charts.design import Design, Skip
from bench.report.tables.cancelling import cancelling as table
from tests.bench import synthetic
from tests.bench.interrupted import interrupted
from tests.bench.report.looks import draw_in_every_look
from tests.bench.synthetic import MODELS, analysed

FULL = analysed(interrupted(backends=(*MODELS, "uvloop", "aiohttp")))


def test_the_chart_says_what_the_records_say() -> None:
    design = cancelling.design(FULL)
    assert isinstance(design, Design)
    assert design.finding == (
        "With 10,000 exchanges in flight, all is closed in 220 ms with callbacks and 1.2 s with "
        "threads"
    )
    assert "median of 3 blocks" in design.subtitle
    assert "threads 120 µs with 1 exchange in flight" in design.alt
    assert any("bare_close" in note for note in design.notes)


def test_it_is_drawn_in_every_look(tmp_path: Path) -> None:
    draw_in_every_look(FULL, tmp_path, "cancel")


def test_one_size_without_the_control_is_drawn(tmp_path: Path) -> None:
    small = analysed(interrupted(sizes=(1000,), control=False, blocks=1))
    (drawn,) = render_all(small, tmp_path, formats=("svg",), only=["cancel"], processes=1)
    assert drawn.files
    design = cancelling.design(small)
    assert isinstance(design, Design)
    assert "bare_close" not in "".join(design.notes)


def test_it_follows_fairness_where_it_was_measured() -> None:
    names = [name for name, _ in story_of(FULL)]
    assert names[names.index("fairness") + 1] == "cancel"
    assert set(names) - {name for name, _ in CHARTS} == {name for name, _ in CANCEL}


def test_the_table_has_the_numbers() -> None:
    rows = {(row[0], row[1]): row for row in table(FULL).texts}
    assert rows["callbacks", "10,000"][2].startswith("220 [")
    assert rows["callbacks", "10,000"][5] == "13.2"
    assert rows["bare_close", "1,000"][6] == "91 %"
    assert "Interrupted crawls" in summary.to_markdown(FULL)
    assert json.loads(page.summary_json(FULL))["cancel"][0]["label"] == "threads"


def test_the_export_has_a_column_for_each_number() -> None:
    rows = [row for row in export.table(FULL.records) if row["workload"] == "cancel"]
    assert rows[0]["cancelled_in_flight"] == 1
    assert "cancelled_left" not in rows[0], "it is no number"


def test_a_campaign_without_it_renders_as_before() -> None:
    old = analysed(synthetic.campaign(blocks=2))
    assert story_of(old) == CHARTS
    assert isinstance(cancelling.design(old), Skip)
    assert not any("Interrupted" in each.caption for each in summary.tables(old))
    assert "cancel" not in json.loads(page.summary_json(old))
