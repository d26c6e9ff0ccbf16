"""The slides: every definition is on one, everything is escaped, everything fits."""

from __future__ import annotations

import ast
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.__main__ import main
from bench.exhibits import models, sections, sidebyside, stack_ripping
from bench.exhibits.stack_ripping import Frame, Ripped
from crawlers.registry import MODELS

PAGE = Path(__file__).parents[3] / "docs" / "side-by-side.md"
CODE = st.lists(st.text("ab .(<&", max_size=90), min_size=1, max_size=60)


def ripped(model: str) -> Ripped:
    frame = Frame(
        file=f"crawlers/{model}.py", line=7, function="fetch", code="a < b & c", knows=True
    )
    return Ripped(model=model, error="module.Error: <no page>", frames=[frame])


@pytest.fixture(scope="module")
def slides() -> str:
    return sidebyside.html([ripped(model) for model in MODELS])


@pytest.mark.parametrize("model", MODELS)
def test_every_definition_has_its_place_in_one_section(model: str) -> None:
    """Give a new function a place in bench/exhibits/sections.py."""
    defined = {
        node.name
        for node in ast.parse(models.source_of(model)).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }
    shown = [part.name for _, found in sections.aligned() for part in found[model]]
    assert defined <= set(shown)
    assert len(shown) == len(set(shown))
    assert {part.name for part in sections.parts(model)} == set(shown)


@pytest.mark.parametrize("model", MODELS)
def test_what_is_shown_is_what_the_file_contains(model: str) -> None:
    lines = models.source_of(model).splitlines()
    for part in sections.parts(model):
        for number, text in part.lines.items():
            assert lines[number - 1].replace(sections.FORMATTER_MARK, "").endswith(text)


def test_waiting_is_marked_in_each_model() -> None:
    words = {
        "threads": ("recv", "sendall", "connect", "wait", "join"),
        "callbacks": ("register", "modify", "call_soon", "call_at"),
        "generators": ("yield",),
        "async_await": ("await",),
    }
    for model, expected in words.items():
        lines = models.source_of(model).splitlines()
        marked = [lines[number - 1] for number in models.waiting_lines(model)]
        assert marked
        assert all(any(word in line for word in expected) for line in marked)


def test_the_slides_need_no_network_and_are_escaped(slides: str) -> None:
    class Collector(HTMLParser):
        tags: set[str]
        addresses: list[str]

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.tags.add(tag)
            self.addresses += [v or "" for name, v in attrs if name in ("href", "src")]

    collector = Collector()
    collector.tags, collector.addresses = set(), []
    collector.feed(slides)
    assert not collector.tags & {"script", "link", "img", "iframe", "object"}
    assert all(address.startswith("#") for address in collector.addresses)
    assert "url(" not in slides
    assert "@import" not in slides
    assert "a &lt; b &amp; c" in slides
    assert "Error: &lt;no page&gt;" in slides


def test_every_section_is_a_slide_with_an_address(slides: str) -> None:
    ids = re.findall(r'<section class="slide" id="([^"]+)"', slides)
    assert len(ids) == len(set(ids)) == len(sections.SECTIONS) + 3
    assert set(re.findall(r'href="#([^"]+)"', slides)) == set(ids) - {"contents"}


@given(st.lists(CODE, min_size=1, max_size=4))
def test_what_is_laid_out_fits(cells: list[list[str]]) -> None:
    found = sidebyside.layout(cells)
    assert sidebyside.SMALLEST <= found.size <= sidebyside.LARGEST
    if found.size > sidebyside.SMALLEST:
        assert sidebyside.fits(cells, found.columns, found.folds, found.size)


@given(st.text("ab .([", max_size=120), st.integers(20, 80))
def test_lines_are_counted_as_they_are_wrapped(line: str, letters: int) -> None:
    count = sidebyside.wrapped(line, letters)
    assert count >= 1
    if len(line) <= letters:
        assert count == 1


def test_the_command_writes_slides_and_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stack_ripping, "rip_all", lambda: [ripped(model) for model in MODELS])
    out, page = tmp_path / "new" / "slides.html", tmp_path / "page.md"
    assert main(["sidebyside", "--out", str(out), "--page", str(page)]) == 0
    assert out.read_text().startswith("<!doctype html>")
    assert page.read_text().startswith("# Side by side")
    assert str(page) in capsys.readouterr().out.replace("\n", "")
    assert main(["sidebyside", "--out", str(page / "below-a-file")]) == 2


def test_the_documented_sections_are_those_of_the_files() -> None:
    """Rebuild with: python -m bench sidebyside --page docs/side-by-side.md."""

    def structure(text: str) -> str:
        return re.sub(r"\d+", "N", text)

    assert structure(PAGE.read_text()) == structure(sidebyside.page())
