"""Which charts a campaign gets, and what it gets instead of the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench.report import charts
from bench.report.charts import Chart, Design, Skip, render_all
from bench.report.charts.look import Look, style
from bench.schema import TrialRecord
from bench.show.words import footer
from tests.bench import synthetic
from tests.bench.report.charts.campaigns import changed, designs, made, standard, unequal, whole


def test_every_chart_is_drawn(drawn: Mapping[str, Chart]) -> None:
    story = charts.story(synthetic.analysed(unequal(whole())))
    assert list(drawn) == list(story)
    for chart in drawn.values():
        assert chart.skipped is None
        assert len(chart.alt) > 40
        assert chart.title
        assert chart.files
        for path in chart.files.values():
            assert path.stat().st_size > 5000
            text = path.read_text(encoding="utf-8")
            ElementTree.fromstring(text)
            assert "<text" in text  # text stays text
            assert "20261121-051200-1a2b3c" in text  # the campaign is in the footer
            assert "1a2b3c4d5e" in text
            assert "CPython 3.11.9" in text


def test_only_backends_measured_at_many_slots_are_in_the_other_charts() -> None:
    records = [
        r
        for r in made(backends=(*synthetic.MODELS, "uvloop"), blocks=1)
        if not (isinstance(r, TrialRecord) and r.label == "uvloop" and r.workload == "throughput")
    ]
    assert synthetic.analysed(records).main == list(synthetic.MODELS)
    assert "uvloop" not in designs(records)["memory"].alt


def test_charts_are_told_in_the_order_of_the_story() -> None:
    story = ["cpu", "memory", "waiting", "hockey-stick", "omission", "fairness"]
    assert [name for name in standard() if name in story] == story


def test_a_campaign_cut_short_at_any_line() -> None:
    records = made(blocks=2)
    for cut in (1, 2, 3, 7, 40, len(records) - 1):
        for design in designs(records[:cut]).values():
            assert design.title


def test_trials_without_measurements() -> None:
    records = changed(
        made(blocks=2),
        cpu=None,
        memory=None,
        ledger=None,
        host=None,
        service_time=None,
        response_time=None,
        limiter=None,
    )
    found = designs(records)
    assert not {"cpu", "memory", "hockey-stick"} & set(found)
    assert isinstance(found["throughput"], Design)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"backends": ("callbacks",), "blocks": 1, "twin": None, "base": "callbacks"},
        {"blocks": 1, "samples": 300},
        {"blocks": 2, "voids": 5, "samples": 300},
        {"workloads": ("c10k",)},
        {"workloads": ("real",), "blocks": 2},
        {"workloads": ("openloop",), "blocks": 1},
        {"workloads": ("cost",)},
    ],
    ids=["one-backend", "one-block", "voids", "c10k", "real", "openloop", "cost"],
)
def test_partial_data(kwargs: dict[str, Any]) -> None:
    look = Look("light", "wide", synthetic.MODELS)
    for design in designs(made(**kwargs)).values():
        if isinstance(design, Skip):
            assert design.reason
            continue
        assert design.alt
        with style(look):
            assert design.slide(look).figure.axes


def test_nothing_but_voids(tmp_path: Path) -> None:
    records = changed(made(blocks=1), status="void", reason="digest differs")
    for chart in render_all(synthetic.analysed(records), tmp_path, formats=("svg",)):
        assert not chart.files
        assert chart.skipped
    assert list(tmp_path.iterdir()) == []


def test_a_campaign_without_trials() -> None:
    assert all(isinstance(design, Skip) for design in designs(made()[:1]).values())


def test_forty_backends(tmp_path: Path) -> None:
    backends = (*synthetic.MODELS, *(f"variant_{i}" for i in range(36)))
    records = made(backends=backends, blocks=1, workloads=("throughput", "c10k"), samples=30)
    analysis = synthetic.analysed(records)
    names = ("throughput", "memory")
    for chart in render_all(analysis, tmp_path, formats=("svg",), only=names):
        assert chart.skipped is None
        assert "variant_35" in chart.files["svg/light"].read_text(encoding="utf-8")


def test_void_trials_are_counted_in_the_footer() -> None:
    analysis = synthetic.analysed(made(voids=3, workloads=("real",)))
    assert "3 trials void, failed or refused: not drawn" in footer(analysis)[1]
