"""The order of the site. A page of docs/ that is in no section stops the build."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the navigation, and its pages in order."""

    title: str
    pages: tuple[str, ...]


START: Final = "README.md"
"""The first page; it holds the navigation."""

REPORT: Final = "report.md"
"""The page that leads to the reference report. It is made for the site."""

CHANGELOG: Final = "CHANGELOG.md"
"""Not in the search: it repeats every word of the other pages."""

CARDS: Final = "docs/cards/README.md"
NOTEBOOK: Final = "docs/notebook/README.md"
BELOW: Final = {CARDS: "docs/cards/*.md", NOTEBOOK: "docs/notebook/*.md"}
"""Pages that hold others, and which."""

SECTIONS: Final = (
    Section("Start", (START, "docs/install.md", "docs/story.md", "docs/glossary.md")),
    Section("Choose", ("docs/which-one.md", "docs/advice.md", CARDS, "docs/fairness.md")),
    Section(
        "Results",
        (
            "docs/findings.md",
            "docs/reading-the-charts.md",
            "docs/costs.md",
            "docs/https.md",
            "docs/servers.md",
            "docs/fleet.md",
            "docs/interpreters.md",
            "docs/upstream/asyncio-receive.md",
            REPORT,
        ),
    ),
    Section(
        "Method",
        (
            "docs/method.md",
            "docs/reliability.md",
            "docs/exporting.md",
            "docs/reference/records.md",
            "docs/reference/servers.md",
            "docs/reference/interpreters.md",
            "docs/reference/workloads.md",
            "docs/reference/fleet.md",
        ),
    ),
    Section(
        "Read, show and extend",
        (
            "docs/side-by-side.md",
            "docs/stack-ripping.md",
            "docs/chapter.md",
            "docs/talk.md",
            "docs/adding-a-backend.md",
            "docs/adding-a-question.md",
            "docs/contributing-results.md",
        ),
    ),
    Section(
        "The project",
        ("docs/architecture.md", NOTEBOOK, "CONTRIBUTING.md", "SECURITY.md", CHANGELOG),
    ),
)


def unplaced(pages: Iterable[str]) -> list[str]:
    """The pages that the navigation does not lead to."""
    placed = {page for section in SECTIONS for page in section.pages}
    return [
        page
        for page in pages
        if page not in placed and not any(fnmatchcase(page, below) for below in BELOW.values())
    ]


def toctrees(pages: Sequence[str]) -> str:
    """The navigation of the first page, in MyST. Pages that are not there are left out."""
    return "\n".join(
        toctree([page for page in section.pages if page in pages], section.title)
        for section in SECTIONS
        if any(page in pages for page in section.pages)
    )


def children(page: str, text: str, pages: Sequence[str]) -> str:
    """The navigation below a page, in the order of its links; empty where it holds no others."""
    below = BELOW.get(page)
    found = [each for each in pages if below and fnmatchcase(each, below) and each != page]
    found.sort(key=lambda each: (text.find(f"]({PurePosixPath(each).name})"), each))
    return toctree(found) if found else ""


def toctree(pages: Sequence[str], caption: str = "") -> str:
    """A directive with the pages by their address from the root of the site."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    entries = ["self" if page == START else f"/{page.removesuffix('.md')}" for page in pages]
    return "\n".join(["", "```{toctree}", *options, "", *entries, "```", ""])
