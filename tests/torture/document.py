"""The generated parts of docs/reliability.md, each made from a file of results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.process import RESULTS, ROOT

FOLDER = RESULTS / "reliability"
DOCUMENT = ROOT / "docs" / "reliability.md"


def keep(name: str, found: dict[str, Any]) -> None:
    """Write what a command counted to its file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown; a bar in a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def fill(name: str, text: str, document: Path = DOCUMENT) -> None:
    """Put ``text`` between the marks of ``name``; raises ValueError where there are none."""
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    whole = document.read_text()
    head, found, rest = whole.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{document.name} has no marks for {name}")
    document.write_text(f"{head}{begin}{text.rstrip()}\n{closed}{tail}")
