"""The talk: in order, from records alone, and with the numbers of the findings."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import main
from bench.cli.commands import talk as command
from bench.launch import RESULTS, ROOT
from bench.talk import slides
from bench.talk.slides import Material, Talk, TalkSlide
from crawlers.registry import MODELS
from tests.bench import committed as campaigns
from tests.bench.cli.test_cli import save
from tests.bench.synthetic import altered, analysed, campaign
from tools.rebuild import COMMANDS

REFERENCE, FLEET = RESULTS / "reference", RESULTS / "fleet"
PAGE = ROOT / "docs" / "notebook" / "talk.md"
TEMPLATE = (Path(slides.__file__).parent / "templates" / "talk.md").read_text()


@cache
def committed() -> Talk:
    """The talk of the reference campaign."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slides, "analysis_in", lambda file: campaigns.analysis(file.parent.name))
        loaded = Material.load(REFERENCE, FLEET)
    return slides.tell(loaded, command.command(REFERENCE, FLEET, PAGE))


def story() -> list[str]:
    """Its slides in order, as the committed page has them."""
    return [slide.name for slide in committed().slides]


def made(**changes: Any) -> Talk:
    """The talk of a made-up campaign, without counts, experiments and a fleet."""
    return slides.tell(Material(analysed(campaign(**changes)), Path("nowhere")))


def slide(name: str, talk: Talk | None = None) -> TalkSlide:
    return next(one for one in (talk or committed()).slides if one.name == name)


# --- the order ----------------------------------------------------------------------------


def test_the_reference_fills_every_slide() -> None:
    talk = committed()
    assert talk.material.gaps == []
    for one in talk.slides:
        assert all((one.title, one.body.strip(), one.notes.strip(), one.source)), one.name
        assert re.match(r"\*.*\?\*\n\n.*\.\n", one.floor), one.floor


def test_what_was_not_measured_is_left_out_with_the_reason(tmp_path: Path) -> None:
    talk = made(workloads=("throughput", "waiting"))
    missing = {gap.kicker: gap.reason for gap in talk.material.gaps}
    assert set(missing) == {
        "The connection",
        "The claim, tested",
        "The page, counted",
        "The schedule",
        "HTTPS",
        "As many as fit",
        "One line",
        "The chapter, today",
    }
    assert "--fleet" in missing["As many as fit"]
    assert "../costs" in missing["The page, counted"]
    text = slides.document(talk, tmp_path / "talk.md")
    assert all(f"- {kicker}: " in text.partition("## Left out")[2] for kicker in missing)
    assert "![" not in text
    assert "*Stacked bar chart: Processor time per page" in text, "what was not drawn is in words"


@pytest.mark.parametrize("workload", ["throughput", "c10k", "openloop"])
def test_a_campaign_of_one_workload_still_has_a_talk(workload: str) -> None:
    talk = made(workloads=(workload,), blocks=1, voids=1)
    assert {"the-claim", "the-crawler", "the-price-on-no-chart"} <= {s.name for s in talk.slides}


def test_a_trial_that_was_refused_did_not_get_a_page_wrong() -> None:
    """Nine refusals of the reference were among those that did not give every page right."""
    assert {t.status for t in committed().material.analysis.records.trials} == {"ok", "refused"}
    named = committed().material.names()
    assert named["trials"] == named["usable"]


def test_the_committed_talk_is_what_the_records_give() -> None:
    """Rebuild with: python -m tools.rebuild documents."""
    assert PAGE.read_text() == slides.document(committed(), PAGE)
    assert command.command(REFERENCE, FLEET, PAGE).removeprefix("python -m bench ") in COMMANDS


# --- what is typed ------------------------------------------------------------------------


def test_no_number_is_typed() -> None:
    """Words are typed, numbers come from records."""
    typed = re.sub(r"\{%.*?%\}|\{\{.*?\}\}|^```.*?^```|`.*?`", "", TEMPLATE, flags=re.S | re.M)
    assert re.findall(r".*\d.*", typed.replace("500 Lines or Less", "")) == []


def test_the_code_is_that_of_the_models() -> None:
    shown = re.findall(r"`(crawlers/\w+\.py)`\n\n```python\n(.*?)```", TEMPLATE, re.S)
    assert len(shown) == len(MODELS)
    for file, code in shown:
        lines = [line.strip() for line in (ROOT / file).read_text().splitlines()]
        place = lines.index(code.splitlines()[0].strip())
        for line in code.splitlines():
            place = lines.index(line.strip(), place)


def test_what_the_ranges_of_a_chart_are_is_below_it() -> None:
    """It was spoken, beside what the title rests on."""
    assert "Ranges: lowest to highest block." in slide("one-line").body


def test_a_chart_without_a_difference_says_so_in_its_title() -> None:
    found = slide("the-wait", made(workloads=("throughput", "waiting"), blocks=2))
    assert found.title.endswith("no difference between models is shown")


def test_a_reading_beside_the_campaign_is_tested_too() -> None:
    """What the chapter means most likely was left out, because it was measured beside."""
    tested = slide("the-claim-tested")
    assert "| a thread that only waits | 50 KiB |" in tested.body
    assert "not tested" not in tested.notes


# --- in one file, and in a browser --------------------------------------------------------


def test_the_slides_need_no_network_and_hold_what_the_talk_says() -> None:
    text = slides.html(committed())
    assert len(text) < 1_000_000
    assert not re.search(r"<(?:link|img|iframe|object)\b|@import|url\((?!#)", text)
    for address in re.findall(r'(?:href|src)="([^"]*)"', text):
        assert address.startswith(("#", "https://"))
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert re.findall(r'<section class="turn" id="([^"]+)"', text) == story()
    assert text.count('<svg class="chart"') == committed().text.count("](chart:")


def test_words_of_records_cannot_become_tags() -> None:
    head, *rest = campaign(workloads=("throughput",))
    hostile = "<script>alert(1)</script> <img src=x>"
    analysis = analysed([altered(head, environment__cpu_model=hostile), *rest])
    text = slides.html(slides.tell(Material(analysis, Path("nowhere"))))
    assert text.count("<script>") == 1
    assert "<img" not in text
    assert "Not in these slides" in text


def test_the_command_writes_slides_beside_the_records_or_a_page_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(slides, "html", lambda talk: f"{len(talk.slides)} slides")
    folder = save(tmp_path / "one", campaign(workloads=("throughput",), blocks=1))
    assert main(["talk", str(folder)]) == 0
    assert re.fullmatch(r"\d+ slides", (folder / "talk.html").read_text())
    said = capsys.readouterr().out
    assert "“As many as fit” is left out: no fleet was named" in said
    assert "“The page, counted” is left out: no counts" in said
    page = tmp_path / "deep" / "talk.md"
    page.parent.mkdir()
    (folder / "talk.html").unlink()
    assert main(["talk", str(folder), "--fleet", str(FLEET), "--page", str(page)]) == 0
    assert page.read_text().startswith("# The talk")
    assert not (folder / "talk.html").exists()
    assert main(["talk", str(RESULTS / "interpreters"), "--out", str(tmp_path)]) == 2
    assert "compares interpreters" in capsys.readouterr().err
    assert main(["talk", str(tmp_path / "deep")]) == 2
