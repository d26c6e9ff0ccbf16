"""Checks the pages that were made: local links, anchors, and that nothing asks the net."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

LOADED: Final = {
    ("img", "src"),
    ("img", "srcset"),
    ("script", "src"),
    ("source", "src"),
    ("source", "srcset"),
    ("link", "href"),
    ("iframe", "src"),
    ("object", "data"),
    ("video", "src"),
}
"""Tags and attributes that a browser loads without being asked to."""

LINKS: Final = LOADED | {("a", "href"), ("area", "href"), ("form", "action")}


@dataclass(slots=True)
class Page:
    """What a page links, and what can be linked in it."""

    links: list[tuple[str, str]] = field(default_factory=list)  # tag, address
    asks: list[str] = field(default_factory=list)  # addresses of the net that it loads
    anchors: set[str] = field(default_factory=set)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.page.anchors.add(value)
            if (tag, name) in LINKS:
                for address in _addresses(name, value):
                    self._link(tag, name, address)

    def _link(self, tag: str, name: str, address: str) -> None:
        found = urlsplit(address)
        if found.scheme in ("http", "https") or found.netloc:
            if (tag, name) in LOADED:
                self.page.asks.append(address)
        elif not found.scheme:
            self.page.links.append((tag, address))


def _addresses(name: str, value: str) -> Iterator[str]:
    if name == "srcset":
        yield from (part.split()[0] for part in value.split(",") if part.strip())
    else:
        yield value


def read(text: str) -> Page:
    """The links and anchors of a page."""
    reader = _Reader()
    reader.feed(text)
    return reader.page


def wrong(folder: Path) -> list[str]:
    """What is wrong with the pages below a folder: a line for each link that leads nowhere."""
    files = sorted(folder.rglob("*.html"))
    read_pages = {file.resolve(): read(file.read_text(encoding="utf-8")) for file in files}
    found = []
    for file, page in read_pages.items():
        name = file.relative_to(folder.resolve()).as_posix()
        found += [f"{name}: asks the net for {address}" for address in page.asks]
        for _, address in page.links:
            if problem := _problem(file, address, folder.resolve(), read_pages):
                found.append(f"{name}: {address}: {problem}")
    return found


def _problem(file: Path, address: str, folder: Path, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(address)
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.is_relative_to(folder):
        return "leads out of the site"
    if not target.is_file():
        return "there is no such file"
    anchor = unquote(parts.fragment)
    # "#" alone is the top of a page.
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "there is no such anchor"
    return None
