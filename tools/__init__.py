"""Programs for developers of the suite; no user needs them. Here is what they share: Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[object], rows: Sequence[Sequence[object]], right: int = 0) -> list[str]:
    """The lines of a Markdown table; the last ``right`` columns are aligned to the right."""
    rule = ["---"] * (len(head) - right) + ["---:"] * right
    return [f"| {' | '.join(map(str, cells))} |" for cells in (head, rule, *rows)]


def with_block(document: str, name: str, content: str) -> str:
    """The document with this between the marks of ``name``. Raises ValueError without them."""
    begin, end = f"<!-- {name}:begin -->\n", f"\n<!-- {name}:end -->"
    head, tail = document.index(begin) + len(begin), document.index(end)
    return f"{document[:head]}{content}{document[tail:]}"
