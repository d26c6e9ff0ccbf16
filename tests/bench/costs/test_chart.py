"""The chart, and the section of a campaign's page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.analysis.analysis import Analysis
from bench.costs import account, chart, extension, record, report
from bench.costs.record import Costs, CostsError
from bench.report.charts import Design, Skip
from bench.store import sort_out
from tests.bench.costs.samples import costs, header, sample
from tests.bench.synthetic import campaign

WHOLE = Costs(
    header(),
    tuple(
        sample(workload=workload, backend=backend, seed=seed, page={"instructions": page + seed})
        for workload, extra in (("fetch", 0), ("crawl", 97_000))
        for backend, page in (("callbacks", 87_000 + extra), ("threads", 103_000 + extra))
        for seed in (1, 2)
    ),
)


def test_the_headline_names_the_models_that_are_apart() -> None:
    made = chart.design(WHOLE, account.accounts(WHOLE))
    assert isinstance(made, Design)
    assert made.headline == (
        "A fetched page takes 87k instructions with callbacks, 1.18 times as many with threads"
    )
    assert "not a speed" in made.subtitle
    assert "crawl: callbacks 184,002; threads 200,002." in made.alt


def test_ranges_that_overlap_give_no_headline() -> None:
    same = Costs(
        header(),
        tuple(
            sample(backend=backend, seed=seed, page={"instructions": 1000.0 * seed})
            for backend in ("callbacks", "threads")
            for seed in (1, 2)
        ),
    )
    made = chart.design(same, account.accounts(same))
    assert isinstance(made, Design)
    assert made.finding is None


def test_of_many_backends_the_main_ones_are_drawn() -> None:
    """With fifty, no label could be read."""
    names = ("callbacks", "threads", "trio", *(f"mine{n}" for n in range(chart.MOST)))
    many = Costs(
        header(), tuple(sample(backend=name, page={"instructions": 9000.0}) for name in names)
    )
    made = chart.design(many, account.accounts(many))
    assert isinstance(made, Design)
    assert "trio 9,000" in made.alt
    assert "mine" not in made.alt
    assert made.notes[-1] == "The models and the main variants; the tables have all 19."
    few = Costs(many.header, many.samples[3:])
    made = chart.design(few, account.accounts(few))
    assert isinstance(made, Design)
    assert made.alt.count("mine") == chart.MOST


def test_without_instructions_there_is_no_chart() -> None:
    without = Costs(header(), (sample("kernel", page={"switches": 0.1}),))
    assert isinstance(chart.design(without, account.accounts(without)), Skip)


def test_chart_and_tables_are_written_and_quoted(tmp_path: Path) -> None:
    made = account.accounts(WHOLE)
    report.write(WHOLE, made, tmp_path)
    assert (tmp_path / "charts" / "costs.svg").stat().st_size > 1000
    text = report.excerpt(WHOLE, made, "costs.svg")
    assert text.startswith("![A fetched page takes 87k")
    assert "| threads | 103,002 [103,001–103,002] |" in text


def test_a_campaign_with_a_record_beside_it_has_a_section(tmp_path: Path) -> None:
    analysis = Analysis(sort_out(campaign(blocks=1), Path("trials.jsonl")))
    assert extension.extra(analysis, tmp_path).sections == ()
    record.save(WHOLE, tmp_path)
    found = extension.extra(analysis, tmp_path)
    (section,) = found.sections
    assert "103,002 [103,001–103,002]" in section.body
    assert "not speed" in section.body
    assert [design.name for design in found.designs] == ["costs"]
    shutil.copy(tmp_path / record.FILE_NAME, tmp_path / "copy")
    (tmp_path / record.FILE_NAME).write_text("<script>")
    with pytest.raises(CostsError):
        extension.extra(analysis, tmp_path)


def test_reasons_cannot_write_html(tmp_path: Path) -> None:
    bad = sample(status="failed", reason="<b>no</b>", counts={})
    record.save(Costs(header(), (*costs(1.0).samples, bad)), tmp_path)
    (section,) = extension.extra(
        Analysis(sort_out(campaign(blocks=1), Path("trials.jsonl"))), tmp_path
    ).sections
    assert "<b>no</b>" not in section.body
    assert "&lt;b&gt;no" in section.body
