"""What the documents name exists, and what people wrote by hand fits its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.launch import ROOT
from crawlers import registry

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [file.relative_to(ROOT).as_posix() for file in DOCUMENTS]
MOST_COLUMNS = 100

LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
PATH = re.compile(r"`((?:bench|crawlers|server|tests|tools|docs|results)/[\w./-]*|noxfile\.py)`")
PLACEHOLDER = re.compile(r"[A-Z]{4,}|results/(?:A|B)\b")
GENERATED = re.compile(r"<!-- ([\w-]+):begin -->.*?<!-- \1:end -->|<!-- Made by .*", re.DOTALL)
"""Parts between marks, and all of a document that says how it was made."""


def slugs(document: Path) -> set[str]:
    """The anchors of a document: its headings as GitHub names them, and those set by hand."""
    text = document.read_text()
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings}
    return made | set(re.findall(r'id="([\w-]+)"', text))


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    document = ROOT / name
    for pair in LINK.findall(document.read_text()):
        address = "".join(pair)
        if re.match(r"https?:", address):
            continue
        path, _, anchor = address.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), address
        assert not anchor or anchor in slugs(target), address


@pytest.mark.parametrize("name", NAMES)
def test_files_that_are_named_exist(name: str) -> None:
    """Above all in the table "Where to change what" of docs/architecture.md."""
    named = PATH.findall((ROOT / name).read_text())
    missing = [p for p in named if not PLACEHOLDER.search(p) and not (ROOT / p).exists()]
    assert missing == []


def test_where_to_change_what_answers_for_everything_that_is_asked() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = text.partition("## Where to change what")[2]
    for subject in (
        *("a backend", "a workload", "a metric", "a chart", "a column", "a command"),
        *("a delay distribution", "a kernel counter", "the rule of the verdict"),
        *("the link extractor", "a claim", "an interpreter"),
    ):
        (line,) = re.findall(rf"^\| {subject}\b(?! of the export).*$", rows, re.MULTILINE)
        assert PATH.search(line), f"no file for {subject}"


def test_every_room_is_on_the_floor_plan() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rooms = [
        f"{path.name}/" for path in (ROOT / "bench").iterdir() if (path / "__init__.py").exists()
    ]
    rooms += [path.name for path in (ROOT / "bench").glob("*.py") if not path.name.startswith("__")]
    entrances = {"conftest.py", "test_workloads.py"}
    assert [room for room in rooms if f"`{room}`" not in text and room not in entrances] == []


@pytest.mark.parametrize("name", [*NAMES, "CHANGELOG.md", "SECURITY.md"])
def test_prose_fits_its_line(name: str) -> None:
    """Tables, code, commands and generated parts may be wider."""
    text = GENERATED.sub("", (ROOT / name).read_text())
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    wide = [
        line
        for line in text.splitlines()
        if len(line) > MOST_COLUMNS and not re.match(r"\||    |!\[|<|\[", line)
    ]
    assert wide == []


FAIRNESS = ROOT / "docs" / "fairness.md"


def test_every_library_has_its_say_on_the_page_about_fairness() -> None:
    """What its documentation recommends, what is done here, and what its author could say."""
    text = FAIRNESS.read_text().partition("## Library by library")[2]
    text = text.partition("## What tuning changes")[0]
    named = set(re.findall(r"`([a-z]\w+)`", text))
    known = {name.partition("_")[0] for name in named}
    for name in registry.names():
        assert name.partition("_")[0] in known, f"{name} is not on the page"
    libraries = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    assert len(libraries) >= 12
    for part in libraries:
        title = part.partition("\n")[0]
        for word in ("**Recommended.**", "**Here.**", "**Still to be said.**"):
            assert word in part, f"{title}: {word}"
        assert "](https://" in part, f"{title}: no link to its documentation"
    assert "python -m crawlers conformance" in text


STACKS = ("aiohttp", "httpx", "requests", "urllib3")
VARIANTS = ("gevent", "trio", "uvloop", "Twisted", "Tornado")


def test_the_readme_names_stacks_apart_from_models_and_variants() -> None:
    text = GENERATED.sub("", (ROOT / "README.md").read_text())
    for sentence in re.split(r"(?<=[.:])\s", text.replace("\n", " ")):
        both = [
            [word for word in words if re.search(rf"\b{word}\b", sentence)]
            for words in (STACKS, VARIANTS)
        ]
        assert not all(both), sentence
