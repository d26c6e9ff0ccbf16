"""The slides in a browser, with its keys, and on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.talk import slides
from tests.bench.talk.test_talk import committed, story
from tests.browsing import barriers, opened

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

OVERFLOWS = """() => {
  const turn = document.querySelector('.turn.current'), found = [];
  const slide = turn.querySelector('.slide').getBoundingClientRect();
  const source = turn.querySelector('.source').getBoundingClientRect();
  for (const each of turn.querySelectorAll('.sheet, .sheet *')) {
    const box = each.getBoundingClientRect();
    if (box.width && (box.right > slide.right + 1 || box.bottom > slide.bottom + 1
        || box.left < slide.left - 1 || box.top < slide.top - 1)) found.push(each.outerHTML);
  }
  for (const each of turn.querySelectorAll('.body, .body > *')) {
    if (each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1
        || each.getBoundingClientRect().bottom > source.top + 1) found.push(each.outerHTML);
  }
  for (const each of turn.querySelectorAll('.sheet :is(h2, td, .body > p, pre, blockquote)')) {
    const points = parseFloat(getComputedStyle(each).fontSize) / slide.width * 1280;
    if (points < 14.5) found.push(`${points}: ${each.textContent}`);
  }
  return found.map(each => each.slice(0, 120));
}"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The slides of the reference campaign."""
    file = tmp_path_factory.mktemp("talk") / "talk.html"
    file.write_text(slides.html(committed()))
    return file


@pytest.fixture
def shown(browser: Any, file: Path) -> Iterator[Any]:
    with opened(browser, file, height=720) as page:
        yield page


def current(page: Any) -> str:
    return str(page.locator(".turn.current").get_attribute("id"))


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)])
def test_nothing_leaves_its_slide_and_nothing_is_too_small(shown: Any, size: Any) -> None:
    shown.set_viewport_size({"width": size[0], "height": size[1]})
    for name in story():
        assert current(shown) == name
        assert shown.evaluate(OVERFLOWS) == []
        shown.keyboard.press("ArrowRight")


def test_keys_turn_the_slides_and_change_the_view(shown: Any) -> None:
    first, second, third, *_, last = story()
    turned = {" ": second, "PageDown": third, "ArrowLeft": second}
    turned |= {"End": last, "ArrowRight": last, "Home": first}
    for key, name in turned.items():
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


def test_the_speakers_window_turns_with_the_other(shown: Any) -> None:
    with shown.context.expect_page() as opened:
        shown.keyboard.press("s")
    speaker = opened.value
    speaker.wait_for_selector('[data-view="notes"] .turn.current .notes')
    for page, other in ((speaker, shown), (shown, speaker)):
        page.keyboard.press("ArrowRight")
        other.wait_for_selector(f"#{current(page)}.current", state="attached")
    assert current(shown) == story()[2]
    speaker.close()


def test_paper_has_one_slide_a_page(shown: Any) -> None:
    printed = shown.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == len(story())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(shown: Any, theme: str) -> None:
    shown.emulate_media(color_scheme=theme)
    for view in ("deck", "notes", "all"):
        shown.evaluate(f"document.documentElement.dataset.view = '{view}'")
        assert barriers(shown, theme) == []
