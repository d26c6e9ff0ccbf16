"""Writes the generated parts of docs/notebook/reliability.md, each from a file of results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.launch import RESULTS, ROOT
from bench.text import with_block

FOLDER = RESULTS / "reliability"
DOCUMENT = ROOT / "docs" / "notebook" / "reliability.md"


def keep(name: str, found: dict[str, Any]) -> None:
    """Write the counts of a command to its file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; bars in cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def fill(name: str, text: str, document: Path = DOCUMENT) -> None:
    """Put ``text`` between the marks of ``name``; raises ValueError if there are none."""
    document.write_text(with_block(document.read_text(), name, text.rstrip()))
