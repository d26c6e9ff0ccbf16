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
from crawlers.registry import about, names
from tests.bench import synthetic
from tests.bench.report.charts.campaigns import LADDERS, changed, designs, made, whole

EVERY = [name for name, _ in charts.CHARTS]
NEW = (*LADDERS, "fairness")


def test_every_chart_is_drawn(drawn: Mapping[str, Chart]) -> None:
    assert list(drawn) == EVERY
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


def test_a_campaign_from_before_the_ladder_says_what_it_lacks() -> None:
    found = designs(made())
    assert {name: found[name].reason for name in NEW} == {
        **dict.fromkeys(LADDERS, "the records do not say what each backend changes"),
        "fairness": "no valid trial of the fairness workload",
    }


def test_stacks_stand_apart_from_models() -> None:
    found = designs(whole(blocks=1, workloads=("ladder",)))
    drawn = {name: found[name].alt for name in LADDERS}
    assert [name for name, alt in drawn.items() if "httpx" in alt] == ["ladder-stacks"]
    assert [name for name, alt in drawn.items() if "threads" in alt] == LADDERS[:2]
    assert all("absent needs a library" in " ".join(found[name].notes) for name in drawn)


def test_every_backend_stands_on_a_ladder_and_few_enough_to_read() -> None:
    """With all of asyncio's ways and all other loops on one, lines touched at 16:9."""
    ours = {name: about(name) for name in names()}
    ladder = tuple(
        rung.model_copy(update={"family": ours[rung.name].family})
        for rung in synthetic.rungs(list(ours))
        if rung.name in ours
    )
    found = designs(whole(blocks=1, workloads=("ladder",), backends=tuple(ours), ladder=ladder))
    shown = {name: {other for other in ours if f" {other} " in found[name].alt} for name in LADDERS}
    assert set().union(*shown.values()) == set(ours)
    assert max(map(len, shown.values())) <= 15, shown


def test_only_backends_measured_at_many_slots_are_in_the_other_charts() -> None:
    records = [
        r
        for r in made(backends=(*synthetic.MODELS, "uvloop"), blocks=1)
        if not (isinstance(r, TrialRecord) and r.label == "uvloop" and r.workload == "throughput")
    ]
    assert synthetic.analysed(records).main == list(synthetic.MODELS)
    for name in ("memory", "memory-total"):
        assert "uvloop" not in designs(records)[name].alt


def test_charts_are_told_in_the_order_of_the_story() -> None:
    story = ["throughput", "cpu", "memory", "summit", "hockey-stick", "omission", "fairness"]
    assert [name for name in EVERY if name in story] == story


def test_a_campaign_cut_short_at_any_line() -> None:
    records = made(blocks=2)
    for cut in (1, 2, 3, 7, 40, len(records) - 1):
        for design in designs(records[:cut]).values():
            assert design.title


def test_a_campaign_that_was_not_watched_over_time_has_no_summit() -> None:
    """As those recorded before ramps were kept."""
    assert designs(changed(made(blocks=2), ramp=None))["summit"].reason.endswith("over time")


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
    for name in ("cpu", "memory"):
        assert isinstance(found[name], Skip), name
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
    for chart in render_all(synthetic.analysed(records), tmp_path, formats=("svg",), processes=1):
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
        assert "variant_35" in chart.files["svg/light/wide"].read_text(encoding="utf-8")


def test_void_trials_are_counted_in_the_footer() -> None:
    analysis = synthetic.analysed(made(voids=3, workloads=("real",)))
    assert "3 trials void, failed or refused: not drawn" in footer(analysis)[1]
