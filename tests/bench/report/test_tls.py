"""Charts and tables of what TLS adds: their captions recounted, and old campaigns as before."""

from __future__ import annotations

import json
from pathlib import Path

from bench.report import export, page, summary
from bench.report.charts import CHARTS, OVER_TLS, story_of, tls_memory
from bench.report.charts.design import Design, Skip
from bench.report.tables import tls
from bench.text import KIB, size_words
from tests.bench import synthetic
from tests.bench.encrypted import encrypted
from tests.bench.report.looks import draw_in_every_look
from tests.bench.synthetic import MODELS, analysed, gathered

EVERY = (*MODELS, "uvloop", "trio", "aiohttp")
FULL = analysed(encrypted(backends=EVERY))


def test_the_memory_chart_says_what_the_records_say() -> None:
    design = tls_memory.design(FULL)
    assert isinstance(design, Design)
    rows = {row.label: row for row in FULL.encryption.held}
    most, least = rows["async_await"], rows["callbacks"]
    assert design.finding is not None
    assert f"{size_words(most.total, 2)} with async/await" in design.finding
    assert f"{size_words(least.total, 2)} with callbacks" in design.finding
    assert f"(plain {size_words(most.plain_total or 0, 2)})" in design.finding
    assert "Slope over the numbers of connections up to 10,000" in design.subtitle
    for row in rows.values():
        assert f"{row.label} {size_words(row.plain_total or 0)} plain, " in design.alt


def test_the_bars_add_up() -> None:
    for row in FULL.encryption.held:
        above, below = tls_memory.bars(row)
        assert abs(sum(value for _, value in below) - row.total) < 1
        assert abs(sum(value for _, value in above) - (row.plain_total or 0)) < 1
        assert all(value >= 0 for _, value in (*above, *below))


def test_one_number_of_connections_is_said() -> None:
    design = tls_memory.design(analysed(encrypted(counts=(1000,), pages=False)))
    assert isinstance(design, Design)
    assert design.subtitle.startswith("At 1,000 connections, divided by their number")


def test_the_chart_is_drawn_in_every_look(tmp_path: Path) -> None:
    draw_in_every_look(FULL, tmp_path, *(name for name, _ in OVER_TLS))


def test_a_campaign_without_tls_renders_as_before() -> None:
    old = analysed(synthetic.campaign(blocks=2))
    assert story_of(old) == CHARTS
    assert isinstance(tls_memory.design(old), Skip)
    assert not any("TLS" in table.caption for table in summary.tables(old))
    assert "tls" not in json.loads(page.summary_json(old))
    assert {name for name, _ in story_of(FULL)} - {name for name, _ in CHARTS} == {
        "tls-memory",
        "tls-pages",
    }


def test_the_tables_have_the_numbers_of_the_records() -> None:
    rows = {row[0]: row for row in tls.memory(FULL).texts}
    held = {row.label: row for row in FULL.encryption.held}
    assert list(rows) == list(held)
    for label, row in held.items():
        assert rows[label][2] == f"{row.user / KIB:.1f}"
        assert rows[label][7] == f"{row.total / KIB:.1f}"


def test_a_refused_backend_is_in_a_note() -> None:
    table = tls.memory(analysed(encrypted(refused={"uvloop": "too large"})))
    assert table.notes == ["Refused: uvloop: too large"]


def test_summary_and_export_have_the_trials_over_tls() -> None:
    text = summary.to_markdown(FULL)
    assert "Memory per connection over TLS" in text
    assert "Pages over TLS" in text
    rows = export.table(gathered(encrypted()))
    modes = {row["mode"] for row in rows}
    assert {"plain", "tls", "churn", "handshake", "tickets", None} == modes
    over = [row for row in rows if row["mode"] == "handshake"]
    assert {row["handshakes_full"] for row in over} == {500}
    assert {row["tls"] for row in over} == {"TLS 1.3, ecdsa, no tickets"}
