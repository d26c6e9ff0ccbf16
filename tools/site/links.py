"""Checks the pages that were made: local links, anchors, and that nothing asks the net."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

LOADED: Final = {("link", "href"), ("object", "data")}
"""Tags and attributes that a browser loads without being asked to, as it does any ``src``."""


class Page(HTMLParser):
    """What a page links, and what can be linked in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.asks: list[str] = []
        """Addresses of the net that it loads."""
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            loaded = name in ("src", "srcset") or (tag, name) in LOADED
            if loaded or name in ("href", "action"):
                several = [part.split()[0] for part in value.split(",") if part.strip()]
                for address in several if name == "srcset" else [value]:
                    self._link(address, loaded=loaded)

    def _link(self, address: str, *, loaded: bool) -> None:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") or parts.netloc:
            if loaded:
                self.asks.append(address)
        elif not parts.scheme:
            self.links.append(address)


def wrong(folder: Path) -> list[str]:
    """What is wrong with the pages below a folder: a line for each link that leads nowhere."""
    files = sorted(folder.rglob("*.html"))
    read_pages = {file.resolve(): Page(file.read_text(encoding="utf-8")) for file in files}
    problems = []
    for file, page in read_pages.items():
        name = file.relative_to(folder.resolve()).as_posix()
        problems += [f"{name}: asks the net for {address}" for address in page.asks]
        for address in page.links:
            if problem := _problem(file, address, folder.resolve(), read_pages):
                problems.append(f"{name}: {address}: {problem}")
    return problems


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
