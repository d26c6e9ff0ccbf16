"""The advice on a campaign's page: the script calculates what the model does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import store
from bench.analysis.analysis import Analysis
from bench.capacity import extension, report
from bench.capacity.advice import advise
from bench.capacity.costs import Costs
from bench.capacity.fixture import measured
from bench.capacity.need import EXAMPLE, PLAIN, Need
from bench.capacity.validation import Validation, validation
from bench.launch import RESULTS
from bench.report import page
from bench.report.extension import Section
from bench.store import Records
from bench.text import MIB
from tests.bench import synthetic
from tests.bench.capacity import samples

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
    (found,) = extension.extra(analysis, Path()).sections
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


def expected(costs: Costs, checked: Validation, need: Need) -> dict[str, list[object]]:
    """What the page must show, by the model; memory in bytes."""
    return {
        row.name: [
            row.can,
            *(
                pytest.approx(number * (MIB if place == MEMORY else 1)) if number else None
                for place, number in enumerate(extension.numbers(row))
            ),
        ]
        for row in advise(costs, checked, need).rows
    }


MEMORY = extension.TITLES.index("memory, MiB")


@pytest.fixture(scope="module")
def small() -> Analysis:
    """A made-up campaign with some of everything."""
    workloads = ("throughput", "c10k", "ladder", "waiting", "openloop")
    ladder = synthetic.rungs(synthetic.MODELS)
    return synthetic.analysed(synthetic.campaign(samples=200, workloads=workloads, ladder=ladder))


def opened(browser: Any, file: Path, said: list[str], width: int = 1280) -> Any:
    shown = browser.new_page(viewport={"width": width, "height": 900})
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.set_default_timeout(300_000)
    shown.goto(file.as_uri())
    return shown


@pytest.mark.slow
def test_the_page_calculates_what_the_model_does(browser: Any, tmp_path: Path) -> None:
    analysis = Analysis(store.load(RESULTS / "reference"))
    costs = measured(analysis)
    assert costs is not None
    checked = validation(analysis, costs)
    file, said = tmp_path / "page.html", list[str]()
    file.write_text(f"<!doctype html><meta charset=utf-8><main>{section(analysis).body}</main>")
    shown = opened(browser, file, said)
    without = set(shown.evaluate(READ))
    reached = set()
    for need in NEEDS:
        shown.evaluate(ASK, asked(need))
        found = shown.evaluate(READ)
        assert found == expected(costs, checked, need), need
        reached |= {row[0] for row in found.values()}
    assert reached == {"no", "left out", "yes"}
    shown.evaluate(ASK, {"all": False})
    assert set(shown.evaluate(READ)) == without == set(report.chosen(costs, everything=False))
    assert said == []


def test_what_is_mistyped_leaves_the_advice_as_it_was(
    browser: Any, small: Analysis, tmp_path: Path
) -> None:
    file, said = tmp_path / "page.html", list[str]()
    file.write_text(f"<!doctype html><meta charset=utf-8><main>{section(small).body}</main>")
    shown = opened(browser, file, said)
    before = shown.evaluate(READ)
    shown.evaluate(ASK, {"connections": "0"})
    shown.evaluate(ASK, {"rate": "-1"})
    assert shown.evaluate(READ) == before
    assert said == []


@pytest.mark.slow
def test_everybody_can_use_it(browser: Any, small: Analysis, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    file, said = tmp_path / "report.html", list[str]()
    file.write_text(page.page(small, [], tmp_path, "0" * 64, [section(small)]))
    shown = opened(browser, file, said)
    assert shown.locator("#advice-form").is_visible()
    shown.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    shown.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text())
    for theme in ("light", "dark"):
        shown.select_option("#theme", theme)
        found = shown.evaluate("axe.run()")
        bad = [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]
               if each["impact"] in ("serious", "critical")]  # fmt: skip
        assert bad == [], theme
    shown.set_viewport_size({"width": 360, "height": 740})
    assert shown.evaluate("document.documentElement.scrollWidth") == 360
    assert said == []


def test_the_table_is_there_without_a_script(small: Analysis) -> None:
    body = str(section(small).body)
    assert 'id="advice-form" class="advice" hidden' in body
    for name in synthetic.MODELS:
        assert f'<th scope="row">{name}</th>' in body


def test_names_cannot_break_out_of_the_script() -> None:
    text = str(extension.in_script({"name": "</script><img src=x>&"}))
    assert "<" not in text
    assert "&" not in text
    assert json.loads(text) == {"name": "</script><img src=x>&"}


def test_a_campaign_without_pages_has_no_section() -> None:
    held = synthetic.analysed(synthetic.campaign(samples=200, workloads=("c10k",), blocks=1))
    assert extension.extra(held, Path()).sections == ()
    none = Analysis(Records(held.campaign))
    assert extension.extra(none, Path()).sections == ()


def test_what_is_left_out_is_named_in_the_table_of_checks() -> None:
    checks = [samples.check("threads", 0.05), samples.check("callbacks", 0.4)]
    (row,) = report.checks(samples.validation(*checks)).rows
    assert row[1:] == ["1", "5.0 %", "5 %", "callbacks at whole-100 (40 % too high)"]
    assert report.checks(samples.validation()).rows == []
