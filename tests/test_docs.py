"""What the documents name exists, and what people wrote by hand fits its line."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest

from bench.launch import ROOT
from tools.site import links

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [file.relative_to(ROOT).as_posix() for file in DOCUMENTS]
MOST_COLUMNS = 100
MOST_WORDS = 20_000
MOST_WORDS_OF_README = 700
MOST_TERMS = 40

LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
PATH = re.compile(r"`((?:bench|crawlers|server|tests|tools|docs|results)/[\w./-]*|noxfile\.py)`")
PLACEHOLDER = re.compile(r"[A-Z]{4,}|results/(?:A|B)\b")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
GENERATED = re.compile(r"<!-- ([\w-]+):begin -->.*?<!-- \1:end -->|<!-- Made by .*", re.DOTALL)
"""Parts between marks, and all of a document that says how it was made."""


def anchors(document: Path) -> set[str]:
    """Of HTML, its ids; of Markdown, headings as GitHub names them, and ids set by hand."""
    text = document.read_text()
    if document.suffix == ".html":
        return links.Page(text).anchors
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings}
    return made | set(re.findall(r'id="([\w-]+)"', text))


def addresses(document: Path) -> list[str]:
    """What a document links."""
    text = document.read_text()
    if document.suffix == ".html":
        return links.Page(text).links
    return ["".join(pair) for pair in LINK.findall(FENCED.sub("", text))]


@pytest.fixture(scope="module")
def committed(in_git: list[Path]) -> set[Path]:
    """The files in git, and their folders."""
    return {*in_git, *(folder for file in in_git for folder in file.parents)}


def test_what_is_committed_links_only_what_is_committed(committed: set[Path]) -> None:
    """Each address leads to a file in git, and to an anchor that this file has."""
    documents = [each for each in committed if each.suffix in (".md", ".html")]
    found = {each: anchors(each) for each in documents if "templates" not in each.parts}
    dead = []
    for file in sorted(found):
        for address in addresses(file):
            path, _, anchor = address.partition("#")
            if ":" in path:
                continue
            target = (file.parent / path).resolve() if path else file
            if target not in committed or (anchor and anchor not in found.get(target, {anchor})):
                dead.append(f"{file.relative_to(ROOT)}: {address}")
    assert dead == []


def test_the_documents_in_view_can_be_read_in_an_evening() -> None:
    """What is true on one day is in docs/notebook, what one looks up in docs/reference."""
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    words = [len(file.read_text().split()) for file in files]
    assert words[0] <= MOST_WORDS_OF_README
    assert sum(words[1:]) <= MOST_WORDS


def test_the_harness_has_few_words_of_its_own() -> None:
    terms = re.findall(r"\*\*[^*]+\*\*:", (ROOT / "docs" / "glossary.md").read_text())
    assert 20 < len(terms) <= MOST_TERMS


def test_the_story_quotes_its_programs_without_a_cut() -> None:
    text = (ROOT / "docs" / "story.md").read_text()
    quotes = re.findall(
        r"\]\(\.\./(crawlers/chapter/\w+\.py)\)\n\n```python\n(.*?)```", text, re.DOTALL
    )
    assert len(quotes) == text.count("```python") > 5
    for name, quote in quotes:
        lines = quote.splitlines()
        source = (ROOT / name).read_text().splitlines()
        runs = (source[at : at + len(lines)] for at in range(len(source)))
        assert lines in (dedent("\n".join(run)).split("\n") for run in runs), name


@pytest.mark.parametrize("name", NAMES)
def test_files_that_are_named_exist(name: str) -> None:
    """Above all in the table "Where to change what" of docs/architecture.md."""
    named = PATH.findall((ROOT / name).read_text())
    missing = [p for p in named if not PLACEHOLDER.search(p) and not (ROOT / p).exists()]
    assert missing == []


def test_a_site_that_is_crawled_has_a_first_page() -> None:
    """A list has none: a command of docs/findings.md fetched "0 pages/s", and nobody saw it."""
    blocks = [block for file in DOCUMENTS for block in FENCED.findall(file.read_text())]
    assert [b for b in blocks if "-m crawlers " in b and "--site list" in b] == []


def test_where_to_change_what_names_a_file_in_every_row() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (.*) \| (.*) \|$", text.partition("## Where to change what")[2], re.M)
    assert len(rows) > 10
    assert [subject for subject, edit in rows[2:] if not PATH.search(edit)] == []


def test_every_room_is_on_the_floor_plan() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rooms = [
        f"{path.name}/" for path in (ROOT / "bench").iterdir() if (path / "__init__.py").exists()
    ]
    rooms += [path.name for path in (ROOT / "bench").glob("*.py") if not path.name.startswith("__")]
    entrances = {"conftest.py", "test_workloads.py"}
    assert [room for room in rooms if f"`{room}`" not in text and room not in entrances] == []


@pytest.mark.parametrize("name", [*NAMES, "CHANGELOG.md", "SECURITY.md"])
def test_no_heading_skips_a_level(name: str) -> None:
    """Sphinx refuses it, and so the site."""
    marks = re.findall(r"^(#+) .", FENCED.sub("", (ROOT / name).read_text()), re.MULTILINE)
    levels = [len(mark) for mark in marks]
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []


@pytest.mark.parametrize("name", [*NAMES, "CHANGELOG.md", "SECURITY.md"])
def test_prose_fits_its_line(name: str) -> None:
    """Tables, code, commands and generated parts may be wider."""
    text = GENERATED.sub("", (ROOT / name).read_text())
    text = FENCED.sub("", text)
    wide = [
        line
        for line in text.splitlines()
        if len(line) > MOST_COLUMNS and not re.match(r"\||    |!\[|<|\[", line)
    ]
    assert wide == []
