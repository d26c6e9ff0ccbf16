"""The advice on a campaign's page: the script calculates what the model does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.analysis.analysis import Analysis
from bench.capacity import model, report
from bench.capacity.advice import advise
from bench.capacity.model import EXAMPLE, PLAIN, Costs, Need
from bench.report.page import Section
from bench.store import Records
from bench.text import MIB
from tests.bench import committed, synthetic
from tests.browsing import opened

NEEDS = (
    EXAMPLE,
    PLAIN,
    Need(),
    Need(100, None, 1.0, work_s=0.003),
    Need(5000, 20_000, 0.01),
    Need(100, 2000, 0.2),
    Need(40_000, 100, 1.5),
    Need(12_345, 67, 0.0, work_s=0.1, share=0.1),
    Need(5000, 3000, 0.05, tls=True, pages_per_connection=3),
    Need(50_000, 13_000, 0.1, load=0.95),
    Need(3000, 33_333, 0.001, pages_per_connection=7, load=0.33),
    Need(10, 0.5, 3.0),
)
"""Loads that reach every branch: refused, left out, with and without each cost."""

READ = """() => Object.fromEntries(
  [...document.querySelector('#advice-table').tBodies[0].rows].map(row => {
    const [name, can, ...rest] = [...row.cells];
    return [name.textContent, [can.textContent, ...rest.map(
      cell => cell.dataset.value === undefined ? null : Number(cell.dataset.value))]];
  }))"""

ASK = """(need) => {
  const form = document.querySelector('#advice-form');
  for (const [name, value] of Object.entries(need)) {
    const field = form.elements[name];
    if (field.type === 'checkbox') field.checked = value;
    else field.value = value;
  }
  form.dispatchEvent(new Event('input'));
}"""


def section(analysis: Analysis) -> Section:
    (found,) = report.extra(analysis, Path()).sections
    return found


def asked(need: Need) -> dict[str, object]:
    """A need as the form has it."""
    return {
        "connections": str(need.connections),
        "rate": "" if need.rate is None else repr(need.rate),
        "delay": repr(1000 * need.delay_s),
        "tls": need.tls,
        "work": repr(1000 * need.work_s),
        "share": repr(100 * need.share),
        "pages": "" if need.pages_per_connection is None else str(need.pages_per_connection),
        "load": repr(100 * need.load),
        "all": True,
    }


def expected(costs: Costs, need: Need) -> dict[str, list[object]]:
    """What the page must show, by the model; memory in bytes."""
    return {
        row.name: [
            row.can,
            *(
                pytest.approx(number * (MIB if place == MEMORY else 1)) if number else None
                for place, number in enumerate(report.numbers(row))
            ),
        ]
        for row in advise(costs, need).rows
    }


MEMORY = report.TITLES.index("memory, MiB")


@pytest.fixture(scope="module")
def small() -> Analysis:
    """A made-up campaign with some of everything."""
    workloads = ("throughput", "c10k", "ladder", "waiting", "openloop")
    ladder = synthetic.rungs(synthetic.MODELS)
    return synthetic.analysed(synthetic.campaign(samples=200, workloads=workloads, ladder=ladder))


@pytest.mark.slow
def test_the_page_calculates_what_the_model_does(browser: Any, tmp_path: Path) -> None:
    analysis = committed.analysis()
    costs = model.costs(analysis)
    assert costs is not None
    file = tmp_path / "page.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><main>{section(analysis).body}</main>")
    reached = set()
    with opened(browser, file) as shown:
        without = set(shown.evaluate(READ))
        for need in NEEDS:
            shown.evaluate(ASK, asked(need))
            found = shown.evaluate(READ)
            assert found == expected(costs, need), need
            reached |= {row[0] for row in found.values()}
        assert reached == {"no", "left out", "yes"}
        shown.evaluate(ASK, {"all": False})
        assert set(shown.evaluate(READ)) == without == set(report.chosen(costs, everything=False))
        before = shown.evaluate(READ)
        for mistyped in ({"connections": "0"}, {"rate": "-1"}):
            shown.evaluate(ASK, mistyped)
            assert shown.evaluate(READ) == before


def test_the_table_is_there_without_a_script(small: Analysis) -> None:
    body = str(section(small).body)
    assert 'id="advice-form" class="advice" hidden' in body
    for name in synthetic.MODELS:
        assert f'<th scope="row">{name}</th>' in body


def test_names_cannot_break_out_of_the_script() -> None:
    text = str(report.in_script({"name": "</script><img src=x>&"}))
    assert "<" not in text
    assert "&" not in text
    assert json.loads(text) == {"name": "</script><img src=x>&"}


def test_a_campaign_without_pages_has_no_section() -> None:
    held = synthetic.analysed(synthetic.campaign(samples=200, workloads=("c10k",), blocks=1))
    assert report.extra(held, Path()).sections == ()
    none = Analysis(Records(held.campaign))
    assert report.extra(none, Path()).sections == ()
