"""Completes the pages of the theme: names and levels that a screen reader needs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

MISSING: Final = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Site">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="On this page">'),
    ('<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
)
"""What Furo writes, and what it should."""


def finish(text: str) -> str:
    """A page of the theme with what it lacks."""
    for short, whole in MISSING:
        text = text.replace(short, whole)
    return text


def finish_all(folder: Path) -> None:
    """Complete every page below a folder."""
    for file in folder.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        if (whole := finish(text)) != text:
            file.write_text(whole, encoding="utf-8")
