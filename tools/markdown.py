"""Markdown files: tables, and parts that a program writes between two marks."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[object], rows: Sequence[Sequence[object]], right: int = 0) -> list[str]:
    """The lines of a Markdown table; the last ``right`` columns are aligned to the right."""
    rule = ["---"] * (len(head) - right) + ["---:"] * right
    return [f"| {' | '.join(map(str, cells))} |" for cells in (head, rule, *rows)]


def marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}:begin -->", f"<!-- {name}:end -->"


def block(document: str, name: str) -> str:
    """The text between the marks of ``name``. Raises ValueError without them."""
    return _cut(document, name)[1].strip()


def with_block(document: str, name: str, content: str) -> str:
    """The document with ``content`` between the marks of ``name``.

    Raises ValueError without them.
    """
    before, _, after = _cut(document, name)
    return f"{before}\n{content}\n{after}"


def _cut(document: str, name: str) -> tuple[str, str, str]:
    begin, end = marks(name)
    before, begun, rest = document.partition(begin)
    content, ended, after = rest.partition(end)
    if not begun or not ended:
        raise ValueError(f"it has no {begin} … {end}")
    return before + begin, content, end + after
