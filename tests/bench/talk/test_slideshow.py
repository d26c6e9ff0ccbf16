"""The slides in one file: self-contained, escaped, and readable in a browser and on paper."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import main
from bench.exhibits import sidebyside, stack_ripping
from bench.talk import sizes, slideshow
from bench.talk.slides import Code
from crawlers.registry import MODELS
from tests.bench.talk.samples import FLEET, REFERENCE, committed, made, ripped

SIZES = ((1280, 720), (1920, 1080))
OVERFLOWS = """() => {
  const turn = document.querySelector('.turn.current'), found = [];
  const slide = turn.querySelector('.slide').getBoundingClientRect();
  const source = turn.querySelector('.source').getBoundingClientRect();
  for (const each of turn.querySelectorAll('.sheet, .sheet *')) {
    const box = each.getBoundingClientRect();
    if (box.width && (box.right > slide.right + 1 || box.bottom > slide.bottom + 1
        || box.left < slide.left - 1 || box.top < slide.top - 1)) found.push(each.outerHTML);
  }
  for (const each of turn.querySelectorAll('.body, .cell, .column, .columns')) {
    if (each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1
        || each.getBoundingClientRect().bottom > source.top + 1) found.push(each.className);
  }
  for (const each of turn.querySelectorAll('.sheet :is(h2, td, .caption, .line, blockquote)')) {
    const points = parseFloat(getComputedStyle(each).fontSize) / slide.width * 1280;
    if (points < 14.5) found.push(`${points}: ${each.textContent}`);
  }
  return found.map(each => each.slice(0, 120));
}"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The slides of the reference campaign."""
    file = tmp_path_factory.mktemp("talk") / "talk.html"
    file.write_text(slideshow.html(committed()))
    return file


def test_the_slides_need_no_network_and_hold_what_the_talk_says(file: Path) -> None:
    text = file.read_text()
    assert len(text) < 1_000_000
    assert not re.search(r"<(?:link|img|iframe|object)\b|@import|url\((?!#)", text)
    for address in re.findall(r'(?:href|src)="([^"]*)"', text):
        assert address.startswith(("#", "https://"))
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert [name for name in ids if f'<section class="turn" id="{name}"' in text] == [
        slide.name for slide in committed().slides
    ]
    for slide in committed().slides:
        assert slide.question in text.replace("&#39;", "'")
        assert slide.sources[-1] in text


def test_the_same_records_give_the_same_file_and_their_words_are_escaped() -> None:
    talk = made(workloads=("throughput",))
    hostile = replace(talk.slides[0], title="<script>alert(1)</script>", question='"<img>"?')
    talk = replace(talk, slides=[hostile, *talk.slides[1:]])
    text = slideshow.html(talk)
    assert text == slideshow.html(talk)
    assert text.count("<script>") == 1
    assert "<img>" not in text
    assert "Not in these slides" in text
    assert "a &lt; b &amp; c" in text  # a line of a traceback


@pytest.mark.parametrize("name", ["code", "traceback"])
def test_code_is_set_in_the_largest_type_that_fits(name: str) -> None:
    body = next(slide.body for slide in committed().slides if slide.name == name)
    assert isinstance(body, Code)
    assert sizes.fits(body.columns, body.size)
    larger = body.size + sidebyside.STEP
    assert larger > sizes.LARGEST or not sizes.fits(body.columns, larger)
    assert body.size >= 14


def test_the_command_writes_slides_beside_the_records_or_a_page_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stack_ripping, "rip_all", lambda: [ripped(model) for model in MODELS])
    monkeypatch.setattr(slideshow, "html", lambda talk: f"{len(talk.slides)} slides")
    shutil.copy(REFERENCE / "trials.jsonl.gz", tmp_path)
    assert main(["talk", str(tmp_path)]) == 0
    assert (tmp_path / "talk.html").read_text() == "10 slides"
    said = capsys.readouterr().out
    assert "“A million” is left out: no fleet was named" in said
    assert "“The page, counted” is left out: no costs.jsonl" in said
    page = tmp_path / "deep" / "talk.md"
    page.parent.mkdir()
    (tmp_path / "talk.html").unlink()
    assert main(["talk", str(tmp_path), "--fleet", str(FLEET), "--page", str(page)]) == 0
    assert page.read_text().startswith("# The talk")
    assert not (tmp_path / "talk.html").exists()
    assert main(["talk", str(REFERENCE.parent / "interpreters"), "--out", str(tmp_path)]) == 2
    assert "compares interpreters" in capsys.readouterr().err
    assert main(["talk", str(tmp_path / "deep")]) == 2


# --- in a browser -------------------------------------------------------------------------


@pytest.fixture
def shown(browser: Any, file: Path) -> Iterator[Any]:
    """The slides in the browser; nothing may be complained of or asked for meanwhile."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 720}, color_scheme="light", reduced_motion="reduce"
    )
    context.set_default_timeout(120_000)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert said == []
    assert asked == [file.as_uri()]


def current(page: Any) -> str:
    return str(page.locator(".turn.current").get_attribute("id"))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("size", SIZES)
def test_nothing_leaves_its_slide_and_nothing_is_too_small(shown: Any, size: Any) -> None:
    shown.set_viewport_size({"width": size[0], "height": size[1]})
    for slide in committed().slides:
        assert current(shown) == slide.name
        assert shown.evaluate(OVERFLOWS) == []
        shown.keyboard.press("ArrowRight")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_keys_turn_the_slides_and_change_the_view(shown: Any) -> None:
    names = [slide.name for slide in committed().slides]
    for key, name in (
        *((" ", names[1]), ("PageDown", names[2]), ("ArrowLeft", names[1])),
        *(("End", names[-1]), ("ArrowRight", names[-1]), ("Home", names[0])),
    ):
        shown.keyboard.press(key)
        assert current(shown) == name
        assert shown.evaluate("location.hash") == f"#{name}"
    notes = shown.locator(".turn.current .notes >> nth=0")
    assert not notes.is_visible()
    shown.keyboard.press("n")
    assert notes.is_visible()
    shown.keyboard.press("a")
    assert shown.locator(".turn").nth(3).is_visible()
    shown.keyboard.press("a")
    assert shown.locator(".turn:visible").count() == 1
    ground = "getComputedStyle(document.body).backgroundColor"
    light = shown.evaluate(ground)
    shown.keyboard.press("t")
    assert shown.evaluate(ground) != light
    shown.keyboard.press("?")
    assert shown.locator("dialog").is_visible()
    shown.keyboard.press("Escape")
    assert not shown.locator("dialog").is_visible()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_speakers_window_turns_with_the_other(shown: Any) -> None:
    with shown.context.expect_page() as opened:
        shown.keyboard.press("s")
    speaker = opened.value
    speaker.wait_for_selector('[data-view="notes"] .turn.current .notes')
    for page, other in ((speaker, shown), (shown, speaker)):
        page.keyboard.press("ArrowRight")
        other.wait_for_selector(f"#{current(page)}.current", state="attached")
    assert current(shown) == committed().slides[2].name
    speaker.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_paper_has_one_slide_a_page(shown: Any) -> None:
    printed = shown.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == len(committed().slides)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(shown: Any, theme: str) -> None:
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    shown.emulate_media(color_scheme=theme)
    shown.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text())
    for view in ("deck", "notes", "all"):
        shown.evaluate(f"document.documentElement.dataset.view = '{view}'")
        found = shown.evaluate("axe.run()")
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []
        assert len(found["passes"]) > 20, "axe ran"
