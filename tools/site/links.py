"""Checks the pages that were made: local links, anchors, and that nothing asks the net."""

from __future__ import annotations

import shutil
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
            if not loaded and name not in ("href", "action"):
                continue
            several = [part.split()[0] for part in value.split(",") if part.strip()]
            for address in several if name == "srcset" else [value]:
                parts = urlsplit(address)
                if parts.scheme in ("http", "https") or parts.netloc:
                    self.asks += [address] * loaded
                elif not parts.scheme:
                    self.links.append(address)


def wrong(folder: Path, source: Path) -> list[str]:
    """What is wrong with the pages below a folder: a line for each link that leads nowhere.

    A file that is not on the site, but at the same place below ``source``, is brought along.
    """
    folder = folder.resolve()
    pages = {
        file: Page(file.read_text(encoding="utf-8")) for file in sorted(folder.rglob("*.html"))
    }
    problems = []
    for file, page in pages.items():
        name = file.relative_to(folder).as_posix()
        problems += [f"{name}: asks the net for {address}" for address in page.asks]
        for address in page.links:
            parts = urlsplit(address)
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            anchor = unquote(parts.fragment)
            if not target.is_relative_to(folder):
                problems.append(f"{name}: {address}: leads out of the site")
            elif not (target.is_file() or brought(source / target.relative_to(folder), target)):
                problems.append(f"{name}: {address}: there is no such file")
            # "#" alone is the top of a page.
            elif anchor and target in pages and anchor not in pages[target].anchors:
                problems.append(f"{name}: {address}: there is no such anchor")
    return problems


def brought(source: Path, target: Path) -> bool:
    """Copy a file, if there is one."""
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    return source.is_file()
